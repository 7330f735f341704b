"""The prompt that asks for a review: the reviewer's context whole, or a clear refusal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any  # arguments are text, but are read like those of tools

from hornbook.context.prompt import Context
from hornbook.errors import NotFound, UsageError
from hornbook.serve.mcp.arguments import read_arguments
from hornbook.serve.mcp.tool_types import ReviewAsked
from hornbook.serve.mcp.tools import packet
from hornbook.workspace import Workspace

REVIEW_CHANGE = "review_change"
DESCRIPTION = (
    "The reviewer's prompt for a change or for files: every rule that binds, whole, with the "
    "form in which a review must answer."
)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the prompt."""

    name: str
    description: str


ARGUMENTS = (
    Argument("diff", "A change as BASE..HEAD, judged by BASE's rules. Not with files."),
    Argument("files", "Files or globs, one a line or separated by commas. Not with diff."),
    Argument("model", "The model that reviews: its window sets the budgets."),
)


def review_change(work: Workspace, arguments: Mapping[str, str]) -> str:
    """The reviewer's prompt.

    Raises:
        HornbookError: The arguments are wrong, or the prompt cannot be whole: says why, and how
            to split it.
    """
    given: dict[str, Any] = {name: text for name, text in arguments.items() if text.strip()}
    if "files" in given:
        given["files"] = split_files(given["files"])
    context = packet(work, read_arguments(ReviewAsked, given)).context
    if context.text is None:
        raise UsageError(_refusal(context))
    return context.text


def split_files(text: str) -> list[str]:
    """The files in a list of lines or commas; a comma inside braces belongs to a glob."""
    found, word, depth = [], "", 0
    for sign in text:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "\n" or (sign == "," and depth <= 0):
            found.append(word)
            word = ""
        else:
            word += sign
    return [each.strip() for each in (*found, word) if each.strip()]


def _refusal(context: Context) -> str:
    lines = [f"{context.outcome}: the prompt cannot be whole, so there is none."]
    lines += [reason.message for reason in context.reasons]
    lines += [f"group {n}: {', '.join(group)}" for n, group in enumerate(context.split, 1)]
    if context.passes:
        lines.append(f"The tool review_context makes the {len(context.passes)} passes one by one.")
    return "\n".join(lines)


def completions(work: Workspace, argument: str, typed: str) -> list[str]:
    """The values that an argument of the prompt can have, those that begin as typed.

    Raises:
        NotFound: The prompt has no such argument.
    """
    known = [each.name for each in ARGUMENTS]
    if argument not in known:
        raise NotFound(f"{REVIEW_CHANGE} has no argument {argument!r}: it has {', '.join(known)}.")
    if argument != "model":
        return []
    registry = work.settings.registry()
    names = {*registry.endpoints, *registry.capabilities}
    return sorted(name for name in names if name.startswith(typed))
