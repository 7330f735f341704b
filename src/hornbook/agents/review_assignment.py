"""What a reviewer is asked: one packet, whole, and what was wrong with the answer before."""

import json
from collections.abc import Mapping, Sequence

from hornbook.agents.assignment import Assignment, Limits, Role
from hornbook.review.printed_review import review_schema


def review_assignment(  # noqa: PLR0913  # each is a fact of the call, by keyword
    *,
    key: str,
    task_id: str,
    attempt: int,
    folder: str,
    prompt: str,
    asked: Sequence[str],
    model: str | None,
    limits: Limits,
    problems: Sequence[Mapping[str, object]] = (),
) -> Assignment:
    """The assignment for a packet: its prompt as it is, and the schema of what it asks for.

    `problems` are those of the answer before, where the reviewer is asked again.
    """
    objections = _objections(problems) if problems else ""
    return Assignment(
        key=key,
        role=Role.REVIEWER,
        task_id=task_id,
        attempt=attempt,
        folder=folder,
        prompt=prompt,
        system=objections,
        phase="review",
        feedback=objections,
        schema=json.dumps(review_schema(asked), ensure_ascii=False),
        model=model,
        limits=limits,
    )


def _objections(problems: Sequence[Mapping[str, object]]) -> str:
    lines = [
        f"- {str(each['sop_id']) + ': ' if each['sop_id'] else ''}{each['message']}"
        for each in problems
    ]
    return "\n".join(["Your review was not accepted:", "", *lines])
