"""Runs gates over the tree that is to be judged, and floors over a change."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from hornbook.commits import git
from hornbook.commits.change import ABSENT, Change, Touched, change, links, touched
from hornbook.commits.commit import commit_at
from hornbook.commits.git_tampering import fingerprint
from hornbook.commits.trees import (
    Content,
    content,
    copy_of,
    ignored_beside,
    tree_of,
    unignored_beside,
)
from hornbook.disk import write_whole
from hornbook.errors import UsageError
from hornbook.gates import floors
from hornbook.gates.base_tests import (
    NOTHING_KNOWN,
    BaseResults,
    edited_tests,
    gates_of_tests,
    put_back,
    skipped_in,
    told,
    with_untested,
)
from hornbook.gates.floors import judging_part
from hornbook.gates.gate import COPIED, BaseTests, Gate, GateReport, GateResult, GateStatus
from hornbook.gates.gate_confinement import GateBounds, bounds_by_hand, with_confinement
from hornbook.gates.gate_list import GateList, GateState, ListedGate, below, constraints_at
from hornbook.gates.runner import (
    NO_GATES,
    Judge,
    Progress,
    has_passed,
    never,
    run_gates,
    silent,
    unchanged,
)
from hornbook.gates.test_files import OWN_TESTS, TestFile, is_test, weakened
from hornbook.plans.plan import Constraints
from hornbook.rules.document_reader import is_rule_file
from hornbook.settings.places import Places
from hornbook.text.globs import parse_set

if TYPE_CHECKING:
    from hornbook.gates.proof import GateProof

TREE = "floor:tree"
_REGULAR = frozenset({"100644", "100755"})
_Run = Callable[[Path], GateReport]
_RunChosen = Callable[[Path, Sequence[Gate], Path], GateReport]


def run_for(  # noqa: PLR0913  # each is a choice of the caller, by keyword
    root: Path,
    gates: Sequence[Gate],
    *,
    span: str | None = None,
    constraints: Constraints | None = None,
    tests: floors.Strictness = floors.Strictness.WARN,
    base_tests: bool = False,
    mutate_seconds: int = 0,
    in_place: bool = False,
    progress: Progress = silent,
    bounds: GateBounds | None = None,
    known: BaseResults = NOTHING_KNOWN,
    is_over: Callable[[], bool] = never,
) -> GateReport:
    """Run gates over the files of the work tree, or with `BASE..HEAD` over HEAD's.

    With a span the floors judge the change from the merge base to HEAD. Gates then run in a
    temporary copy of HEAD; with `in_place` where they lie, if nothing else lies there. The report
    names the tree that was run on. With `bounds` the gates are confined, with `base_tests` those
    that run tests are run over BASE's tests as well, where the change edits them. With
    `mutate_seconds` they are run over mutants of its added lines for at most so long. What is
    `known` to be red stops none of these. Once `is_over` says so they are ended.

    Raises:
        RunEnded: They were.
        UsageError: The span names no change, there is no repository to take it from, or gates
            cannot be confined here.
        BadGlob: A constraint is not in the dialect.
    """
    run = _confined_run(root, gates, bounds, progress, is_over, judge=known.told)
    if span is not None:
        with git.operation(root):
            found = change(root, span)
            judged = judge(root, found.merge_base, found.head, gates, constraints, tests=tests)
        report = _with(_over_commit(root, found.head, gates, run, in_place=in_place), judged)
        report = replace(report, notes=(*report.notes, *known.mended(report.gates)))
        old = _old_tests(root, found, gates, run, report) if base_tests and report.passed else None
        report = replace(report, base=found.base, head=found.head, base_tests=old)
        return _with_mutants(root, found, gates, run, report, mutate_seconds)
    if git.inside_repository(root):
        with content(root, made_by(gates)) as before:
            report = _in_place(root, gates, before, run)
        head = git.run(root, "rev-parse", "--verify", "-q", "HEAD").stdout.decode("ascii").strip()
        return replace(report, head=head or None)
    return run(root)


class _RunConfined(Protocol):
    """Runs gates in a folder, by default all of them, with what they print in a folder of logs."""

    def __call__(
        self, folder: Path, chosen: Sequence[Gate] = ..., logs: Path = ...
    ) -> GateReport: ...


def _confined_run(
    root: Path,
    gates: Sequence[Gate],
    bounds: GateBounds | None,
    progress: Progress,
    is_over: Callable[[], bool],
    *,
    judge: Judge = unchanged,
    past_red: bool = False,
) -> _RunConfined:
    """What runs gates within their bounds."""
    places = Places(root)
    places.prepare()
    at_once, own = os.cpu_count() or 1, places.gate_logs

    def run(folder: Path, chosen: Sequence[Gate] = gates, logs: Path = own) -> GateReport:
        plain = partial(
            run_gates,
            chosen,
            logs=logs,
            parallel=at_once,
            progress=progress,
            judge=judge,
            past_red=past_red,
            is_over=is_over,
        )
        if bounds is None:
            return plain(folder)
        with bounds.shell(folder, root, ours=folder != root) as shell:
            return with_confinement(plain(folder, wrap=shell), shell, chosen)

    return run


def run_at(
    root: Path,
    gates: Sequence[Gate],
    commit: str,
    *,
    bounds: GateBounds | None = None,
    is_over: Callable[[], bool] = never,
) -> GateReport:
    """Run gates over a copy of a commit, which nothing was changed in: no floor judges it.

    Those behind a red one are run as well, so that all that is red there is told at once.

    Raises:
        UsageError: The gates cannot be confined here.
        RunEnded: `is_over` said so.
    """
    run = _confined_run(root, gates, bounds, silent, is_over, past_red=True)
    with git.operation(root):
        report = _over_commit(
            root,
            commit,
            gates,
            lambda folder: run(folder, gates, Places(root).gate_logs / "base"),
            in_place=False,
        )
    report = with_untested(report, commit_at(root, commit))
    return replace(report, base=commit, head=commit)


def _old_tests(
    root: Path, found: Change, gates: Sequence[Gate], run: "_RunChosen", now: GateReport
) -> BaseTests | None:
    """What the gates of tests say to the tests of the merge base over HEAD's code."""
    edited, chosen = old_tests(root, found, gates)
    if not edited or not chosen:
        return None
    try:
        with copy_of(root, tree_of(root, found.head), commit=found.head) as copy:
            put_back(root, copy, edited)
            before = run(copy, chosen, Places(root).gate_logs / "base-tests")
            names = {gate.name for gate in chosen}
            own = skipped_in(each for each in now.gates if each.name in names)
            return told(edited, before, own)
    except (UsageError, OSError) as problem:
        paths = tuple(sorted(file.path for file in edited))
        return BaseTests(GateStatus.SKIPPED, paths, message=f"they cannot be run: {problem}")


def _with_mutants(  # noqa: PLR0917  # what the caller has at hand
    root: Path,
    found: Change,
    gates: Sequence[Gate],
    run: "_RunChosen",
    report: GateReport,
    seconds: int,
) -> GateReport:
    """The report with what the gates of tests say to mutants, if those are asked for."""
    if not seconds:
        return report
    if not report.passed:
        said = "no mutant is judged: the gates did not pass"
        return replace(report, mutants=(), notes=(*report.notes, said))
    # Only who asks for mutants needs the parser.
    from hornbook.gates.mutation.operators import added_lines, chosen, mutations  # noqa: PLC0415  # only with --mutate
    from hornbook.gates.mutation.trial import try_mutants  # noqa: PLC0415  # as above

    head = commit_at(root, found.head)
    code = (each.path for each in found.files if not is_test(each.path))
    candidates = [
        mutation
        for path in code
        for data in [head.text(path)]
        if data is not None
        for mutation in mutations(path, data, added_lines(found.patches[path]))
    ]
    logs = Places(root).gate_logs / "mutants"
    trial = try_mutants(
        chosen(candidates),
        gates_of_tests(gates, lambda gate: below(gate, head.text)),
        lambda: copy_of(root, tree_of(root, found.head), commit=found.head),
        lambda copy, some: run(copy, some, logs),
        seconds=seconds,
    )
    notes = (*report.notes, trial.note) if trial.note else report.notes
    return replace(report, mutants=trial.mutants, notes=notes)


def old_tests(
    root: Path, found: Change, gates: Sequence[Gate]
) -> tuple[tuple[Touched, ...], tuple[Gate, ...]]:
    """The tests and their settings that a change edits, and the gates that run tests."""
    files = touched(root, found.merge_base, found.head)
    edited = edited_tests(files, gates, _harmless(root, files, None))
    if not edited:
        return (), ()
    head = commit_at(root, found.head)
    return edited, gates_of_tests(gates, lambda gate: below(gate, head.text))


def run_listed(
    root: Path,
    listed: GateList,
    *,
    span: str | None = None,
    constraints: Constraints | None = None,
    mutate: bool = False,
    in_place: bool = False,
    progress: Progress = silent,
    bounds: GateBounds | None = None,
) -> GateReport:
    """Run the gates of a list; one that is refused is a result too, and stops a change.

    The newest report of a work tree lies in the folder of the logs, for those who only look.

    Raises:
        UsageError: The span names no change, there is no repository to take it from, or mutants
            are asked for without one.
    """
    if mutate and span is None:
        raise UsageError("mutants are made of a change's added lines: add --diff BASE..HEAD.")
    report = run_for(
        root,
        listed.ready,
        span=span,
        constraints=constraints,
        tests=listed.tests,
        base_tests=listed.base_tests,
        mutate_seconds=listed.mutate_seconds if mutate else 0,
        in_place=in_place,
        progress=progress,
        bounds=bounds,
    )
    refused = [_not_run(each) for each in listed.gates if each.state is GateState.REFUSED]
    off = [_not_run(each) for each in listed.gates if each.state is GateState.DISABLED]
    report = _with(report, [*refused, *off])
    if any(each.required for each in refused):  # of them nobody says that none is configured
        report = replace(report, gates=tuple(each for each in report.gates if each != NO_GATES))
    if not listed.gates and listed.message:
        report = replace(report, notes=(*report.notes, listed.message))
    keep_newest(Places(root), report)
    return report


def _not_run(listed: ListedGate) -> GateResult:
    """The result of a gate that is refused or switched off."""
    refused = listed.state is GateState.REFUSED
    return GateResult(
        listed.gate.name,
        required=refused and listed.gate.required,
        status=GateStatus.REFUSED if refused else GateStatus.SKIPPED,
        message="; ".join(listed.reasons),
    )


def limits(
    root: Path, listed: GateList, plan: str | None, now: Callable[[str], Constraints]
) -> tuple[Constraints | None, tuple[str, ...]]:
    """The scope of a plan for the change that a list is for, with what is to be noted.

    It is taken from BASE: the change cannot widen its own scope. `now` gives that of a plan that
    BASE does not have.

    Raises:
        UsageError: The list is for no change.
    """
    if plan is None:
        return None, ()
    if listed.base is None:
        raise UsageError(
            "--plan limits a change, and none is named: add --diff BASE..HEAD, such as `main..`"
        )
    slug = plan.removeprefix("plan.")
    known = constraints_at(root, listed.base, slug)
    if known is not None:
        return known, ()
    note = f"{listed.base[:12]} has no plan {slug}: its scope is that of the newest log, which the "
    return now(plan), (note + "change may have written itself",)


def run_by_hand(  # noqa: PLR0913  # each is a choice of the caller, by keyword
    root: Path,
    listed: GateList,
    *,
    span: str | None,
    plan: str | None,
    constraints_of: Callable[[str], Constraints],
    in_place: bool,
    mutate: bool,
    confined: bool | None,
    progress: Progress | None,
) -> GateReport:
    """What the gates of a list say when somebody runs them, within the scope of a plan.

    Raises:
        UsageError: As `limits` and `run_listed` do.
    """
    scope, notes = limits(root, listed, plan, constraints_of)
    report = run_listed(
        root,
        listed,
        span=span,
        constraints=scope,
        in_place=in_place,
        mutate=mutate,
        progress=progress or silent,
        bounds=bounds_by_hand(listed, confined=confined),
    )
    return replace(report, notes=(*notes, *report.notes))


def keep_newest(places: Places, report: GateReport) -> None:
    """Write a report where a hook finds it without running anything."""
    write_whole(places.gate_logs / "last.json", msgspec.json.encode(report), durable=False)


def judge(
    root: Path,
    before: str,
    after: str,
    gates: Sequence[Gate],
    constraints: Constraints | None,
    *,
    tests: floors.Strictness = floors.Strictness.WARN,
    environment: Mapping[str, str] | None = None,
) -> list[GateResult]:
    """What the floors say to the change between two commits or trees."""
    files = touched(root, before, after, environment)
    present = git.files_at(root, after, environment)
    tested = floors.has_tests(
        files,
        present,
        strictness=tests,
        self_tested=_self_tested(root, files, environment),
        weaker=weakened(_test_files(root, files, environment)),
    )
    return [
        floors.scope(files, constraints, links(root, after, environment), present),
        *([tested] if tested is not None else []),
        floors.artefacts(files),
        floors.rules(
            files, gates, is_rule=is_rule_file, harmless=_harmless(root, files, environment)
        ),
    ]


def prove_for(
    root: Path, gates: Sequence[Gate], *, progress: Progress = silent
) -> "tuple[GateProof, ...]":
    """Whether each required gate can fail, tried on copies of the work tree's files.

    Raises:
        UsageError: The root is not in a git repository.
    """
    from hornbook.gates.proof import prove  # noqa: PLC0415  # only `gates prove` and `init` do

    places = Places(root)
    places.prepare()
    with content(root, made_by(gates)) as now:
        files = git.files_at(root, now.tree, now.environment)

        @contextmanager
        def copies() -> Iterator[Path]:
            with copy_of(root, now.tree, made=now) as copy:
                yield copy

        logs = places.gate_logs / "proof"
        return prove(gates, copies, files, logs=logs, progress=progress)


def made_by(gates: Sequence[Gate]) -> Callable[[str], bool]:
    """Whether a path is one that a gate says it creates."""
    globs = parse_set(_from_root(gate.folder, glob) for gate in gates for glob in gate.creates)
    return lambda path: globs.match(path) is not None


def _from_root(folder: str, glob: str) -> str:
    """A glob that was written for a folder, for paths from the root."""
    if folder in {"", "."}:
        return glob
    anywhere = "/" not in glob.rstrip("/")
    return f"{folder.strip('/')}/{'**/' if anywhere else ''}{glob.lstrip('/')}"


def _over_commit(
    root: Path, head: str, gates: Sequence[Gate], run: _Run, *, in_place: bool
) -> GateReport:
    """Run on a commit's tree: in a copy, unless it is wanted where it lies and lies there alone."""
    tree = tree_of(root, head)
    note = f"{COPIED} {head[:12]}, not on the files here"
    if in_place:
        made = made_by(gates)
        with content(root, made) as before:
            beside = ignored_beside(root, made)
            if before.tree == tree and not beside:
                return _in_place(root, gates, before, run)
        why = "the files here are others"
        if before.tree == tree:
            more = f" and {len(beside) - 1} more" if len(beside) > 1 else ""
            why = f"ignored files lie here that no commit has: {beside[0]}{more}"
        note = f"{COPIED} {head[:12]}: {why}"
    with copy_of(root, tree, commit=head) as copy:
        report = run(copy)
        return replace(report, tree=tree, notes=(note, *report.notes))


def _in_place(root: Path, gates: Sequence[Gate], before: Content, run: _Run) -> GateReport:
    report = _with(run(root), _stayed(root, gates, before))
    caches = unignored_beside(root)
    notes = report.notes
    if caches:
        words = f"git does not ignore {', '.join(caches)}, which tools leave: `git add -A` would "
        notes = (*notes, f"{words}commit it; write it into .gitignore")
    # As it is now: with what gates create, which is no part of `tree`, a hook sees the same.
    return replace(report, tree=before.tree, notes=notes, fingerprint=fingerprint(root))


def _stayed(root: Path, gates: Sequence[Gate], before: Content) -> list[GateResult]:
    """A result if the gates left other files than they judged."""
    with content(root, made_by(gates)) as after:
        if after.tree == before.tree:
            return []
        both = (
            after.environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"],
            before.environment["GIT_OBJECT_DIRECTORY"],
        )
        environment = {**after.environment, "GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(both)}
        files = touched(root, before.tree, after.tree, environment)
    edited = [file.path for file in files if file.status != "A"]
    shown = ", ".join(edited or [file.path for file in files])
    if edited:
        words = (
            f"files changed while the gates ran, so that other files were judged: {shown}; let "
            "gates check without writing, and run them again when nothing else edits the files"
        )
        return [GateResult(TREE, required=True, status=GateStatus.FAILED, message=words)]
    words = (
        f"the gates left new files, which `git add -A` would commit: {shown}; name them in "
        "`creates` or in .gitignore"
    )
    return [GateResult(TREE, required=False, status=GateStatus.WARNED, message=words)]


def _with(report: GateReport, more: Sequence[GateResult]) -> GateReport:
    every = (*report.gates, *more)
    return replace(report, passed=report.passed and has_passed(every), gates=every)


def _test_files(
    root: Path, files: Sequence[Touched], environment: Mapping[str, str] | None
) -> list[TestFile]:
    """The touched tests, and touched Rust files, with their texts before and after."""
    tests = [file for file in files if _may_test(file)]
    old = {file.path: file.old_blob for file in tests if file.old_mode in _REGULAR}
    new = {file.path: file.blob for file in tests if file.mode in _REGULAR}
    held = _blobs(root, {*old.values(), *new.values()}, environment)

    def text(path: str, blobs: Mapping[str, str]) -> str | None:
        return held[blobs[path]].decode("utf-8", "replace") if path in blobs else None

    return [TestFile(each.path, text(each.path, old), text(each.path, new)) for each in tests]


def _blobs(
    root: Path, names: Collection[str], environment: Mapping[str, str] | None
) -> dict[str, bytes]:
    return git.blobs(root, names, environment) if names else {}


def _may_test(file: Touched) -> bool:
    path = file.before or file.path
    return not (file.is_submodule or file.is_link) and (is_test(path) or path.endswith(".rs"))


def _self_tested(
    root: Path, files: Sequence[Touched], environment: Mapping[str, str] | None
) -> set[str]:
    """The changed files of Rust that hold tests of their own."""
    rust = {file.path: file.blob for file in files if file.is_edited and file.path.endswith(".rs")}
    texts = _blobs(root, rust.values(), environment)
    return {path for path, blob in rust.items() if any(mark in texts[blob] for mark in OWN_TESTS)}


def _harmless(
    root: Path, files: Sequence[Touched], environment: Mapping[str, str] | None
) -> set[str]:
    """The touched files that hold settings of tests and checks among others, which stayed."""
    shared = [file for file in files if file.path.rsplit("/", 1)[-1] in floors.SHARED]
    kept = [file for file in shared if not file.is_removed and not file.before]
    return {file.path for file in kept if not _edits_judges(root, file, environment)}


def _edits_judges(root: Path, file: Touched, environment: Mapping[str, str] | None) -> bool:
    """Whether the part of a file that configures tests and checks is another than before."""
    names = [file.blob] if file.old_mode == ABSENT else [file.blob, file.old_blob]
    held = git.blobs(root, names, environment)
    parts = [judging_part(file.path, held[name].decode("utf-8", "replace")) for name in names]
    return bool(parts[0]) if len(parts) == 1 else parts[0] != parts[1]
