"""What stands in the empty sections of an exploration's file: words for its author, never content.

A line counts as guidance only in its own section and as a whole. Whoever reads a plan's file drops
it, so that it is no part of the plan: not in an event, a hash, the graph, a guard or a prompt.
"""

from collections.abc import Mapping

GUIDANCE: Mapping[str, tuple[str, ...]] = {
    "situation": ("What exists now. Entity references to existing code/specs.",),
    "mission": ("What we're doing and why. Success criteria.",),
    "execution": ("Approach and sketch. Architectural decisions.",),
    "constraints": (
        "- IN: what's in scope",
        "- OUT: what's excluded",
        "- DO NOT TOUCH: files/systems that must not be modified",
    ),
    "coordination": ("Dependencies, sequencing, entity references.",),
}


def guidance(section: str) -> str:
    """The guidance of a section, by its name in any case."""
    return "\n".join(GUIDANCE[section.lower()])


def is_guidance(section: str, line: str) -> bool:
    """Whether a line is guidance of its section; an editor may have curled its quotes."""
    return line.strip().replace("\u2019", "'") in GUIDANCE.get(section.lower(), ())
