"""Plain texts that bind by their place: AGENTS.md and its like, and files in folders of tools."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata.fields import tell_foreign
from hornbook.rules.readers.imported import (
    RulePlace,
    below,
    beside,
    first_place,
    problems_of,
    read_imported,
)
from hornbook.rules.readers.protocol import ReadBinding, Reader, Reading, SourceFile
from hornbook.vocabulary.terms import Activation


@dataclass(frozen=True, slots=True)
class FolderReader:
    """Reads files of certain names, each for all below its folder."""

    tool: str
    names: frozenset[str]

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the file has one of the names."""
        return path.name in self.names

    def read(self, file: SourceFile) -> Reading:
        """Return what the file says."""
        problems = problems_of(file)
        tell_foreign(file.parts, (), "binds its whole folder", problems)
        if file.path.name == "AGENTS.override.md":
            message = "Codex reads this in the place of its folder's AGENTS.md; other tools do not."
            problems.info(1, "codex_only", message)
        place = beside(file.path)
        return read_imported(file, self.tool, place, place.subtree(), problems)


AGENTS = FolderReader(
    "agents", frozenset({"AGENTS.md", "AGENTS.override.md", "AGENTS.local.md", "AGENT.md"})
)
GEMINI = FolderReader("gemini", frozenset({"GEMINI.md"}))
QWEN = FolderReader("qwen", frozenset({"QWEN.md"}))
WARP = FolderReader("warp", frozenset({"WARP.md"}))
CRUSH = FolderReader("crush", frozenset({"CRUSH.md", "CRUSH.local.md"}))
CODEBUDDY_MEMORY = FolderReader("codebuddy", frozenset({"CODEBUDDY.md"}))
CODE_REVIEW = FolderReader("code-review", frozenset({"REVIEW.md"}))
GOOSE = FolderReader("goose", frozenset({".goosehints"}))


@dataclass(frozen=True, slots=True)
class MisnamedReader:
    """Lists files that are rules but for their names; it is asked after all `formats`.

    Names of another case are found only where the file system ignores case; one in small letters
    in a folder of pages, as of `docs/agents.md`, is not taken for a rule's. Texts in a tool's
    folder of rules are passed over by the tool for their endings.
    """

    formats: tuple[Reader, ...]
    tool: str = "misnamed"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether a file of another name would be a rule here."""
        return bool(_usual_case(path) or self._usual_ending(path))

    def read(self, file: SourceFile) -> Reading:
        """Return a document that binds nothing and says so."""
        problems = problems_of(file)
        usual = _usual_case(file.path)
        if usual:
            said = f"Tools read `{usual}`; a file of this name is read only where case is ignored"
            problems.info(1, "other_case", f"{said}, so it binds nothing: rename it to `{usual}`.")
        else:
            usual = self._usual_ending(file.path)
            said = "The tool of this folder passes over a file of this name, so it binds nothing"
            problems.info(1, "ignored_by_tool", f"{said}: rename it to `{usual}`.")
        never = ReadBinding(Activation.NEVER)
        return read_imported(file, self.tool, beside(file.path), never, problems)

    def _usual_ending(self, path: PurePosixPath) -> str:
        """The name under which a text in a folder of rules would be read; empty if none is."""
        folders = path.parts[:-1]
        stem = _INSTRUCTIONS.sub("", path.name.removesuffix(path.suffix))
        if path.suffix not in _TEXTS or stem.casefold() == "readme":
            return ""
        if _RULE_FOLDERS.isdisjoint(folders) or not any(each.startswith(".") for each in folders):
            return ""
        for name in (f"{stem}{ending}" for ending in _ENDINGS):
            place = path.with_name(name)
            if name != path.name and any(reader.claims(place) for reader in self.formats):
                return name
        return ""


def _usual_case(path: PurePosixPath) -> str:
    """The name of a rule file that a name is but for its case; empty if it is none."""
    usual = _USUAL_NAMES.get(path.name.casefold(), "")
    page = path.name == path.name.lower() and any(map(_holds_pages, path.parts[:-1]))
    return "" if usual == path.name or page else usual


_RULE_FOLDERS = frozenset({"rules", "steering", "guidelines", "instructions", ".clinerules"})
_ENDINGS = (".mdc", ".md", ".instructions.md")
_TEXTS = frozenset({".md", ".mdc", ".mdx", ".markdown", ".txt"})

_INSTRUCTIONS = re.compile(r"\.instructions$", re.IGNORECASE)

# Folders whose files are read by people, and those of tools, where a page may be about an agent.
_PAGES = frozenset(
    {
        "article", "articles", "blog", "book", "content", "contents", "doc", "docs",
        "documentation", "guide", "guides", "help", "integrations", "knowledge", "notes", "pages",
        "posts", "providers", "reference", "references", "site", "skills", "website", "wiki",
    }
)  # fmt: skip


def _holds_pages(folder: str) -> bool:
    return folder.startswith(".") or folder.casefold() in _PAGES


_USUAL_NAMES = {
    each.casefold(): each
    for each in ("AGENTS.md", "AGENT.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", "WARP.md")
}


@dataclass(frozen=True, slots=True)
class NamedFileReader:
    """Reads files that bind everything, where their path or a tool's settings say so."""

    tool: str
    paths: frozenset[str] = frozenset()

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the file lies at one of the paths, which are from the root."""
        return str(path) in self.paths

    def read(self, file: SourceFile) -> Reading:
        """Return what the file says."""
        place = RulePlace((), file.path.parts[:-1])
        whole = ReadBinding(Activation.ALWAYS)
        return read_imported(file, self.tool, place, whole, problems_of(file))


AIDER = NamedFileReader("aider")
OPENCODE = NamedFileReader("opencode")
KILO_INSTRUCTIONS = NamedFileReader("kilo")
QODO = NamedFileReader("qodo", frozenset({"best_practices.md"}))
CODE_ASSIST = NamedFileReader("gemini-code-assist", frozenset({".gemini/styleguide.md"}))
DUO = NamedFileReader("duo", frozenset({".gitlab/duo/chat-rules.md"}))
FIREBASE = NamedFileReader("firebase-studio", frozenset({".idx/airules.md"}))
REPLIT = NamedFileReader("replit", frozenset({"replit.md"}))


@dataclass(frozen=True, slots=True)
class ZedReader:
    """Reads `.rules`, the first of the files of which Zed reads one."""

    tool: str = "zed"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the file is called `.rules`."""
        return path.name == ".rules"

    def read(self, file: SourceFile) -> Reading:
        """Return what the rules say; Zed looks for them at the root only."""
        problems = problems_of(file)
        place = beside(file.path)
        if not place.base:
            return read_imported(file, self.tool, place, place.whole(), problems)
        message = "Zed reads `.rules` at the root only, so this binds nothing"
        problems.info(1, "root_only", f"{message}: write AGENTS.md here if it is for this folder.")
        return read_imported(file, self.tool, place, ReadBinding(Activation.NEVER), problems)


@dataclass(frozen=True, slots=True)
class AlwaysReader:
    """Reads the Markdown files in a folder of a tool that always uses all of them."""

    tool: str
    folder: tuple[str, str]

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a Markdown file in the folder."""
        return path.suffix == ".md" and below(path, *self.folder) is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        tell_foreign(file.parts, (), "binds always", problems)
        place = below(file.path, *self.folder) or RulePlace((), ())
        return read_imported(file, self.tool, place, place.whole(), problems)


AMAZON_Q = AlwaysReader("amazonq", (".amazonq", "rules"))
TABNINE = AlwaysReader("tabnine", (".tabnine", "guidelines"))


_FOR_CODE = ("rules", "rules-code")
# What Roo and Kilo leave out of a folder of rules: caches, copies and files of the system.
_NO_TEXT = frozenset(
    {
        ".bak", ".cache", ".crdownload", ".db", ".dmp", ".dump", ".eslintcache", ".lock", ".log",
        ".old", ".part", ".partial", ".pyc", ".pyo", ".stackdump", ".swo", ".swp", ".temp", ".tmp",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class JunieReader:
    """Reads `.junie/guidelines.md` and `.junie/AGENTS.md`."""

    tool: str = "junie"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is one of the two files."""
        return path.parent.name == ".junie" and path.name in {"guidelines.md", "AGENTS.md"}

    def read(self, file: SourceFile) -> Reading:
        """Return what the guidelines say."""
        place = RulePlace(file.path.parts[:-2], ())
        return read_imported(file, self.tool, place, place.whole(), problems_of(file))


@dataclass(frozen=True, slots=True)
class ModeReader:
    """Reads a folder `rules`, folders `rules-<mode>` and a single file, of Roo or of Kilo Code."""

    tool: str
    folders: tuple[str, ...]
    single: str

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a file in one of the rule folders, or the rule file."""
        if path.name == self.single or path.name.startswith(f"{self.single}-"):
            return True
        place = self._place(path)
        in_rules = place is not None and place.below[:1] and place.below[0].startswith("rules")
        return bool(in_rules) and path.suffix not in _NO_TEXT and path.name != ".DS_Store"

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says; rules for modes other than code bind by hand only."""
        problems = problems_of(file)
        place = self._place(file.path)
        mode = file.path.name.removeprefix(self.single).lstrip("-") if place is None else ""
        if mode and mode != "code":
            place = beside(file.path)
            return self._for_another_mode(file, mode, place, problems)
        if place is None:
            place = beside(file.path)
        elif place.below[0] in _FOR_CODE:
            place = RulePlace(place.base, place.below[place.below[0] == "rules" :])
        else:
            return self._for_another_mode(file, place.below[0], place, problems)
        return read_imported(file, self.tool, place, place.whole(), problems)

    def _place(self, path: PurePosixPath) -> RulePlace | None:
        return first_place(path, *((folder,) for folder in self.folders))

    def _for_another_mode(
        self, file: SourceFile, mode: str, place: RulePlace, problems: Problems
    ) -> Reading:
        message = f"This rule is for the mode of `{mode}` only, so it binds no file."
        problems.info(1, "mode_only", message)
        binding = ReadBinding(Activation.MANUAL)
        return read_imported(file, self.tool, place, binding, problems)


ROO = ModeReader("roo", (".roo",), ".roorules")
KILO = ModeReader("kilo", (".kilo", ".kilocode"), ".kilocoderules")


_PLACEHOLDER = re.compile(r"\[(?:PROJECT_NAME|PRINCIPLE_\d+_NAME)\]")


class SpecKitReader:
    """Reads Spec Kit's constitution, which every one of its commands loads."""

    tool = "spec-kit"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is that of a constitution."""
        return path.parts[-3:] == (".specify", "memory", "constitution.md")

    def read(self, file: SourceFile) -> Reading:
        """Return what the constitution says; the template that nobody filled in says nothing."""
        problems = problems_of(file)
        place = RulePlace(file.path.parts[:-3], ())
        if _PLACEHOLDER.search(file.parts.body) is None:
            return read_imported(file, self.tool, place, place.whole(), problems)
        message = "This is still Spec Kit's template, so it binds nothing: fill its places in."
        problems.info(1, "not_a_rule", message)
        return read_imported(file, self.tool, place, ReadBinding(Activation.NEVER), problems)
