"""What clones handed each other is given up once its plan is over, and not a commit too many."""

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hornbook.commits.writer import branch_tip
from hornbook.errors import UsageError
from hornbook.loop.engine.pruning import Pruner, prune, still_needed
from hornbook.loop.exchange import SharedCommit, SharedExchange
from hornbook.plans.workspace_log import open_log
from hornbook.settings.load import load
from hornbook.settings.places import Places
from tests.kit.engines import database_for
from tests.kit.git import git
from tests.kit.loops import Clock
from tests.loop.test_machines import clones, drive, stages, tips

AGO = -1
"""Days to keep that have past already for what was shared just now."""


@pytest.fixture
def database() -> Iterator[str]:
    with database_for("postgres") as url:
        yield url


def carried_out(tmp_path: Path, database: str, exchange: str = "database") -> list[Path]:
    """Two clones that ended a plan together."""
    roots = clones(tmp_path, database, exchange=exchange)
    machines = stages(roots)
    machines[0].loop().start("hello", None, agent=None, run_id="hello-1")
    assert drive(machines, "hello-1") == "approved: 2 of 2 tasks are approved."
    return roots


@contextmanager
def exchanged(root: Path) -> Iterator[SharedExchange]:
    with closing(SharedExchange(Places(root), load(root))) as exchange:
        yield exchange


def given_up(root: Path, days: int = AGO) -> dict[str, int]:
    settings = load(root)
    settings = replace(settings, engine=replace(settings.engine, keep_days=days))
    with (
        exchanged(root) as exchange,
        closing(open_log(Places(root), settings, Clock())) as log,
    ):
        return dict(prune(root, settings, exchange, log))


def shared(root: Path) -> set[str]:
    with exchanged(root) as exchange:
        return {each.name for each in exchange.commits()}


def test_what_is_over_is_given_up_but_what_its_branch_needs(tmp_path: Path, database: str) -> None:
    roots = carried_out(tmp_path, database)
    (tip,) = tips(roots)
    before = shared(roots[1])
    assert given_up(roots[1], 1) == {}  # it was shared today
    assert shared(roots[1]) == before
    assert given_up(roots[1])["hello"] > 0
    after = shared(roots[1])
    assert tip in after < before
    # whoever comes now still gets the branch
    late = tmp_path / "late"
    subprocess.run(["git", "clone", "-q", str(tmp_path / "origin.git"), str(late)], check=True)
    assert tips([late]) == {tip}
    assert git(late, "fsck", "--connectivity-only", "--no-dangling") == ""
    # and nothing at all is kept once the remote has it
    git(roots[0], "push", "-q", "origin", "hornbook/hello")
    git(roots[1], "fetch", "-q", "origin")
    given_up(roots[1])
    assert shared(roots[1]) == set()
    assert branch_tip(roots[1], "hornbook/hello") == tip
    assert given_up(roots[1]) == {}


def test_nothing_is_given_up_of_a_plan_that_goes_on(tmp_path: Path, database: str) -> None:
    roots = clones(tmp_path, database)
    machines = stages(roots)
    machines[0].loop().start("hello", None, agent=None, run_id="hello-1")
    for _ in range(3):
        machines[0].loop().step("hello-1")
    before = shared(roots[0])
    assert before
    assert given_up(roots[0]) == {}
    assert shared(roots[0]) == before


def test_the_remote_lets_go_of_what_was_pushed_for_a_plan(tmp_path: Path, database: str) -> None:
    roots = carried_out(tmp_path, database, "git")
    origin = tmp_path / "origin.git"
    git(roots[0], "push", "-q", "origin", "hornbook/hello")
    git(roots[0], "fetch", "-q", "origin")
    assert git(origin, "for-each-ref", "refs/hornbook/attempts")
    assert given_up(roots[0])["hello"] > 0
    assert git(origin, "for-each-ref", "refs/hornbook/attempts") == ""


def test_nothing_goes_that_this_checkout_cannot_have(tmp_path: Path, database: str) -> None:
    roots = carried_out(tmp_path, database)
    with exchanged(roots[0]) as exchange:
        exchange._insert("hello", "pack", "0" * 40, ("1" * 40,), b"cut")
    before = shared(roots[0])
    with pytest.raises(UsageError, match="Nothing of plan hello is given up: commit 1"):
        given_up(roots[0])
    assert shared(roots[0]) == before


def test_a_commit_is_packed_anew_if_what_it_builds_on_is_given_up_meanwhile(
    tmp_path: Path, database: str
) -> None:
    roots = clones(tmp_path, database)
    with exchanged(roots[0]) as exchange, exchanged(roots[0]) as other:
        made = []
        for text in ("one", "two"):
            git(roots[0], "commit", "-q", "--allow-empty", "-m", text)
            made.append(git(roots[0], "rev-parse", "HEAD"))
        exchange.share("hello", made[0])
        names = exchange._names_of_all_plans

        def too_late() -> list[str]:
            found = names()
            other.give_up("hello", (), other.commits())
            return found

        exchange._names_of_all_plans = too_late  # type: ignore[method-assign]
        exchange.share("later", made[1])
    with exchanged(roots[1]) as exchange:
        exchange.need("later", made[1])
        assert [each.name for each in exchange.commits()] == [made[1]]


def test_a_plan_may_begin_where_another_did_that_was_worked_on_since(
    tmp_path: Path, database: str
) -> None:
    roots = clones(tmp_path, database)
    made = []
    with exchanged(roots[0]) as exchange:
        for text in ("begin", "work"):
            git(roots[0], "commit", "-q", "--allow-empty", "-m", text)
            made.append(git(roots[0], "rev-parse", "HEAD"))
            exchange.share("hello", made[-1])
        exchange.share("later", made[0])
    with exchanged(roots[1]) as exchange:
        exchange.need("later", made[0])
        assert ("later", made[0]) in [(each.plan, each.name) for each in exchange.commits()]
        assert made[0] in still_needed(exchange.commits(), ["hello"], [])


def test_nothing_goes_if_another_machine_shared_a_commit_meanwhile(
    tmp_path: Path, database: str
) -> None:
    roots = clones(tmp_path, database)
    with exchanged(roots[0]) as exchange:
        seen = exchange.commits()
        git(roots[0], "commit", "-q", "--allow-empty", "-m", "one")
        exchange.share("hello", git(roots[0], "rev-parse", "HEAD"))
        assert exchange.give_up("hello", (), seen) == 0
        assert len(exchange.commits()) == 1
        assert exchange.give_up("hello", (), exchange.commits()) == 1


def test_a_worker_looks_once_an_hour_and_says_what_went(tmp_path: Path, database: str) -> None:
    root = carried_out(tmp_path, database)[0]
    settings = load(root)
    settings = replace(settings, engine=replace(settings.engine, keep_days=AGO))
    told: list[str] = []
    pruner = Pruner(Places(root), settings, lambda _who, said: told.append(said))
    pruner()
    pruner()
    assert len(told) == 1
    assert told[0].endswith("commits and files of plan hello")


def test_what_other_plans_need_stays_with_all_below_it() -> None:
    found = [
        SharedCommit("old", "a", ()),
        SharedCommit("old", "b", ("a",)),
        SharedCommit("old", "c", ("b",)),
        SharedCommit("new", "d", ("b",)),
    ]
    assert still_needed(found, ["old"], []) == {"a", "b"}
    assert still_needed(found, ["old"], ["c"]) == {"a", "b", "c"}
    assert still_needed(found, ["old", "new"], []) == set()
