"""`working_memory.yaml`: the few items that the next step or attempt of a task should know.

Whoever writes it, the loop for a task or the embedded developer for an attempt, writes this shape.
"""

from collections.abc import Sequence

MAX_ITEMS = 5

Item = dict[str, object]


def action_item(  # five facts of one action
    step: object, *, action: object, result: object, summary: object, at: object
) -> Item:
    """What was done in a step, and what came of it."""
    content = {"action": action, "result": result, "summary": summary}
    return {"type": "action_result", "step": step, "content": content, "added_at": at}


def text_item(
    kind: str, content: str, *, at: object, key: str | None = None, expires: int | None = None
) -> Item:
    """A text that is known for some steps, or, without `expires`, for as long as it holds."""
    item: Item = {"type": kind}
    if key is not None:
        item["key"] = key
    item |= {"content": content, "added_at": at}
    return item | ({"pinned": True} if expires is None else {"expires_after_steps": expires})


def working_memory(items: Sequence[Item]) -> dict[str, object]:
    """The whole file."""
    return {"max_items": MAX_ITEMS, "items": list(items)}
