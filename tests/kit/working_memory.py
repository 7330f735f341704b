"""The one shape of `working_memory.yaml`, as docs/loop.md tells it."""

from collections.abc import Mapping

from hornbook.plans.working_memory import MAX_ITEMS

_ACTION = {"type", "step", "content", "added_at"}
_TEXT = {"type", "content", "added_at"}
_TYPES = {"loaded_context", "feedback", "findings"}


def require_shape(memory: Mapping[str, object]) -> None:
    """Fail unless this is a working memory, whoever wrote it."""
    assert set(memory) == {"max_items", "items"}
    assert memory["max_items"] == MAX_ITEMS
    items = memory["items"]
    assert isinstance(items, list)
    assert len(items) <= MAX_ITEMS
    for item in items:
        assert isinstance(item["added_at"], str)
        if item["type"] == "action_result":
            assert set(item) == _ACTION
            assert set(item["content"]) == {"action", "result", "summary"}
            continue
        assert item["type"] in _TYPES
        assert isinstance(item["content"], str)
        known = {"pinned"} if "pinned" in item else {"expires_after_steps"}
        keyed = {"key"} if item["type"] == "loaded_context" else set()
        assert set(item) == _TEXT | known | keyed
