"""One machine works for several repositories, by the names that they have in their database."""

import sys
import threading
from pathlib import Path

import pytest

from hornbook.errors import UsageError
from hornbook.loop.engine.many_repositories import Checkout, Workers, checkouts
from tests.kit.commands import expect
from tests.kit.waiting import until

SHARED = "repository: {}\nengine:\n  database: postgresql+psycopg://nobody/nothing\n"
UNTIL_EOF = "import os, sys; print('works', flush=True); os.read(0, 9); print('ends')"
DEAF = "import signal; print('works', flush=True); signal.pause()"


def checkout(root: Path, config: str) -> Path:
    (root / ".hornbook").mkdir(parents=True)
    (root / ".hornbook/config.yaml").write_text(config)
    return root


def test_checkouts_are_found_by_the_names_of_their_repositories(tmp_path: Path) -> None:
    for name in ("shop", "till", "shelf"):
        checkout(tmp_path / f"of-{name}", SHARED.format(name))
    checkout(tmp_path / "alone", "repository: shy\n")
    checkout(tmp_path / "broken", "repositry: shx\n")
    (tmp_path / "other").mkdir()
    told: list[str] = []
    found = checkouts([tmp_path, tmp_path / "of-shop"], "sh*", told.append)
    assert found == [
        Checkout("shelf", tmp_path / "of-shelf"),
        Checkout("shop", tmp_path / "of-shop"),
    ]
    assert [line.split(" is left out: ")[0] for line in told] == [
        str(tmp_path / "alone"),
        str(tmp_path / "broken"),
    ]
    assert "repositry" in told[1]
    with pytest.raises(UsageError, match="there are shelf, shop, till"):
        checkouts([tmp_path], "nothing-*", told.append)


def test_the_command_says_what_it_found_none_of(tmp_path: Path) -> None:
    told = expect(tmp_path, "worker", "--repository", "shop*", code=2).stderr
    assert "no repository there has a name such as shop*: there is no checkout at all" in told
    told = expect(tmp_path, "worker", str(tmp_path / "gone"), code=2).stderr
    assert "is no folder" in told


def test_each_has_a_worker_that_ends_when_told_to(tmp_path: Path) -> None:
    told: list[str] = []
    ending = threading.Event()
    served = [Checkout(name, tmp_path) for name in ("shop", "till")]
    workers = Workers(served, told.append, lambda _: [sys.executable, "-S", "-c", UNTIL_EOF])
    working = threading.Thread(target=workers.work, args=(ending,))
    working.start()
    until(lambda: {"shop: works", "till: works"} <= {*told}, "both workers")
    ending.set()
    working.join()
    assert sorted(told) == ["shop: ends", "shop: works", "till: ends", "till: works"]


def test_one_that_ends_by_itself_is_begun_again(tmp_path: Path) -> None:
    told: list[str] = []
    ending = threading.Event()
    commands = iter(["raise SystemExit(3)", DEAF])
    workers = Workers(
        [Checkout("shop", tmp_path)],
        told.append,
        lambda _: [sys.executable, "-S", "-c", next(commands)],
        pause=0.01,
    )
    working = threading.Thread(target=workers.work, args=(ending,))
    working.start()
    until(lambda: "shop: works" in told, "the second worker")
    ending.set()
    workers.kill()  # this one does not hear that it is to end
    working.join()
    assert told[0] == "shop: its worker ended (3), and is begun again in 0.01 seconds"
