"""A plan is judged alike by who checks it, by who lists its tasks and by who executes it."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.task_route import Route
from hornbook.errors import ConfigError, UsageError
from hornbook.vocabulary.terms import Level
from tests.kit.commands import run
from tests.kit.loops import CONFIG, PLAN, Stage, repository
from tests.kit.workspaces import write

_CODE = re.compile(r" \((\w+)\)$", re.MULTILINE)
SMALL = "budget: {most_files: 1}\n" + CONFIG
RULE = (
    "---\ncategory: sop\napplies_to: src/app.py\nseverity: error\n---\n# Long\n\nIt MUST be so.\n"
)
SECTIONS = RULE + "".join(f"\n## Part {n}\n\n" + "It MUST be short. " * 100 for n in range(9))


@dataclass(frozen=True)
class Case:
    """A plan that is `PLAN` with some text replaced, and what every door says of it."""

    old: str = ""
    new: str = ""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    config: str = CONFIG
    files: tuple[tuple[str, str], ...] = ()
    uncommitted: tuple[tuple[str, str], ...] = ()
    route: Route = Route.START


FIRST = "src/greet.py (new)"
CASES = {
    "fit": Case(),
    "the situation is empty": Case(
        "Nobody is greeted in `src/app.py`.\n", "", errors=("empty_section",)
    ),
    "the mission is empty": Case(
        PLAN[PLAN.index("Greet people.") : PLAN.index("## Execution")],
        "",
        errors=("empty_section",),
    ),
    "no coordination": Case("None.\n", "", warnings=("empty_section",)),
    "no criteria": Case("Success criteria:", "Aims:", errors=("no_criteria",)),
    "a criterion that nothing decides": Case(" (gate: check)", "", errors=("criterion_untied",)),
    "an unknown gate": Case("(gate: check)", "(gate: nothing)", errors=("unknown_gate",)),
    "no tasks": Case(
        PLAN[PLAN.index("1. Greet") : PLAN.index("## Constraints")],
        "It is done somehow.\n\n",
        errors=("no_tasks",),
    ),
    "a cycle": Case("a name is greeted", "x\n   - Depends on: 2", errors=("task_cycle",)),
    "a dependency on itself": Case("Depends on: 1", "Depends on: 2", errors=("task_cycle",)),
    "an unknown dependency": Case("Depends on: 1", "Depends on: 7", errors=("bad_dependency",)),
    "a wrong number": Case("2. Say goodbye", "4. Say goodbye", warnings=("task_number",)),
    "a missing file": Case(FIRST, "src/greet.py", errors=("file_missing",)),
    "a missing file that is told of": Case("`src/app.py`", "`src/no.py`", errors=("file_missing",)),
    "a file that is not committed": Case(
        FIRST,
        "src/draft.py",
        errors=("file_uncommitted",),
        uncommitted=(("src/draft.py", "x = 1\n"),),
    ),
    "a file out of scope": Case(FIRST, "check.sh", errors=("file_out_of_scope",)),
    "a protected file": Case(FIRST, "src/legacy.py", errors=("file_out_of_scope",)),
    "nothing in scope": Case("IN: src/**", "IN: lib/**", errors=("nothing_in_scope",)),
    "a scope that is taken back": Case(
        "DO NOT TOUCH: src/legacy.py", "DO NOT TOUCH: src/**", errors=("scope_conflict",)
    ),
    "a bad glob": Case("IN: src/**", "IN: src/[a", errors=("bad_scope_glob",)),
    "words for a scope": Case("IN: src/**", "IN: all of it", errors=("nothing_in_scope",)),
    "an unknown id": Case("None.", "See source.doc.sops.nothing.", warnings=("unknown_reference",)),
    "too many files": Case(
        FIRST,
        "src/app.py, src/greet.py (new)",
        warnings=("task_split",),
        config=SMALL,
        route=Route.SPLIT,
    ),
    "one file that is too large": Case(
        FIRST,
        "src/app.py",
        errors=("task_too_large",),
        files=(("src/app.py", "value = 'a long text'\n" * 20_000),),
        route=Route.REFUSED,
    ),
    "a rule that fills the room": Case(
        FIRST,
        "src/app.py",
        warnings=("task_passes",),
        config="reserve: 1500\n" + CONFIG,
        files=((".hornbook/sources/docs/sops/long.md", SECTIONS),),
        route=Route.PASSES,
    ),
    "a section that fills the room": Case(
        FIRST,
        "src/app.py",
        errors=("task_too_large",),
        config="reserve: 300\n" + CONFIG,
        files=((".hornbook/sources/docs/sops/long.md", SECTIONS),),
        route=Route.REFUSED,
    ),
}


def staged(root: Path, case: Case) -> Stage:
    assert case.old in PLAN
    plan = PLAN.replace(case.old, case.new, 1)
    more = {path.replace("/", "__"): text for path, text in case.files}
    stage = Stage(repository(root, plan, case.config, **more))
    write(root, dict(case.uncommitted))
    return stage


@pytest.mark.parametrize("name", CASES)
def test_who_checks_who_lists_and_who_executes_say_the_same(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    stage = staged(tmp_path, case)
    with Workspace.open(tmp_path) as work:
        book = work.plan_book()
        checked = book.check("hello")
        told = {level: set[str]() for level in Level}
        for each in checked.problems:
            told[each.level].add(each.code)
        assert told[Level.ERROR] >= set(case.errors)
        assert told[Level.WARNING] >= set(case.warnings)
        assert checked.passed is (not case.errors)
        try:
            sized = book.tasks("hello")[1]
        except ConfigError:
            assert not checked.passed, "what cannot be listed is not fit to start"
        else:
            assert next(each.route.route for each in sized if each.task.number == 1) is case.route
            refused = any(each.route.route is Route.REFUSED for each in sized)
            assert refused is ("task_too_large" in told[Level.ERROR])
            assert run(tmp_path, "tasks", "hello").returncode == int(refused)
            for one in sized:
                alone = work.size(
                    [file.path for file in one.size.files],
                    description="\n".join(filter(None, (one.task.title, one.task.description))),
                    criteria=one.task.criteria,
                )
                assert (alone.fits, alone.estimate) == (one.size.fits, one.size.estimate)
    if checked.view.plan.committed:
        _executed(stage, case, told[Level.ERROR])
    else:
        with pytest.raises(UsageError, match="is not committed and nobody works on it"):
            stage.loop().start("hello", "1", agent=None, run_id="run-1")


def _executed(stage: Stage, case: Case, errors: set[str]) -> None:
    """Whoever executes the plan is refused for the same reasons, or goes the same way."""
    begun = stage.loop().start("hello", "1", agent=None, run_id="run-1")
    assert (begun.status == "refused") is bool(case.errors)
    assert set(_CODE.findall(begun.message)) == errors
    if case.errors:
        assert [event.kind for event in stage.log() if event.kind.startswith("run.")] == []
        return
    for _ in range(9):
        if any(event.kind == "task.sized" for event in stage.log()):
            break
        stage.loop().step("run-1")
    assert stage.newest("task.sized").data["route"] == case.route
