"""Small changes in many languages, with attacks on the referee and honest reviews, from data files.

Each world of `tests/data/reviews` has rules, files at the base, and the same files after a `clean`
and after a `bad` change. What judges is pure, so that a world needs no repository: its patches are
made here. In an answer `<<path|words>>` is the place of the first line with these words,
`<<path|words|q>>` that place with the line quoted, `<<path|words|n>>` its number, and
`<<-path|...>>` is on the old side.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Any

import yaml

from hornbook.commits.change import Change
from hornbook.commits.content import FileChange
from hornbook.review.evidence.changed_files import Reviewed, changed_files
from hornbook.review.judge import Case
from hornbook.review.judgement import JudgedRule
from hornbook.text.globs import parse_set

DATA = Path(__file__).parents[1] / "data" / "reviews"
_PLACE = re.compile(r"<<(-?)([^|>]+)\|(.+?)(?:\|([qn]))?>>")

Facts = dict[str, Any]  # Any: what YAML has
Files = dict[str, str]


@dataclass(frozen=True, slots=True)
class Tried:
    """One review of a world: what it prints, over which variant, and what should come of it."""

    world: "World"
    name: str
    variant: str
    attack: bool
    facts: Facts

    @property
    def wanted(self) -> str:
        """The outcome that an honest review deserves."""
        return "rejected" if self.facts.get("reject") else str(self.facts.get("want", "approved"))

    @property
    def printed(self) -> bytes:
        """What the reviewer prints."""
        whole = {
            "verdict": "approved",
            "rejection_type": None,
            "confidence": 0.9,
            "feedback": "Looks good.",
            "sop_review": [self._entry(*each) for each in self.facts["answers"].items()],
            **self.facts.get("top", {}),
        }
        if self.facts.get("reject"):
            whole |= {"verdict": "rejected", "rejection_type": self.facts["reject"]}
            whole["feedback"] = self.facts["feedback"]
        text = json.dumps(_each(whole, self._told), ensure_ascii=False, indent=2)
        return str(self.facts.get("wrap", "@@")).replace("@@", text).encode()

    def _entry(self, name: str, answer: Facts | list[Any]) -> Facts:
        if isinstance(answer, list):
            more = answer[2] if len(answer) > 2 else {}
            answer = {"status": answer[0], "evidence": answer[1], **more}
        return {"sop_id": rule_id(name), "violations": [], **answer}

    def _told(self, text: str) -> str:
        return _PLACE.sub(self._place, text)

    def _place(self, place: re.Match[str]) -> str:
        old, path, words, how = place.groups()
        lines = self.world.files("base" if old else self.variant)[path].split("\n")
        number = next(n for n, line in enumerate(lines, 1) if words in line)
        if how == "n":
            return str(number)
        where = f"{path}:{old}{number}"
        return f"{where} `{lines[number - 1].strip()}`" if how == "q" else where


def rule_id(name: str) -> str:
    """The id that a rule of a world has."""
    return f"source.doc.sops.{name}"


@dataclass(frozen=True, slots=True)
class Texts:
    """The files of a variant, as evidence is looked up in them."""

    files: Files

    def has(self, path: str) -> bool:
        return path in self.files

    def lines(self, path: str) -> list[str]:
        return self.files[path].removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class World:
    """Rules, a base, and what a change makes of it."""

    name: str
    facts: Facts

    def files(self, variant: str) -> Files:
        """The files of a variant by their paths."""
        told = {**self.facts["base"], **(self.facts[variant] if variant != "base" else {})}
        return {path: text for path, text in told.items() if text is not None}

    def tried(self) -> Iterator[Tried]:
        """The reviews of this world."""
        for side in ("attacks", "honest"):
            usual = "bad" if side == "attacks" and "bad" in self.facts else "clean"
            for each in self.facts.get(side, []):
                over = each.get("over", usual)
                yield Tried(self, each["name"], over, side == "attacks", each)

    def case(self, variant: str) -> Case:
        """The change to a variant, as a review of it is judged."""
        old, new = self.files("base"), self.files(variant)
        change = _change(old, new)
        files = changed_files(change, new, lambda file, _: "DO NOT EDIT" in old.get(file.path, ""))
        words = {rule_id(name): each["text"] for name, each in self.facts["rules"].items()}
        changed = {each.path: new[each.path] for each in change.files if each.path in new}
        rules = tuple(
            JudgedRule(
                rule_id(name),
                each["severity"],
                "rev",
                files=tuple(p for p in changed if _binds(each, p)),
                gone=tuple(p for p in old.keys() - new if _binds(each, p)),
            )
            for name, each in self.facts["rules"].items()
        )
        reviewed = Reviewed(Texts(new), changed, words, Texts(old), files)
        return Case(
            rules=tuple(each for each in rules if each.files or each.gone), reviewed=reviewed
        )


def _binds(rule: Facts, path: str) -> bool:
    globs = rule["applies_to"]
    return parse_set([globs] if isinstance(globs, str) else globs).match(path) is not None


def worlds() -> list[World]:
    """All worlds of the data files."""
    return [
        World(each["world"], each)
        for path in sorted(DATA.glob("*.yaml"))
        for each in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def _change(old: Files, new: Files) -> Change:
    """What git would tell of two trees; a file most of which is found elsewhere was renamed."""
    found: list[FileChange] = []
    gone = [path for path in sorted(old) if path not in new]
    moved = {
        path: before
        for path in sorted(new.keys() - old)
        for before in gone
        if SequenceMatcher(None, old[before].split("\n"), new[path].split("\n")).ratio() >= 0.5
    }
    for path in sorted({*old, *new}):
        if path not in new and path not in moved.values():
            found.append(FileChange(path, "D"))
        elif path in new and path not in old:
            before = moved.get(path)
            found.append(FileChange(path, "R" if before else "A", before))
        elif path in new and old[path] != new[path]:
            found.append(FileChange(path, "M"))
    patches = {
        each.path: _patch(old.get(each.before or each.path, ""), new.get(each.path, ""))
        for each in found
    }
    return Change("base", "head", "base", "tree", tuple(found), patches)


def _patch(before: str, after: str) -> str:
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _each(value: Any, change: Any) -> Any:  # Any: JSON
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _each(each, change) for key, each in value.items()}
    return value
