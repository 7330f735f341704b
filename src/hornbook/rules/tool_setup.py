"""What the root of a tree shows about the tools in use, and what follows for single rule files.

A reader says what a file says. Whether its tool would load the file can depend on others: Junie
reads the first of three files, a `rules.md` is Continue's only where Continue is used, a setting
of Gemini gives context files another name. `tool_setup` asks a tree for these facts once, the work
tree and the tree of a commit alike, and `settled` applies them to a reading.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

from hornbook.errors import BadGlob
from hornbook.rules.document import Problem
from hornbook.rules.metadata.block import (
    NotMapping,
    UnreadableBlock,
    load_jsonc,
    load_toml,
    load_yaml,
)
from hornbook.rules.metadata.frontmatter import BOM
from hornbook.rules.readers.protocol import Reading
from hornbook.text.globs import Glob, parse
from hornbook.vocabulary.terms import ENFORCED, Activation, Category, Level

GEMINI_SETTINGS = ".gemini/settings.json"
QWEN_SETTINGS = ".qwen/settings.json"
CODEX_CONFIG = ".codex/config.toml"
AIDER_CONFIG = ".aider.conf.yml"
INSTRUCTING: Mapping[str, str] = {
    **dict.fromkeys(("opencode.json", "opencode.jsonc"), "opencode"),
    **dict.fromkeys((".opencode/opencode.json", ".opencode/opencode.jsonc"), "opencode"),
    **dict.fromkeys(("kilo.json", "kilo.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc"), "kilo"),
}
"""Settings whose `instructions` are paths and patterns of further rules, with their tool."""
NAMING_RULES = frozenset({GEMINI_SETTINGS, QWEN_SETTINGS, CODEX_CONFIG, AIDER_CONFIG, *INSTRUCTING})
"""Settings of tools that make rules of other files."""

_CONTINUE: tuple[str, ...] = (".continue/", ".continuerules", ".continuerc.json")
_QODO: tuple[str, ...] = (".pr_agent.toml", "pr_compliance_checklist.yaml")

_REVIEW_GUIDE = "REVIEW.md"
# What shows Claude Code or Kilo Code. Both keep whole work trees below their folders, so that
# these are not asked for as such.
_REVIEWERS: tuple[str, ...] = (
    *("CLAUDE.md", ".claude/CLAUDE.md", ".claude/settings.json"),
    *(f".claude/{each}/" for each in ("agents", "commands", "rules", "skills")),
    *(path for path, tool in INSTRUCTING.items() if tool == "kilo"),
    *(f".kilo/{each}/" for each in ("agent", "command", "rules", "skills")),
    *(f".kilocode/{each}/" for each in ("rules", "skills", "workflows")),
)

# Files of one tool that it reads only where none of the others is there, the first one first.
_PASSED_OVER: Mapping[str, tuple[str, tuple[str, ...]]] = {
    ".junie/guidelines.md": ("Junie", (".junie/AGENTS.md", "AGENTS.md")),
    ".roorules": ("Roo", (".roo/rules/",)),
    ".roorules-code": ("Roo", (".roo/rules-code/",)),
    ".kilocoderules": ("Kilo Code", (".kilo/rules/", ".kilocode/rules/")),
    ".agent/rules/": ("Antigravity", (".agents/rules/",)),
    # Where a team commits what rulesync makes, that is read; else its sources stand for it.
    ".rulesync/rules/": (
        "Each tool",
        (
            *("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
            *(".github/instructions/", ".cursor/rules/", ".claude/rules/", ".windsurf/rules/"),
            *(".devin/rules/", ".clinerules/", ".roo/rules/", ".kiro/steering/"),
            ".junie/AGENTS.md",
        ),
    ),
}

_RENAMING = {"GEMINI.md": (GEMINI_SETTINGS, "Gemini"), "QWEN.md": (QWEN_SETTINGS, "Qwen")}

ASKED = tuple(
    dict.fromkeys(
        (
            *_CONTINUE,
            *_QODO,
            _REVIEW_GUIDE,
            *_REVIEWERS,
            *(each for path, (_tool, others) in _PASSED_OVER.items() for each in (path, *others)),
            *sorted(NAMING_RULES),
        )
    )
)
"""Paths from the root that matter; one that ends with `/` is a folder with a file in it."""


@dataclass(frozen=True, slots=True)
class ToolSetup:
    """Which of the paths that matter are there, and what tools' settings name.

    `context_names` are Gemini's names of context files (none: the usual one), `aider_reads` the
    files that aider always reads. `folder_names` are pairs of a name and the tool that reads files
    of that name for all below their folders, `instructions` pairs of a pattern and the tool that
    reads what it fits for every file.
    """

    present: frozenset[str] = frozenset()
    context_names: frozenset[str] = frozenset()
    aider_reads: frozenset[str] = frozenset()
    folder_names: frozenset[tuple[str, str]] = frozenset()
    instructions: frozenset[tuple[str, str]] = frozenset()

    def key(self) -> str:
        """A text that differs wherever two setups do."""
        parts = (self.present, self.context_names, self.aider_reads)
        pairs = (self.folder_names, self.instructions)
        return json.dumps([*map(sorted, parts), *map(sorted, pairs)])

    @property
    def names_any(self) -> bool:
        """Whether some tool's settings make rules of other files."""
        named = self.aider_reads or self.context_names or self.folder_names or self.instructions
        return bool(named)

    def names(self, path: PurePosixPath) -> str | None:
        """The tool whose settings make a rule file of one that is none by its place."""
        if str(path) in self.aider_reads:
            return "aider"
        if path.name in self.context_names:
            return "gemini"
        for name, tool in sorted(self.folder_names):
            if path.name == name:
                return tool
        for pattern, tool in sorted(self.instructions):
            if _pattern(pattern).matches(str(path)):
                return tool
        return None


NO_SETUP = ToolSetup()


@lru_cache(maxsize=256)
def _pattern(text: str) -> Glob:
    return parse(text)


def tool_setup(present: Iterable[str], read: Callable[[str], bytes]) -> ToolSetup:
    """The setup of a tree, from those of the paths `ASKED` that are there."""
    found = frozenset(present)

    def held(path: str) -> bytes:
        return read(path) if path in found else b""

    qwen = ((name, "qwen") for name in _context_names(held(QWEN_SETTINGS)))
    codex = ((name, "agents") for name in _fallback_names(held(CODEX_CONFIG)))
    return ToolSetup(
        found,
        frozenset(_context_names(held(GEMINI_SETTINGS))),
        frozenset(_aider_reads(held(AIDER_CONFIG))),
        frozenset((*qwen, *codex)),
        frozenset(
            (pattern, tool)
            for path, tool in INSTRUCTING.items()
            for pattern in _instructed(held(path))
        ),
    )


def present_among(paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths `ASKED` that a list of files shows and that decide anything there."""
    folders = tuple(asked for asked in ASKED if asked.endswith("/"))
    found = set()
    for path in paths:
        if path in ASKED:
            found.add(path)
        elif path.startswith(folders):
            found.update(folder for folder in folders if path.startswith(folder))
    # Where there is no file to pass over, the others may come and go.
    needed: set[str] = set(NAMING_RULES)
    idle: set[str] = set()
    (needed if _REVIEW_GUIDE in found else idle).update(_REVIEWERS)
    for path, (_tool, others) in _PASSED_OVER.items():
        (needed if path in found else idle).update(others)
    return frozenset(found - (idle - needed))


def _context_names(data: bytes) -> list[str]:
    """The names that the settings of Gemini, or of Qwen, give; comments are allowed there."""
    settings = _settings(data)
    context = settings.get("context")
    newer = context.get("fileName") if isinstance(context, dict) else None
    return [name for name in _texts(newer or settings.get("contextFileName")) if "/" not in name]


def _settings(data: bytes) -> Mapping[str, object]:
    try:
        settings = load_jsonc(_text(data) or "{}")
    except UnreadableBlock:
        return {}
    return settings if isinstance(settings, dict) else {}


def _fallback_names(data: bytes) -> list[str]:
    """The names that Codex reads where a folder has no AGENTS.md."""
    try:
        named = load_toml(_text(data)).values.get("project_doc_fallback_filenames")
    except (NotMapping, UnreadableBlock):
        return []
    return [name for name in _texts(named) if "/" not in name]


def is_elsewhere(instruction: str) -> bool:
    """Whether an instruction is an address, or a path of the one who works there."""
    return "://" in instruction or instruction.startswith(("/", "~"))


def instructions_of(settings: Mapping[str, object]) -> list[str]:
    """What settings list under `instructions`."""
    return _texts(settings.get("instructions"))


def _instructed(data: bytes) -> list[str]:
    """The patterns under `instructions`, from the root."""
    found = []
    for text in instructions_of(_settings(data)):
        pattern = f"/{text.removeprefix('./')}"
        if is_elsewhere(text) or not _is_pattern(pattern):
            continue
        found.append(pattern)
    return found


def _is_pattern(text: str) -> bool:
    try:
        parse(text)
    except BadGlob:
        return False
    return True


def _aider_reads(data: bytes) -> list[str]:
    try:
        read = load_yaml(_text(data)).values.get("read")
    except (NotMapping, UnreadableBlock):
        return []
    return [str(PurePosixPath(path)) for path in _texts(read) if not path.startswith(("/", "~"))]


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix(BOM).replace("\r\n", "\n")


def settled(reading: Reading, setup: ToolSetup) -> Reading:
    """The reading, or one that binds nothing where the setup has its tool pass the file over."""
    if reading.activation not in ENFORCED:
        return reading
    problem = _not_shown(reading, setup) or _passed_over(reading.path, setup)
    if problem is None:
        return reading
    category = Category.REFERENCE if "category" in reading.inferred else reading.category
    return replace(
        reading,
        activation=Activation.NEVER,
        category=category,
        problems=(problem, *reading.problems),
    )


def _not_shown(reading: Reading, setup: ToolSetup) -> Problem | None:
    """Why a file of a common name is not taken for a tool's."""
    path = PurePosixPath(reading.path)
    if reading.tool == "continue" and path.name == "rules.md" and ".continue" not in path.parts:
        tool, shows = "Continue", _CONTINUE
    elif reading.tool == "qodo":
        tool, shows = "Qodo", _QODO
    elif reading.tool == "code-review":
        at_root = _REVIEW_GUIDE in setup.present
        tool, shows = "Claude's or Kilo's reviews", _REVIEWERS if at_root else (_REVIEW_GUIDE,)
    else:
        return None
    if not setup.present.isdisjoint(shows):
        return None
    message = f"There is no `{shows[0]}`, so nothing shows that this is a rule of {tool}"
    remedy = "move it to a folder of your rules if it is one"
    return Problem(reading.path, None, "tool_not_shown", Level.INFO, f"{message}: {remedy}.")


def _passed_over(path: str, setup: ToolSetup) -> Problem | None:
    """Why a tool reads another file in the place of this one."""
    folders = (each for each in _PASSED_OVER if each.endswith("/"))
    place = next((each for each in folders if path.startswith(each)), path)
    tool, before = _PASSED_OVER.get(place, ("", ()))
    winner = next((each for each in before if each in setup.present), "").rstrip("/")
    name = path.rpartition("/")[2]
    named = setup.context_names
    if name == "QWEN.md":
        named = frozenset(each for each, whose in setup.folder_names if whose == "qwen")
    if name in {"GEMINI.md", "QWEN.md"} and named and name not in named:
        settings, whose = _RENAMING[name]
        tool, winner = f"By `{settings}` {whose}", ", ".join(sorted(named))
    if not winner:
        return None
    message = f"{tool} reads `{winner}` in its place, so it binds nothing"
    remedy = "put what still holds there, and remove this file"
    return Problem(path, None, "passed_over", Level.INFO, f"{message}: {remedy}.")
