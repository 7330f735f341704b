"""Whether a developer can read what only the reviewer is to know."""

import os
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

RUN = 40
_STRIDE = RUN // 2
_LARGEST = 16 * 1024 * 1024
# Linked from the user's own work tree: no text of the repository.
_DEPENDENCIES = frozenset({".git", ".venv", "venv", "node_modules", ".tox", ".nox", ".yarn"})
_FEWEST_LETTERS = 8
_SILENT = string.punctuation + string.whitespace


@dataclass(frozen=True, slots=True)
class Leak:
    """A run of a rule's text that the developer can read, and where."""

    where: str
    rule_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Blindness:
    """What a developer can read of the rules.

    `leaks` are runs that it must not; `host_files` are rule files that a coding agent's host
    loads by itself, which stay and are only told.
    """

    leaks: tuple[Leak, ...]
    host_files: tuple[str, ...]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """Where in a text a run of a rule stands."""

    rule_id: str
    start: int
    end: int


class RuleTexts:
    """Rules to look for: knows whether a text shares a run of 40 characters with one of them.

    A run that has hardly a letter, such as a ruler or a table's frame, says nothing.
    """

    def __init__(self, rules: Mapping[str, str]) -> None:
        self._rules = dict(sorted(rules.items()))
        # Hashes alone, since very many pieces are kept and hardly one is ever met.
        self._marks = frozenset(
            hash(text[place : place + _STRIDE])
            for text in self._rules.values()
            for place in range(len(text) - _STRIDE + 1)
            if text[place : place + _STRIDE].strip(_SILENT)
        )

    @property
    def rules(self) -> Mapping[str, str]:
        """The rules, by their ids."""
        return self._rules

    @cached_property
    def digest(self) -> str:
        """Tells these rules from others."""
        parts = [part for each in self._rules.items() for part in each]
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def runs(self, text: str) -> Iterator[Passage]:
        """Every run of a rule that the text holds, by where it begins to be found.

        Every run of 40 covers one of the text's pieces of 20, so only those are looked up.
        """
        marks = self._marks
        places = range(0, len(text) - _STRIDE + 1, _STRIDE)
        met = [place for place in places if hash(text[place : place + _STRIDE]) in marks]
        covered: dict[str, int] = {}
        for place in met:
            for rule_id, rule in self._rules.items():
                if place < covered.get(rule_id, 0):
                    continue
                found = _passage(rule, text, place)
                if found is not None:
                    covered[rule_id] = found[1]
                    yield Passage(rule_id, *found)

    def leaks(self, where: str, text: str) -> Iterator[Leak]:
        """The first run of each rule that the text holds."""
        told: set[str] = set()
        for each in self.runs(text):
            if each.rule_id not in told:
                told.add(each.rule_id)
                yield Leak(where, each.rule_id, text[each.start : each.end])

    def covers(self, passage: str) -> bool:
        """Whether these texts show a passage, but for pieces that are too short to be a run."""
        place = 0
        for each in sorted(self.runs(passage), key=lambda each: each.start):
            if each.start - place >= RUN:
                return False
            place = max(place, each.end)
        return len(passage) - place < RUN

    def without(
        self, text: str, is_known: Callable[[str], bool] = lambda _: False
    ) -> tuple[str, tuple[str, ...]]:
        """The text with a word in the place of each run, and the rules that stood there.

        What is known anyway stays.
        """
        every = sorted(self.runs(text), key=lambda each: (each.start, -each.end))
        found = [each for each in every if not is_known(text[each.start : each.end])]
        pieces: list[str] = []
        place = 0
        for each in found:
            if each.end <= place:
                continue
            if each.start >= place:
                pieces += [text[place : each.start], f"[a passage of {each.rule_id}]"]
            place = each.end
        ids = tuple(sorted({each.rule_id for each in found}))
        return "".join([*pieces, text[place:]]), ids


def _passage(rule: str, text: str, place: int) -> tuple[int, int] | None:
    """The first run around a place of the text that is long enough and says something."""
    piece = text[place : place + _STRIDE]
    in_rule = rule.find(piece)
    while in_rule >= 0:
        start, end = _run(rule, in_rule, text, place)
        if end - start >= RUN and _says_something(text[start:end]):
            return start, end
        in_rule = rule.find(piece, in_rule + 1)
    return None


def _run(rule: str, in_rule: int, text: str, in_text: int) -> tuple[int, int]:
    """Where in the text the longest run around two places that hold the same begins and ends."""
    before = 0
    while (
        before < min(in_rule, in_text) and rule[in_rule - before - 1] == text[in_text - before - 1]
    ):
        before += 1
    after = 0
    most = min(len(rule) - in_rule, len(text) - in_text)
    while after < most and rule[in_rule + after] == text[in_text + after]:
        after += 1
    return in_text - before, in_text + after


def _says_something(run: str) -> bool:
    """Whether some 40 characters of it hold letters enough to be words."""
    return any(
        sum(map(str.isalnum, run[place : place + RUN])) >= _FEWEST_LETTERS
        for place in range(len(run) - RUN + 1)
    )


def in_files(
    known: RuleTexts,
    folder: Path,
    names: Iterable[str] | None = None,
    *,
    is_host_file: Callable[[str], bool],
) -> Blindness:
    """What files tell of the rules: those of these names, or every one below a folder."""
    leaks: list[Leak] = []
    hosts: list[str] = []
    unread: list[str] = []
    wanted = _files(folder) if names is None else _named(folder, names)
    for path, name in wanted:
        if is_host_file(name):
            hosts.append(name)
            continue
        try:
            data = path.read_bytes()[: _LARGEST + 1]
        except OSError:
            unread.append(name)
            continue
        if len(data) > _LARGEST:
            unread.append(name)
        leaks += known.leaks(name, data.decode("utf-8", "replace"))
    return Blindness(tuple(leaks), tuple(hosts), tuple(unread))


def _named(folder: Path, names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """The files of some names; where one is a link to a folder, all that lies there."""
    for name in sorted(names):
        path = folder / name
        if path.is_dir():
            yield from _files(path, f"{name}/")
        elif path.is_file():
            yield path, name


def _files(folder: Path, above: str = "") -> Iterator[tuple[Path, str]]:
    """Every file that can be read from a folder, by its path there; each folder once."""
    seen: set[Path] = set()
    waiting = [(folder, above)]
    while waiting:
        here, name = waiting.pop()
        real = here.resolve()
        if real in seen:
            continue
        seen.add(real)
        for entry in _entries(here):
            inner = f"{name}{entry.name}"
            if entry.name in _DEPENDENCIES:
                continue
            if entry.is_dir():
                waiting.append((Path(entry.path), inner + "/"))
            elif entry.is_file():
                yield Path(entry.path), inner


def _entries(folder: Path) -> Iterable["os.DirEntry[str]"]:
    with os.scandir(folder) as found:
        return sorted(found, key=lambda each: each.name)
