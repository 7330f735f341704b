"""Turns an assignment into the task that its steps see."""

import re
from typing import Final

from hornbook.agents.embedded.compression import one_line
from hornbook.agents.embedded.task import Requirement, StepTask, phase_of
from hornbook.model.agents import Assignment

GOAL_CHARACTERS: Final = 300
_TASK: Final = re.compile(r"^# The task\n+(.*?)(?=^# |\Z)", re.MULTILINE | re.DOTALL)
_LIST: Final = r"^{}:\n((?:[-*] .*\n?)+)"
_LISTED: Final = ("Acceptance criteria", "Constraints", "These commands must pass")


def task_of(assignment: Assignment) -> StepTask:
    """The task of an assignment; its goal is the first paragraph under `# The task`.

    Raises:
        UsageError: The assignment's phase is not known.
    """
    found = _TASK.search(assignment.prompt)
    told = found[1] if found else assignment.prompt
    criteria = assignment.criteria or _listed(told, _LISTED[0])
    requirements = tuple(
        Requirement(f"AC-{number}", text) for number, text in enumerate(criteria, 1)
    )
    goal = _goal(told) or assignment.task_id
    return StepTask(
        id=assignment.task_id,
        goal=goal,
        phase=phase_of(assignment.phase),
        success_criteria=criteria,
        scope=assignment.constraints,
        files=assignment.files,
        title=goal,
        requirements=requirements,
        constraints=_listed(told, _LISTED[1]),
        test_requirements=tuple(f"{gate} must pass" for gate in _listed(told, _LISTED[2])),
        feedback=assignment.feedback,
        specification=assignment.prompt,
    )


def _goal(told: str) -> str:
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", told))
    first = next((part for part in paragraphs if part and not part.startswith("#")), "")
    return one_line(first, GOAL_CHARACTERS)


def _listed(told: str, heading: str) -> tuple[str, ...]:
    found = re.search(_LIST.format(re.escape(heading)), told, re.MULTILINE)
    lines = found[1].split("\n") if found else []
    return tuple(line[2:].strip() for line in lines if line.strip())
