"""The reserve: the room for rules in a review, how many tokens it is and where that was said.

A rule set is handed to a reviewer whole or not at all, so the number decides whether there is a
review. Whoever is refused must therefore learn which of the places it came from: an option, the
settings of the change's base, those of the work tree, or nobody, so that it is `auto`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from hornbook.errors import UsageError

if TYPE_CHECKING:  # they have a reserve themselves
    from hornbook.settings.settings import Settings

CONFIG_FILE = ".hornbook/config.yaml"
AUTO, AUTO_PERCENT = "auto", 15
"""The reserve that nobody set: this share of the window, and at least what is planned."""


def is_reserve(text: str) -> bool:
    """Whether a text says how large a reserve is: `auto`, a number of tokens, or a share."""
    number = text.removesuffix("%")
    digits = number.isascii() and number.isdigit() and len(number) < 10
    most = 100 if text.endswith("%") else 10**9
    return text == AUTO or (digits and 0 < int(number) <= most)


def reserve_in(text: str, window: int, planned: int) -> int:
    """The tokens that such a text means in a window."""
    if text == AUTO:
        return max(planned, window * AUTO_PERCENT // 100)
    return window * int(text[:-1]) // 100 if text.endswith("%") else int(text)


class ReserveFrom(StrEnum):
    """Who said how large the reserve is."""

    OPTION = "option"
    BASE = "base"
    WORKTREE = "worktree"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Reserve:
    """The room for rules; `planned` is what is planned for them whatever they take.

    `said` tells a person where the number came from.
    """

    tokens: int
    source: ReserveFrom
    planned: int
    said: str = ""


@dataclass(frozen=True, slots=True)
class SettingsOfBase:
    """Whose settings judge a change: the commit, whether it has any, and those of the work tree.

    `worktree` is none where they cannot be read.
    """

    commit: str
    stated: bool
    worktree: Settings | None


def reserve_for(
    settings: Settings,
    window: int | None = None,
    *,
    option: str | int | None = None,
    base: SettingsOfBase | None = None,
) -> Reserve:
    """The reserve by an option, else by the settings: of a change's base, or of the work tree.

    Without a window it is that of the model that reviews.

    Raises:
        UsageError: The option is neither a number of tokens nor a share, or more than the window.
    """
    space = settings.window if window is None else window
    planned = settings.budget.rules
    if option is not None:
        text = str(option)
        if not is_reserve(text):
            raise UsageError(
                f"a reserve of {text!r} is none: write tokens (4000), a share (up to 100%) or auto."
            )
        tokens = reserve_in(text, space, planned)
        if text != AUTO and tokens > space > 0:
            raise UsageError(
                f"a reserve of {text} is more than the window of {space} tokens: write fewer, a "
                "share (10%) or auto."
            )
        return Reserve(tokens, ReserveFrom.OPTION, planned, f"as asked with {text}")
    tokens = settings.reserve_of(space)
    if base is not None:
        source = ReserveFrom.BASE if settings.states("reserve") else ReserveFrom.DEFAULT
        return Reserve(tokens, source, planned, _of_base(settings, base, space))
    if settings.states("reserve"):
        said = f"`reserve: {settings.reserve}` of {settings.place_of('reserve')}"
        return Reserve(tokens, ReserveFrom.WORKTREE, planned, said)
    return Reserve(tokens, ReserveFrom.DEFAULT, planned, f"{_auto(space)}, the default")


def _of_base(settings: Settings, base: SettingsOfBase, window: int) -> str:
    name = f"BASE {base.commit[:12]}"
    if settings.states("reserve"):
        said = f"{name} has `reserve: {settings.reserve}`"
    else:
        lacks = "sets no `reserve`" if base.stated else f"has no {CONFIG_FILE}"
        said = f"{name} {lacks}, so it is {_auto(window)}"
    here = base.worktree
    if here is None:
        return f"{said}; the settings of your work tree cannot be read"
    if here.reserve_of(window) == settings.reserve_of(window):
        return said
    return f"{said}; your work tree says {here.reserve}"


def _auto(window: int) -> str:
    return f"`auto` in a window of {window}"
