"""A plan with one task that mends a recorded violation."""

from collections.abc import Sequence
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import change
from hornbook.errors import NotFound, UsageError
from hornbook.gates.gate_list import gates_now
from hornbook.gates.test_files import companion, is_test
from hornbook.loop.plan_book import PlanBook
from hornbook.plans.plan import TaskType
from hornbook.review.recorded_finding import RecordedFinding, recorded_finding
from hornbook.rules.ids import title_slug

_TEXT = """\
# Plan: any

## Situation

{review} found that {rule} is violated in {named}.

## Mission

Mend what the review found, and change nothing else.

Success criteria:

- the violation is gone and the gates pass ({tie})

## Execution

1. Mend the violation of {rule}
   - Files: {files}
   - Criteria: a review finds no violation of {rule} in {files}
   - Type: {type}
   - Finding: {reference}

## Constraints

{scope}

## Coordination

Made by `hornbook fix {reference}`.
"""


def fix_plan(root: Path, book: PlanBook, records: Path, reference: str) -> str:
    """The slug of a committed plan that mends a recorded violation; of the one that is there.

    Raises:
        UsageError: The reference names no one violation, or HEAD lacks its files.
        NotFound: There is no such review.
    """
    found = recorded_finding(records, reference)
    title = f"Fix {found.check_id.rpartition('.')[2]} of {found.review}"
    try:
        known = book.view(title_slug(title))
    except NotFound:
        return book.commit(title, _text(root, found), path=reference).plan.slug
    return known.plan.slug


def _text(root: Path, found: RecordedFinding) -> str:
    present = set(git.files_at(root, "HEAD"))
    files = found.files or _changed(root, found)
    missing = [path for path in files if path not in present]
    if not files or missing:
        what = f"{', '.join(missing)} is not in HEAD" if missing else "it names no file"
        raise UsageError(
            f"{found.reference}: {what}: check out the work that was reviewed"
            f"{f' ({found.head[:12]})' if found.head else ''}, then fix it there."
        )
    gates = ", ".join(gate.name for gate in gates_now(root).ready if gate.required)
    tests = list(filter(is_test, present))
    beside = (companion(path, tests) for path in files)
    inside = dict.fromkeys((*files, *(path for path in beside if path is not None)))
    return _TEXT.format(
        review=found.review,
        rule=found.check_id,
        named=", ".join(f"`{path}`" for path in files),
        tie=f"gate: {gates}" if gates else "human",
        files=", ".join(files),
        type=TaskType.FIX_VIOLATION,
        reference=found.reference,
        scope="\n".join(f"- IN: {path}" for path in inside),
    )


def _changed(root: Path, found: RecordedFinding) -> Sequence[str]:
    """What the reviewed change touched and is still there, where the finding names no file."""
    if found.base is None or found.head is None:
        return ()
    present = git.files_at(root, "HEAD")
    return [path for path in change(root, f"{found.base}..{found.head}").paths if path in present]
