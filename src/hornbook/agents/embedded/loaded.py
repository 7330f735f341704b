"""What loaded items show: read anew for each step, so that a step never sees an old file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from hornbook.agents.embedded.actions import load_item
from hornbook.agents.embedded.checks import is_test_gate, verified
from hornbook.agents.embedded.records import StepRecord
from hornbook.agents.embedded.task import StepTask
from hornbook.agents.embedded.workbench import EditRefused, Workbench
from hornbook.gates.values import GateResult

Related = Callable[[Sequence[str]], Sequence[str]]

MOST_RELATED: Final = 5
MOST_LOG_BYTES: Final = 200_000
_HEADING: Final = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_IMPORTS: Final = re.compile(
    r"^\s*(?:import|from|use|mod|require|#include|export .* from|(?:const|let|var) .*require)\b.*$",
    re.MULTILINE,
)
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """Where loaded items come from; `related` tells the neighbours of files, best first."""

    bench: Workbench
    task: StepTask
    related: Related | None = None

    def content(self, record: StepRecord, records: Sequence[StepRecord]) -> str:
        """What the item that a record loaded shows now.

        Raises:
            Refused: It cannot be shown; the message says why.
            Misread: There is no such item.
        """
        given = record.given
        if record.action == "read_file":
            return self._lines(given)
        if record.action == "search":
            hits = self.bench.search(given["pattern"], given.get("paths"))
            return "\n".join(hits) or "nothing fits"
        kind, argument = load_item(given["item"])
        if kind == "full_file":
            return numbered(self.bench.read(argument))
        if kind == "spec_section":
            return _section(self.task.specification, argument)
        if kind == "related_files":
            return self._related()
        return _outputs(records, tests_only=kind == "test_output")

    def _lines(self, given: dict[str, str]) -> str:
        text = self.bench.read(given["path"])
        lines = text.split("\n")
        start, end = int(given.get("start", 1)), int(given.get("end", len(lines)))
        if start > min(end, len(lines)):
            raise EditRefused(
                f"{given['path']} has {len(lines)} lines, none from {start} to {end}."
            )
        return numbered("\n".join(lines[start - 1 : end]), start)

    def _related(self) -> str:
        known = self.related(self.task.files) if self.related is not None else ()
        here = [path for path in known if self.bench.exists(path)]
        paths = (here or related_by_imports(self.bench, self.task.files))[:MOST_RELATED]
        if not paths:
            raise EditRefused("no file imports the task's files or is imported by them.")
        return "\n".join(f"== {path} ==\n{numbered(self.bench.read(path))}" for path in paths)


def numbered(text: str, start: int = 1) -> str:
    """The text with a number before each line."""
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start))


def related_by_imports(bench: Workbench, files: Sequence[str]) -> list[str]:
    """The files that import one of `files`, or are imported by one, as far as their names tell."""
    stems = {PurePosixPath(path).stem for path in files}
    named = {word for path in files if bench.exists(path) for word in _imported(bench.read(path))}
    found: list[str] = []
    for path in bench.files():
        if path in files:
            continue
        try:
            imports = stems & _imported(bench.read(path))
        except EditRefused:
            continue  # a binary file imports nothing
        if imports or PurePosixPath(path).stem in named:
            found.append(path)
    return found


def whole_output(gate: GateResult) -> str:
    """All that a gate said: its log where that is still there, else what was kept of it."""
    log = Path(gate.log) if gate.log else None
    if log is None or not log.is_file():
        return gate.output or gate.message
    with log.open("rb") as file:
        return file.read(MOST_LOG_BYTES).decode("utf-8", "replace")


def last_error(records: Sequence[StepRecord]) -> StepRecord | None:
    """The newest step that ended with an error."""
    return next((record for record in reversed(records) if record.error), None)


def _imported(text: str) -> set[str]:
    return {word for line in _IMPORTS.findall(text) for word in _WORD.findall(line)}


def _section(specification: str, wanted: str) -> str:
    """The section whose heading is, or whose id starts, `wanted`; else the lines that name it."""
    heads = list(_HEADING.finditer(specification))
    for index, head in enumerate(heads):
        words = head[2].lower()
        if wanted.lower() not in {words, _slug(words), words.split()[0].rstrip(":.")}:
            continue
        level = len(head[1])
        end = next((each.start() for each in heads[index + 1 :] if len(each[1]) <= level), None)
        return specification[head.start() : end].strip()
    naming = [line for line in specification.split("\n") if wanted.lower() in line.lower()]
    if naming:
        return "\n".join(naming)
    names = ", ".join(_slug(head[2].lower()) for head in heads[:20])
    raise EditRefused(f"no section {wanted!r} in the specification; there are: {names or 'none'}.")


def _slug(heading: str) -> str:
    return "-".join(_WORD.findall(heading))


def _outputs(records: Sequence[StepRecord], *, tests_only: bool) -> str:
    verification = verified(records)
    shown = (
        [gate for gate in verification.gates if is_test_gate(gate)]
        if tests_only
        else verification.failing
    )
    parts = [f"== {gate.name}: {gate.status} ==\n{whole_output(gate)}" for gate in shown]
    if not tests_only and (failed := last_error(records)) is not None:
        parts.insert(0, f"== step {failed.step}: {failed.action} ==\n{failed.error}")
    if not parts:
        raise EditRefused("no gate has run tests." if tests_only else "there is no error.")
    return "\n".join(parts)
