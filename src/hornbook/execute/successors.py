"""A successor of a plan: what a planner or a person wrote anew, and how it differs."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff

from hornbook.execute.plan_store import LENIENT
from hornbook.execute.plan_text import SECTIONS, parse, section_text
from hornbook.model.plan import Plan, PlanTask

FEEDBACK = "Feedback that led to this revision:"


def rewritten(plan: Plan, answer: str, feedback: str) -> tuple[Plan | None, list[str]]:
    """The plan with the sections of an answer and the feedback, or every reason why not."""
    read = parse(answer, "the answer")
    given = [name for name in SECTIONS if name in read.stated]
    wrong = []
    if not given:
        wrong.append(
            "The answer has no section of a plan: write `## Execution` or another heading of the "
            f"five ({', '.join(SECTIONS)}), and its text below."
        )
    wrong += [
        f"line {each.line}: {each.message}"
        for each in read.problems
        if each.code not in LENIENT | {"no_title"}
    ]
    if wrong:
        return None, wrong
    fresh = {name.lower(): getattr(read.plan, name.lower()) for name in given}
    changed = replace(plan, **fresh)
    quoted = "\n".join(f"> {line}".rstrip() for line in feedback.strip().split("\n"))
    kept = changed.coordination.partition(FEEDBACK)[0].rstrip()
    told = "\n\n".join(filter(None, (kept, f"{FEEDBACK}\n\n{quoted}")))
    return replace(changed, coordination=told), []


def section_diff(before: Plan, after: Plan) -> str:
    """How two plans differ, section by section, as a diff that people can read."""
    lines: list[str] = []
    for name in SECTIONS:
        old = section_text(before, name).splitlines()
        new = section_text(after, name).splitlines()
        lines += unified_diff(old, new, f"before: {name}", f"after: {name}", lineterm="", n=2)
    return "\n".join(lines)


def carried(
    before: Sequence[PlanTask], done: dict[int, str], after: Sequence[PlanTask]
) -> dict[int, str]:
    """The tasks of a successor that were approved already in the same words, with their commits."""
    known = {_words(task): done[task.number] for task in before if task.number in done}
    found: dict[int, str] = {}
    for task in after:
        commit = known.get(_words(task))
        if commit is not None and all(number in found for number in task.depends_on):
            found[task.number] = commit
    return found


def _words(task: PlanTask) -> tuple[object, ...]:
    return (task.title, task.description, task.files, task.criteria)
