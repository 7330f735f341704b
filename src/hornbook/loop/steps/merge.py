"""How approved work comes onto the plan's branch, where other work may have come first.

Nothing reaches the branch that was not judged as it then stands there. Work whose base is the tip
is moved onto it. Otherwise it is put on top of the tip, and the gates are run over both together.
The review holds if every file of the work is still the one that was reviewed, byte for byte, and
the branch changed nothing that judges; else both together are reviewed again. What conflicts, or
fails there, goes back to its developer on top of the tip: who comes later has to mend it.
"""

from hornbook.commits.change import change
from hornbook.commits.plan_branch import ApprovalProof, BranchMoved, MergedWork
from hornbook.context.edited_judges import edited_judges
from hornbook.errors import EventLogError, UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.loop.protocol import ApprovedWork
from hornbook.loop.runs.state import AGAIN, HOLDS, RunState, failed_gates
from hornbook.loop.steps.gates import TOGETHER, gate_facts, gate_report
from hornbook.loop.steps.services import LoopServices
from hornbook.loop.workflow.interpreter import Erred
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.plan import TaskType

MOST_LINES = 120
"""How much of each side of a conflict a developer is shown, in lines of a file's patch."""


def approval(
    services: LoopServices, run: RunState, work: kinds.AttemptData, *, proof: str, by: str = ""
) -> Data | BranchMoved:
    """Make the commit of approved work and bring it onto the branch; what its event says.

    `proof` is the hash of the event that the approval rests on, `by` the person whose word it is.
    """
    context = run.newest(kinds.ASSEMBLED)
    packets = kinds.context(context).get("packets", []) if context is not None else []
    receipts = [packet["receipt_sha256"] for packet in packets]
    told = ApprovalProof(
        f"plan.{run.plan}", str(run.task), run.id, ", ".join(receipts), events=proof, by=by
    )
    approved = ApprovedWork(
        work["tree"], work["base"], _judged_together(run), apart=_is_red(services, run)
    )
    title = services.task_of(run).title
    made = services.worktrees.approve(run.plan, approved, title, told.trailers)
    if isinstance(made, BranchMoved):
        return made
    return {"task": run.task, "commit": made, "tree": work["tree"], "receipts": receipts}


def _judged_together(run: RunState) -> tuple[str, str] | None:
    """The tip and the tree that the newest gates judged the work with, if it may go there."""
    merged, gated = run.merged_since_review(), run.newest(kinds.GATED)
    if merged is None or gated is None:
        return None
    report = kinds.gates(gated)
    if report["tree"] != merged["tree"] or _newly_failed(run, report):
        return None
    return merged["base"], merged["tree"]


def _newly_failed(run: RunState, report: kinds.GatesData) -> set[str]:
    """The required gates that fail, but for those against which a person approved the work."""
    failed = set(failed_gates(report["gates"])) - {TOGETHER}
    if run.decided is None:
        return failed
    tree = kinds.answer(run.decided).get("tree")
    before = [kinds.gates(each) for each in run.of(kinds.GATED) if each.data["tree"] == tree]
    return failed - set(failed_gates(before[-1]["gates"]) if before else ())


def _is_red(services: LoopServices, run: RunState) -> bool:
    """Whether the work is tests that fail until another task is done, and comes with that."""
    task, ledger = services.task_of(run), services.ledger(run.plan)
    needed = any(task.number in each.depends_on for each in ledger.tasks)
    part = any(task.number in each for each in ledger.continued.values())
    return task.type is TaskType.WRITE_TESTS and (needed or part)


def merge(
    services: LoopServices, run: RunState, number: int, work: kinds.AttemptData, tip: str
) -> kinds.MergedData:
    """Put work on top of the branch's tip, and note what came of it; asked again, the same."""
    what = f"merged-{tip[:12]}"
    known = run.fact(number, what)
    if known is not None:
        return kinds.merged(known)
    task = str(run.task)
    found = services.worktrees.merge(run.plan, task, tip, work["commit"], work["base"])
    judges = [] if found.conflicts else _edited_judges(services, work["base"], tip)
    data = {
        "run": run.id,
        "round": run.round,
        "number": number,
        "task": task,
        "of": work["commit"],
        "base": tip,
        "commit": found.commit,
        "tree": found.tree,
        "files": list(found.files),
        "review": HOLDS if found.same and not judges else AGAIN,
        "conflicts": list(found.conflicts),
        "feedback": _feedback(services, work, found),
    }
    event, _ = services.log.append(run.plan, kinds.MERGED, data, key=run.key(number, what))
    return kinds.merged(event)


def _edited_judges(services: LoopServices, base: str, tip: str) -> list[str]:
    """What the branch changed of the rules and settings that the review was held to."""
    found = change(services.root, f"{base}..{tip}")
    return list(edited_judges(services.root, found, graph_at(services.root, base)))


def _feedback(services: LoopServices, work: kinds.AttemptData, found: MergedWork) -> str:
    """What a developer is told of work that came first, if it touches theirs."""
    if found.same:
        return ""
    if not found.conflicts:
        return (
            "Other tasks of the plan changed some of the same files, and came first. Both are in "
            "the files now: see to it that they are right together."
        )
    paths = ", ".join(found.conflicts)
    theirs = change(services.root, f"{work['base']}..{found.tip}").patches
    own = change(services.root, f"{work['base']}..{work['commit']}").patches
    said = (
        f"Other tasks of the plan changed the same lines of {paths}, and came first. The files are "
        "now those of the plan's branch, with all else that you changed: do your part of "
        f"{paths} again, on top of what is there."
    )
    told = [said]
    for path in found.conflicts:
        told.append(f"What came first, in {path}:\n\n{_shown(theirs.get(path))}")
        told.append(f"What you had done in {path}:\n\n{_shown(own.get(path))}")
    return "\n\n".join(told)


def _shown(patch: str | None) -> str:
    """A patch as a block of text, cut where it is long, which is said."""
    if patch is None:
        return "(under another name)"
    lines = patch.rstrip("\n").split("\n")
    left = len(lines) - MOST_LINES
    more = [f"({left} more lines are not shown)"] if left > 0 else []
    return "\n".join(["```diff", *lines[:MOST_LINES], "```", *more])


def approve_by_word(services: LoopServices, run: RunState, decided: Event) -> bool:
    """Bring work that a person approved onto the branch; whether it is there.

    Their word is about the work as they saw it: together with what came first it must pass all
    gates but those that they approved it against. Otherwise its developer goes on.

    Raises:
        UsageError: The gates cannot judge, or git refused.
    """
    number = kinds.answer(decided)["number"]
    if run.fact(number, "approved") is not None:
        return True
    tree = kinds.answer(decided).get("tree")
    work = next((each for each, _ in reversed([*run.works()]) if each["tree"] == tree), None)
    if work is None:
        raise EventLogError(f"run {run.id}: a word approves work that nobody did.")
    made = approval(services, run, work, proof=decided.hash, by=decided.principal.id)
    place = {"run": run.id, "round": run.round, "number": number}
    if not isinstance(made, BranchMoved):
        key = run.key(number, "approved")
        data = {**place, "answer": decided.hash, **made}
        services.log.append(run.plan, kinds.APPROVED, data, key=key)
        return True
    merged = merge(services, run, number, work, made.tip)
    why = merged["feedback"]
    if merged["review"] == HOLDS:
        report = _gated_together(services, services.run(run.id), number, merged)
        failed = _newly_failed(run, report)
        if not failed:
            return approve_by_word(services, services.run(run.id), decided)
        why = f"together with what came first these gates fail: {', '.join(sorted(failed))}"
    data = {**place, "task": run.task, "reason": why}
    services.log.append(run.plan, kinds.RETURNED, data, key=run.key(number, "returned"))
    return False


def _gated_together(
    services: LoopServices, run: RunState, number: int, merged: kinds.MergedData
) -> kinds.GatesData:
    """What the gates say to work on top of the tip; they are run once."""
    what = f"gates-{merged['base'][:12]}"
    known, work = run.fact(number, what), run.work()
    if known is not None:
        return kinds.gates(known)
    if work is None:
        raise EventLogError(f"run {run.id}: work was merged that nobody did.")
    report = gate_report(services, run, work)
    if isinstance(report, Erred):
        raise UsageError(report.error)
    data = {"run": run.id, "round": run.round, "number": number, **gate_facts(report)}
    event, _ = services.log.append(run.plan, kinds.GATED, data, key=run.key(number, what))
    return kinds.gates(event)
