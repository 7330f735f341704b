"""Keeps git's configuration and hooks as they were while agents and gates work.

Before a step in which others run programs, what decides how git behaves is sealed, and the event
that begins the step has the seal's hash. After it, whatever differs is put back, and a person is
asked. The log alone says what the seal is: a process that is killed in between leaves it, and
whoever goes on with the step finds the same difference, by the same seal, before anybody works
again. What was found is noted before it is put back, so that it is told once and never forgotten.
What was changed never becomes what the next step is held against. Each clone has a git of its own:
one that takes over a step seals anew.
"""

from hornbook.commits.kept_seals import broken_seal, clone_of, keep_seal, put_back
from hornbook.errors import UsageError
from hornbook.loop.steps.services import StepRun
from hornbook.plans import run_kinds as kinds
from hornbook.plans.checkpoint import quarantine_of
from hornbook.plans.run_kinds import DEVELOP, REVIEW

OTHERS_WORK = frozenset({DEVELOP, REVIEW, "workflow.gate.structural"})
"""Subjects of steps in which programs run that are not ours."""
TOLD = "tampered"


def sealed_in(step: StepRun) -> str | None:
    """The seal that the step is held to: that of its first beginning here; None if it has none."""
    here = (step.run.round, step.number, clone_of(step.services.root))
    for event in step.run.of(kinds.STEP_STARTED):
        data = event.data
        if (data["round"], data["number"], data.get("clone")) == here:
            return str(data["seal"])
    return None


def new_seal(step: StepRun) -> dict[str, object]:
    """What the event that begins a step says of its seal."""
    if step.do.action.subject not in OTHERS_WORK:
        return {}
    known = sealed_in(step)
    root = step.services.root
    return {"seal": known if known is not None else keep_seal(root), "clone": clone_of(root)}


def tampered(step: StepRun, seal: str | None) -> str | None:
    """What was done to git while others worked, which is put back; None if nothing was."""
    if seal is None:
        return None
    root, noted = step.services.root, step.noted(TOLD)
    aside = quarantine_of(step.services.places.state, step.run.plan) / f"git-{seal[:12]}"
    try:
        found = list(noted["found"] if noted is not None else broken_seal(root, seal))
        if not found:
            return None
        step.note(kinds.TAMPERED, TOLD, {"step": step.do.step, "seal": seal, "found": found})
        put_back(root, seal, aside)
    except UsageError as problem:
        return f"Git may have been tampered with while the step {step.do.step} ran: {problem}"
    return (
        f"While the step {step.do.step} ran, git was tampered with: {'; '.join(found)}. It is put "
        f"back as it was; what was in its place lies in {aside.relative_to(root)}. Look at who did "
        "it before you go on."
    )
