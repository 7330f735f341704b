"""A whole change at a glance: its rules, numbered, and which of them bind each of its files."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from hornbook.cli.output import RANK, counted, harmless, place
from hornbook.cli.rule_lines import (
    id_head,
    inferred_lines,
    pattern_of,
    severity_of,
    unread_lines,
    verdict,
)
from hornbook.cli.screen import Screen
from hornbook.graph.change_answer import ChangeAnswer, ChangedFileAnswer, ChangeRule

LETTERS = {"added": "A", "modified": "M", "deleted": "D", "renamed": "R"}
BINDS, FREE = "●", "·"
WIDEST_GRID = 40
"""How many columns the marks may take; beyond them each file has the numbers of its rules."""
FILES_SHOWN, RULES_SHOWN = 40, 30
"""How much a terminal is shown; where nobody sees the width, nothing is left out."""


def change_lines(
    answer: ChangeAnswer, reserve_said: str, screen: Screen, *, with_ids: bool = False
) -> Iterator[str]:
    """The total beside the reserve, the rules, the files, and what could not be read."""
    span = f"{answer.base[:12]}..{answer.head[:12]}"
    if not answer.files:
        yield from screen.headed(span, "nothing changed")
    else:
        said = verdict(len(answer.rules), answer.tokens, answer.reserve, screen)
        yield from screen.headed(span, f"{counted(len(answer.files), 'file')}, {said}")
        yield from screen.prose(f"the reserve: {reserve_said}")
        yield ""
        yield from _glance(answer, screen, with_ids=with_ids)
    yield from inferred_lines(answer.rules, screen)
    yield from unread_lines(answer.files, screen, with_ids=with_ids)
    for each in answer.notes:
        yield from screen.prose(f"note: {each}")
    idle = answer.files[0].not_enforced if answer.files else ()
    if idle:
        yield f"known but not enforced: {counted(len(idle), 'rule')} (--json has them)"


def _glance(answer: ChangeAnswer, screen: Screen, *, with_ids: bool) -> Iterator[str]:
    rules = sorted(answer.rules, key=lambda rule: (RANK[rule.severity], rule.path, rule.id))
    numbers = {rule.id: number for number, rule in enumerate(rules, 1)}
    most_rules, most_files = len(rules), len(answer.files)
    if screen.width is not None:
        most_rules, most_files = min(most_rules, RULES_SHOWN), min(most_files, FILES_SHOWN)
    if rules:
        yield from _rules(answer, rules[:most_rules], screen, with_ids=with_ids)
        yield from _more_rules(rules[most_rules:])
        yield ""
    yield from _files(answer.files[:most_files], numbers, screen)
    yield from _more_files(answer.files[most_files:], numbers)


def _rules(
    answer: ChangeAnswer, rules: Sequence[ChangeRule], screen: Screen, *, with_ids: bool
) -> list[str]:
    bound: dict[str, dict[str, int | None]] = {}
    for file in answer.files:
        for rule in file.rules:
            bound.setdefault(rule.id, {}).setdefault(pattern_of(rule), rule.pattern_line)
    room = len(str(len(rules)))
    rows = [
        (
            f"{number:>{room}}  {place(rule.path, next(iter(bound[rule.id].values())))}",
            ", ".join(bound[rule.id]),
            severity_of(rule),
            str(rule.tokens),
            str(len(rule.files)),
            *((rule.id,) if with_ids else ()),
        )
        for number, rule in enumerate(rules, 1)
    ]
    heads = ("rule", "pattern", "severity", "tokens", "files", *id_head(with_ids))
    return screen.records(rows, heads)


def _more_rules(rules: Sequence[ChangeRule]) -> Iterator[str]:
    if rules:
        tokens = sum(rule.tokens for rule in rules)
        yield f"and {counted(len(rules), 'more rule')}, {tokens} tokens (--json has all)"


def _files(
    files: Sequence[ChangedFileAnswer], numbers: dict[str, int], screen: Screen
) -> Iterable[str]:
    room = len(str(len(numbers))) + 1
    if len(numbers) * room <= WIDEST_GRID:
        return _grid(files, numbers.values(), [_of(file, numbers) for file in files], room)
    rows = [
        (f"{LETTERS[file.status]}  {file.path}", _ranges(_of(file, numbers)) or "no rule")
        for file in files
    ]
    return screen.records(rows, ("file", "rules"))


def _grid(
    files: Sequence[ChangedFileAnswer],
    numbers: Collection[int],
    held: Sequence[Sequence[int]],
    room: int,
) -> Iterator[str]:
    if numbers:
        yield "   " + "".join(f"{number:>{room}}" for number in numbers)
    for file, mine in zip(files, held, strict=True):
        marks = "".join(f"{BINDS if number in mine else FREE:>{room}}" for number in numbers)
        yield f" {LETTERS[file.status]} {marks}   {harmless(file.path)}"


def _more_files(files: Sequence[ChangedFileAnswer], numbers: dict[str, int]) -> Iterator[str]:
    if files:
        held = _ranges(sorted({number for file in files for number in _of(file, numbers)}))
        bound = f"bound by rules {held}" if held else "bound by no rule"
        yield f"and {counted(len(files), 'more file')}, {bound} (--json has all)"


def _of(file: ChangedFileAnswer, numbers: dict[str, int]) -> list[int]:
    return sorted(numbers[rule.id] for rule in file.rules)


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, those that follow each other as one: 1-3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
