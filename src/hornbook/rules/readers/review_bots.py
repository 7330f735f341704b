"""Review services, OpenSpec and opencode: `.greptile/rules.md`, and settings that hold rules.

A settings file holds many rules, each for paths of its own, among much that is none. They are not
taken apart: the file is listed as not enforced, with what it holds, so that nobody takes them for
enforced.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.metadata.block import (
    NotMapping,
    UnreadableBlock,
    load_jsonc,
    load_toml,
    load_yaml,
)
from hornbook.rules.metadata.frontmatter import BOM
from hornbook.rules.readers.imported import RulePlace, problems_of, read_imported
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.rules.tool_setup import INSTRUCTING, instructions_of, is_elsewhere
from hornbook.vocabulary.terms import Activation


class GreptileReader:
    """Reads `.greptile/rules.md`, which binds the folder that holds `.greptile`."""

    tool = "greptile"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is such a file."""
        return path.name == "rules.md" and path.parent.name == ".greptile"

    def read(self, file: SourceFile) -> Reading:
        """Return what the rules say."""
        place = RulePlace(file.path.parts[:-2], ())
        return read_imported(file, self.tool, place, place.whole(), problems_of(file))


@dataclass(frozen=True, slots=True)
class ServiceSettingsReader:
    """Reads a service's settings for whether they hold rules, under one of `keys`.

    `paths` are those of the settings from the root; one that starts with `/` is at any depth.
    `whose` says for whom the rules are.
    """

    tool: str
    paths: frozenset[str]
    keys: frozenset[str]
    whose: str = "a service"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is that of the settings."""
        return str(path) in self.paths or f"/{'/'.join(path.parts[-2:])}" in self.paths

    def read(self, file: SourceFile) -> Reading:
        """Return a document that binds nothing and says what it holds."""
        problems = problems_of(file)
        place = RulePlace(file.path.parts[:-1], ())
        try:
            held = sorted(self.keys & set(_keys(_parsed(file))))
        except UnreadableBlock as error:
            message = f"These settings cannot be read: {error.reason}"
            problems.error(error.line, "bad_settings", f"{message}. Correct the line.")
            binding = ReadBinding(Activation.UNKNOWN)
            return read_imported(file, self.tool, place, binding, problems)
        if held:
            named = ", ".join(f"`{key}`" for key in held)
            message = f"The rules under {named} are for {self.whose} and not enforced here"
            problems.info(1, "rules_not_read", f"{message}: write those that bind as rule files.")
        else:
            problems.info(1, "no_rules", "These settings hold no rules.")
        binding = ReadBinding(Activation.MANUAL if held else Activation.NEVER)
        return read_imported(file, self.tool, place, binding, problems)


class InstructionSettingsReader:
    """Reads settings that name further rules for those that lie outside of the repository.

    What lies in it is a rule of its own, made so by the setup of the tree.
    """

    tool = "opencode"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is that of such settings."""
        return str(path) in INSTRUCTING

    def read(self, file: SourceFile) -> Reading:
        """Return a document that binds nothing and says what is not read."""
        problems = problems_of(file)
        tool, place = INSTRUCTING[str(file.path)], RulePlace(file.path.parts[:-1], ())
        try:
            settings = load_jsonc((file.parts.head + file.parts.body).removeprefix(BOM))
        except UnreadableBlock as error:
            message = f"These settings cannot be read: {error.reason}"
            problems.error(error.line, "bad_settings", f"{message}. Correct the line.")
            return read_imported(file, tool, place, ReadBinding(Activation.UNKNOWN), problems)
        listed = instructions_of(settings) if isinstance(settings, dict) else []
        outside = [each for each in listed if is_elsewhere(each)]
        if outside:
            named = ", ".join(f"`{each}`" for each in outside)
            message = f"What lies outside of the repository is not read: {named}"
            problems.info(1, "rules_not_read", f"{message}. Write what binds as a rule file.")
        else:
            problems.info(1, "no_rules", "These settings hold no rules.")
        binding = ReadBinding(Activation.MANUAL if outside else Activation.NEVER)
        return read_imported(file, tool, place, binding, problems)


def _parsed(file: SourceFile) -> object:
    text = file.parts.head + file.parts.body
    try:
        if file.path.suffix == ".json":
            return json.loads(text.removeprefix(BOM))
        load = load_toml if file.path.suffix == ".toml" else load_yaml
        return load(text.removeprefix(BOM).replace("\r\n", "\n")).values
    except NotMapping:
        return {}
    except json.JSONDecodeError as error:
        raise UnreadableBlock(error.lineno, error.msg) from error
    except RecursionError as error:
        raise UnreadableBlock(1, "it is nested too deep") from error


def _keys(value: object) -> Iterator[str]:
    """Every key, at any depth, that has a value."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            if held:
                yield str(key)
                yield from _keys(held)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


CODERABBIT = ServiceSettingsReader(
    "coderabbit",
    frozenset({".coderabbit.yaml"}),
    frozenset({"path_instructions", "pre_merge_checks", "filePatterns"}),
)
GREPTILE = ServiceSettingsReader(
    "greptile",
    frozenset({"greptile.json", "/.greptile/config.json", "/.greptile/files.json"}),
    frozenset({"rules", "instructions", "files"}),
)
QODO_SETTINGS = ServiceSettingsReader(
    "qodo",
    frozenset({".pr_agent.toml", "pr_compliance_checklist.yaml"}),
    frozenset(
        {
            "pr_compliances",
            "extra_instructions",
            "issues_user_guidelines",
            "compliance_user_guidelines",
        }
    ),
)
DUO_REVIEWS = ServiceSettingsReader(
    "duo",
    frozenset({".gitlab/duo/mr-review-instructions.yaml"}),
    frozenset({"instructions"}),
    whose="GitLab Duo",
)
ELLIPSIS = ServiceSettingsReader(
    "ellipsis", frozenset({"ellipsis.yaml"}), frozenset({"rules", "custom_rules"})
)
CUBIC = ServiceSettingsReader(
    "cubic", frozenset({"cubic.yaml"}), frozenset({"custom_rules", "custom_instructions"})
)
OPENSPEC = ServiceSettingsReader(
    "openspec",
    frozenset({"openspec/config.yaml"}),
    frozenset({"context", "rules", "guidance"}),
    whose="the commands of OpenSpec",
)
