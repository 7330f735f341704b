"""The tools of agent hosts: what they do, and which of them each role has by default."""

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
