"""Keys that say nothing to the format they stand in, but were surely meant to."""

from collections.abc import Iterable

from hornbook.rules.document import Problems
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.metadata.keys import KNOWN_KEYS, OWN_KEYS, nearest

SCOPE_KEYS = ("applies_to", "globs", "applyTo", "paths", "fileMatchPattern", "alwaysApply")
"""The keys with which some format says which files a rule binds."""


def tell_misspelt(parts: Parts, names: Iterable[str], problems: Problems) -> None:
    """Tell each unknown key that is near one of `names`: it would silently change a rule."""
    wanted = tuple(names)
    for key in parts.metadata:
        near = None if key in KNOWN_KEYS or key in wanted else nearest(key, wanted)
        if near:
            meant = OWN_KEYS.get(near, near) if "applies_to" in wanted else near
            message = f"`{key}` is no key and was not used: did you mean `{meant}`?"
            problems.warning(parts.lines.get(key), "unknown_key", message)


def tell_foreign(parts: Parts, own: tuple[str, ...], effect: str, problems: Problems) -> None:
    """Tell the scope keys of other formats, where the format's `own` keys are all missing."""
    if any(key in parts.metadata for key in own):
        return
    remedy = f": write `{own[0]}:`" if own else ""
    for key in SCOPE_KEYS:
        if key in parts.metadata:
            message = f"`{key}` is not a key of this format, so the rule {effect}{remedy}."
            problems.warning(parts.lines.get(key), "not_a_key", message)
