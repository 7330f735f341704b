"""Working memory: five slots, of which three hold the last actions and two what was loaded."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hornbook.agents.embedded.fitting import RECENT
from hornbook.agents.embedded.records import StepRecord

MAX_ITEMS: Final = 5
LOADED_ITEMS: Final = MAX_ITEMS - RECENT
EXPIRES_AFTER_STEPS: Final = 3


@dataclass(frozen=True, slots=True)
class LoadedItem:
    """What a step asked to see in the steps after it; a pinned item stays until it is cleared."""

    key: str
    record: StepRecord
    pinned: bool = False

    def expired(self, step: int) -> bool:
        """Whether the item is gone by the time that `step` is asked."""
        return not self.pinned and step - self.record.step > EXPIRES_AFTER_STEPS


def loaded(records: Iterable[StepRecord], step: int) -> tuple[LoadedItem, ...]:
    """What is loaded when `step` is asked, oldest first.

    First in, first out, pinned items aside; what is loaded again is new again.
    """
    items: list[LoadedItem] = []
    for record in records:
        items = [item for item in items if not item.expired(record.step)]
        if record.action == "clear_context" and record.error is None:
            items = [item for item in items if record.given.get("item") not in {None, item.key}]
        if record.loads is not None:
            pinned = record.given.get("pinned") == "true"
            items = [item for item in items if item.key != record.loads]
            items = _within(items, LOADED_ITEMS - 1)
            items.append(LoadedItem(record.loads, record, pinned))
    return tuple(item for item in items if not item.expired(step))


def has_room(items: Iterable[LoadedItem], key: str) -> bool:
    """Whether an item can be loaded: not when every slot is pinned by another."""
    return sum(item.pinned and item.key != key for item in items) < LOADED_ITEMS


def _within(items: list[LoadedItem], most: int) -> list[LoadedItem]:
    """The items without the oldest ones that are not pinned, until `most` are left."""
    kept = list(items)
    while len(kept) > most:
        oldest = next((item for item in kept if not item.pinned), None)
        if oldest is None:
            break
        kept.remove(oldest)
    return kept
