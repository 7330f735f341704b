"""What an agent host sends to a hook, and the tools that it has.

Of each tool it is known what it does, and which roles have it unless a team says otherwise.
"""

import json

from hornbook.errors import UsageError
from hornbook.shell.cheap_tuple import NamedTuple


class ToolCall(NamedTuple):
    """A call of a tool that an agent is about to make, or made."""

    session: str
    folder: str
    tool: str
    given: dict[str, object]
    use_id: str


def read_payload(data: bytes) -> dict[str, object]:
    """The payload as a mapping.

    Raises:
        UsageError: It is no JSON object.
    """
    try:
        found = json.loads(data.decode("utf-8"))
    except RecursionError as problem:
        raise UsageError("stdin is nested too deep: send the host's hook payload.") from problem
    except ValueError as problem:
        raise UsageError(
            f"stdin is no JSON ({problem}): send the host's hook payload."
        ) from problem
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise UsageError(f"stdin is a JSON {kind}: send the host's hook payload, an object.")
    return found


def text_of(payload: dict[str, object], key: str, default: str | None = None) -> str:
    """A text of the payload.

    Raises:
        UsageError: It is missing or no text.
    """
    value = payload.get(key, default)
    if not isinstance(value, str):
        found = "is missing" if value is None else f"is a {type(value).__name__}"
        raise UsageError(f"`{key}` {found} in the payload: it must be a text.")
    return value


def tool_call(payload: dict[str, object], folder: str) -> ToolCall:
    """The call of a tool that the payload tells of; `folder` stands in if it names none.

    Raises:
        UsageError: A field is missing or of the wrong kind.
    """
    given = payload.get("tool_input")
    if not isinstance(given, dict):
        found = "is missing" if given is None else f"is a {type(given).__name__}"
        raise UsageError(f"`tool_input` {found} in the payload: it must be an object.")
    tool = text_of(payload, "tool_name")
    if not tool:
        raise UsageError("`tool_name` is empty in the payload: name the tool.")
    return ToolCall(
        session=text_of(payload, "session_id", ""),
        folder=text_of(payload, "cwd", folder) or folder,
        tool=tool,
        given=given,
        use_id=text_of(payload, "tool_use_id", ""),
    )


READING = ["Read", "NotebookRead", "LS", "LSP", "ListMcpResourcesTool", "ReadMcpResourceTool"]
SEARCHING = ["Glob", "Grep", "ToolSearch"]
PLANNING = [
    "TodoRead",
    "TodoWrite",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "EnterPlanMode",
    "ExitPlanMode",
    "AskUserQuestion",
]
SHELL = ["Bash", "BashOutput", "KillShell", "KillBash", "Monitor", "TaskOutput", "TaskStop"]
EDITING = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
"""The tools that change a file, and where their input names it."""

READS_ONLY = frozenset((*READING, *SEARCHING, *PLANNING))
RUNS_COMMANDS = frozenset({"Bash", "Monitor"})
READ_ONLY_ROLES = frozenset({"reviewer", "planner"})

_LOOKING = (*READING, *SEARCHING, *PLANNING, *SHELL)
DEFAULT_TOOLS = {
    "developer": (*_LOOKING, *EDITING),
    "reviewer": _LOOKING,
    "planner": _LOOKING,
}
