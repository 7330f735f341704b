"""Whether a plan is fit to be carried out: every reason why not, with its line."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hornbook.context.task_route import Route, TaskRoute
from hornbook.plans.plan import PlanTask
from hornbook.plans.scope import PlanScope, ScopeGlob
from hornbook.plans.tasks import TaskList, mentions, named_entities, read_tasks
from hornbook.plans.text import MUST_SAY, PlanText, empty_sections, outside_fences
from hornbook.rules.document import Problem, Problems
from hornbook.text.globs import parse
from hornbook.vocabulary.terms import Level

SHOULD_SAY = ("Constraints", "Coordination")

_CRITERIA = re.compile(
    r"[ \t]*(?:#{3,6}[ \t]+)?\**success criteria\**[ \t]*:?\**[ \t]*(?P<rest>.*)", re.IGNORECASE
)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>\S.*)")
_TIE = re.compile(
    r"\((?:gates?:[ \t]*(?P<gates>[\w-]+(?:[ \t]*,[ \t]*[\w-]+)*)|human)\)", re.IGNORECASE
)
_WILD = frozenset("*?[{")
_PART = re.compile(r"\.(?:section|chunk|rev)\.")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A success criterion: the gates that decide it, or none where a person does.

    `tied` is false where the plan says neither.
    """

    text: str
    gates: tuple[str, ...]
    tied: bool
    line: int


@dataclass(frozen=True, slots=True)
class PlanSurroundings:
    """What a plan is checked against.

    `files` are those of the repository, `gates` the names of its gates and `entities` the ids of
    what there is (None if they are not known), `routes` what becomes of each task before anybody
    works on it. `committed` are the files that work would begin with, None if that is not known.
    """

    files: Collection[str]
    gates: Collection[str] | None = None
    routes: Mapping[int, TaskRoute] | None = None
    entities: Collection[str] | None = None
    committed: Collection[str] | None = None


def success_criteria(mission: str) -> list[Criterion]:
    """The items below `Success criteria:` in a mission, with their lines in it."""
    lines = [line.rstrip("\r") for line in mission.split("\n")]
    found: list[Criterion] = []
    listed = False
    for number, (line, outside) in enumerate(zip(lines, outside_fences(lines), strict=True), 1):
        text = _criterion_text(line, listed=listed) if outside else None
        if text is not None:
            listed = True
            found += [_criterion(text, number)] if text.strip() else []
        elif not line.strip():
            continue
        elif line[0] not in " \t":
            listed = False
        elif listed and found:
            found[-1] = _criterion(f"{found[-1].text} {line.strip()}", found[-1].line)
    return found


def _criterion_text(line: str, *, listed: bool) -> str | None:
    """What the heading of the criteria, or an item below it, says; None for any other line."""
    head = _CRITERIA.fullmatch(line)
    if head is not None:
        return head["rest"]
    item = _ITEM.fullmatch(line) if listed else None
    return item["text"] if item is not None else None


def check_plan(read: PlanText, path: str, around: PlanSurroundings) -> tuple[Problem, ...]:
    """Everything that keeps a plan from being carried out, or that somebody should look at."""
    problems = Problems(path)
    problems.extend(read.problems)
    _check_sections(read, problems)
    _check_scope(read, problems, around.files)
    listed = read_tasks(read.plan.execution, path)
    first = read.lines.get("Execution", 1)
    problems.extend(tuple(replace(each, line=_shifted(each, first)) for each in listed.problems))
    _check_files(read, listed, problems, around)
    _check_entities(read, problems, around.entities)
    _check_criteria(read, problems, around.gates)
    _check_routes(listed, first, problems, around.routes)
    return problems.told()


def fails(problems: Sequence[Problem]) -> bool:
    """Whether a plan with these problems must not start."""
    return any(problem.level is Level.ERROR for problem in problems)


def task_files(task: PlanTask, scope: PlanScope, files: Collection[str]) -> list[str]:
    """The files of a task; one that names none may touch all that the plan may."""
    return list(task.files) if task.files else scope.files(files)


def _criterion(text: str, line: int) -> Criterion:
    ties = list(_TIE.finditer(text))
    named = [name.strip() for tie in ties if tie["gates"] for name in tie["gates"].split(",")]
    return Criterion(text.strip(), tuple(named), bool(ties), line)


def _shifted(problem: Problem, first: int) -> int:
    return first + (problem.line or 1) - 1


def _check_sections(read: PlanText, problems: Problems) -> None:
    plan = read.plan
    for name in empty_sections(plan):
        message = f"`## {name}` is empty: say it."
        problems.error(read.lines.get(name), "empty_section", message)
    said = {"Constraints": bool(any_of(read)), "Coordination": bool(plan.coordination.strip())}
    for name in SHOULD_SAY:
        if not said[name]:
            message = f"`## {name}` is empty: say it, or write that there is none."
            problems.warning(read.lines.get(name), "empty_section", message)


def any_of(read: PlanText) -> tuple[str, ...]:
    """All constraints of a plan."""
    held = read.plan.constraints
    return (*held.inside, *held.outside, *held.do_not_touch)


def _check_scope(read: PlanText, problems: Problems, files: Collection[str]) -> None:
    scope = PlanScope(read.plan.constraints)
    matched = {each: _matched(each, files) for each in scope.globs}
    for each in scope.globs:
        line = read.constraint_lines.get((each.kind, each.text))
        if each.is_prose and not matched[each]:
            message = f"`{each.text}` reads like words: only globs are enforced, write one."
            problems.warning(line, "prose_constraint", message)
        elif each.glob is None:
            problems.error(line, "bad_scope_glob", each.fault)
    _check_overlaps(read, scope, matched, problems)
    if _reaches_nothing(scope, files):
        message = "Nothing is in scope: no file matches what is IN, and none is named to be made."
        problems.error(read.lines.get("Constraints"), "nothing_in_scope", message)


def _reaches_nothing(scope: PlanScope, files: Collection[str]) -> bool:
    wanted, reached = scope.of("IN"), scope.files(files)
    return bool(wanted) and not any(_reaches(each, scope, reached) for each in wanted)


def _matched(each: ScopeGlob, files: Collection[str]) -> set[str]:
    return set() if each.glob is None else set(filter(each.glob.matches, files))


def _matched_by(globs: Iterable[ScopeGlob], matched: Mapping[ScopeGlob, set[str]]) -> set[str]:
    return set().union(*(matched[each] for each in globs))


def _check_overlaps(
    read: PlanText,
    scope: PlanScope,
    matched: Mapping[ScopeGlob, set[str]],
    problems: Problems,
) -> None:
    protected = _matched_by(scope.of("DO NOT TOUCH"), matched)
    taken = protected | _matched_by(scope.of("OUT"), matched)
    others = {each.text: each.kind for each in scope.globs if each.kind != "IN"}
    for each in scope.of("IN"):
        line = read.constraint_lines.get((each.kind, each.text))
        held = matched[each]
        if each.text in others or (held and held <= taken):
            by = others.get(each.text, "OUT or DO NOT TOUCH")
            message = f"`{each.text}` is IN, and {by} takes all of it out again: decide."
            problems.error(line, "scope_conflict", message)
        elif count := len(held & protected):
            message = f"{count} of the files in `{each.text}` must not be touched: that wins."
            problems.warning(line, "scope_overlap", message)


def _reaches(each: ScopeGlob, scope: PlanScope, reached: Collection[str]) -> bool:
    if each.glob is None:
        return False
    return any(map(each.glob.matches, reached)) or _names_a_file(each.text, scope)


def _names_a_file(text: str, scope: PlanScope) -> bool:
    """Whether a constraint is a path that may be created."""
    return (
        not _WILD & set(text) and not text.endswith("/") and " " not in text and scope.holds(text)
    )


def _folders(files: Collection[str]) -> set[str]:
    return {path[: path.index("/", start)] for path in files for start in _slashes(path)}


def _check_files(
    read: PlanText, listed: TaskList, problems: Problems, around: PlanSurroundings
) -> None:
    """Whether every file that tasks or sections name is there, or is to be made."""
    files, scope = around.files, PlanScope(read.plan.constraints)
    first = read.lines.get("Execution", 1)
    folders = _folders(files)
    made = {path for task in listed.tasks for path in task.creates}
    known = {*files, *folders, *made}
    committed = files if around.committed is None else around.committed
    uncommitted = {*files} - {*committed} - made
    for task in listed.tasks:
        line = first + task.line - 1
        for path in task.files:
            is_pattern = not _WILD.isdisjoint(path)
            if path not in known and not _matches_some(path, files):
                problems.error(line, "file_missing", _missing(path))
            elif not (is_pattern or path in folders or scope.holds(path)):
                message = f"`{path}` is a file of task {task.number} but out of the plan's scope."
                problems.error(line, "file_out_of_scope", message)
            elif path in uncommitted:
                message = f"`{path}` is not committed, and work begins with HEAD: commit it first."
                problems.error(line, "file_uncommitted", message)
    _check_mentions(read, problems, known.union(*(task.files for task in listed.tasks)))


def _check_entities(read: PlanText, problems: Problems, entities: Collection[str] | None) -> None:
    """Whether what the plan names by its id is there."""
    for name in (*MUST_SAY, "Coordination") if entities is not None else ():
        for entity, line in named_entities(getattr(read.plan, name.lower())):
            if {entity, _PART.split(entity, maxsplit=1)[0]}.isdisjoint(entities or ()):
                message = f"Nothing has the id `{entity}`: correct it, or ingest what it names."
                place = read.lines.get(name, 1) + line - 1
                problems.warning(place, "unknown_reference", message)


def _check_mentions(read: PlanText, problems: Problems, known: Collection[str]) -> None:
    for name in (*MUST_SAY, "Coordination"):
        for each in mentions(getattr(read.plan, name.lower())):
            if each.path not in known and not each.new:
                line = read.lines.get(name, 1) + each.line - 1
                problems.error(line, "file_missing", _missing(each.path))


def _slashes(path: str) -> Iterator[int]:
    return (place for place, character in enumerate(path) if character == "/")


def _missing(path: str) -> str:
    return f"`{path}` does not exist: correct it, or mark it as to be created: `{path}` (new)."


def _matches_some(pattern: str, files: Collection[str]) -> bool:
    if not _WILD & set(pattern):
        return False
    glob = parse(pattern)
    return any(map(glob.matches, files))


def _check_criteria(read: PlanText, problems: Problems, gates: Collection[str] | None) -> None:
    first = read.lines.get("Mission", 1)
    criteria = success_criteria(read.plan.mission)
    if read.plan.mission.strip() and not criteria:
        message = "The mission has no success criteria: list them below `Success criteria:`."
        problems.error(first, "no_criteria", message)
    for each in criteria:
        line = first + each.line - 1
        if not each.tied:
            message = f"`{each.text}` is tied to nothing: end it with `(gate: name)` or `(human)`."
            problems.error(line, "criterion_untied", message)
        for message in _unknown_gates(each, gates):
            problems.error(line, "unknown_gate", message)


def _unknown_gates(criterion: Criterion, gates: Collection[str] | None) -> Iterator[str]:
    if gates is None:
        return
    known = ", ".join(sorted(gates)) or "none"
    for gate in criterion.gates:
        if gate not in gates:
            yield f"There is no gate `{gate}`: there are {known}."


def _check_routes(
    listed: TaskList,
    first: int,
    problems: Problems,
    routes: Mapping[int, TaskRoute] | None,
) -> None:
    if routes is None:
        message = "The tasks could not be sized: run `hornbook ingest` first."
        problems.error(None, "not_ingested", message)
        return
    for task in listed.tasks:
        found = routes.get(task.number)
        if found is None or found.route is Route.START:
            continue
        line, message = first + task.line - 1, found.said_of(f"Task {task.number}")
        if found.route is Route.REFUSED:
            problems.error(line, "task_too_large", message)
        elif found.route is Route.SPLIT:
            problems.warning(line, "task_split", message)
        else:
            problems.warning(line, "task_passes", message)
