"""The rules of files as lines for people: where each stands, its pattern, severity and tokens."""

from collections.abc import Iterable, Iterator, Sequence

from hornbook.cli.output import RANK, Styled, coloured, counted, place
from hornbook.cli.screen import Screen
from hornbook.graph.catalog_view import BoundRule, FileAnswer
from hornbook.graph.change_answer import ChangeRule
from hornbook.rules.document import Unread

INFERRED = "*"


def why_lines(
    answers: Sequence[FileAnswer], screen: Screen, *, with_ids: bool = False
) -> Iterator[str]:
    """The rules of each file, what could not be read, notes, and what is not enforced."""
    for answer in answers:
        yield from _file_lines(answer, screen, with_ids=with_ids)
    yield from inferred_lines((rule for answer in answers for rule in answer.rules), screen)
    yield from unread_lines(answers, screen, with_ids=with_ids)
    yield from _note_lines(answers, screen)
    listed = answers[0].not_enforced if answers else ()
    if listed:
        yield f"known but not enforced: {counted(len(listed), 'rule')}"
        rows = [
            (rule.path, rule.activation, rule.reason, *((rule.id,) if with_ids else ()))
            for rule in sorted(listed, key=lambda rule: (rule.path, rule.id))
        ]
        yield from screen.records(rows, ("rule", "activation", "reason", *id_head(with_ids)))


def _file_lines(answer: FileAnswer, screen: Screen, *, with_ids: bool) -> Iterator[str]:
    if not answer.rules:
        yield from screen.headed(answer.path, "no rule binds this file")
        return
    said = verdict(len(answer.rules), answer.tokens, answer.reserve, screen)
    yield from screen.headed(answer.path, said)
    rows = [
        (
            place(rule.path, rule.pattern_line),
            pattern_of(rule),
            severity_of(rule),
            str(rule.tokens),
            *((rule.id,) if with_ids else ()),
        )
        for rule in sorted(answer.rules, key=lambda each: (RANK[each.severity], each.path, each.id))
    ]
    yield from screen.records(rows, ("rule", "pattern", "severity", "tokens", *id_head(with_ids)))


def id_head(with_ids: bool) -> tuple[str, ...]:
    """The head of the column of ids, where they are asked for."""
    return ("id",) if with_ids else ()


def verdict(rules: int, tokens: int, reserve: int, screen: Screen) -> str:
    """How many rules there are, and whether they fit the room that a review has for them."""
    fits = tokens <= reserve
    said = screen.styled("fits", "green") if fits else screen.styled("does not fit", "red")
    return f"{counted(rules, 'rule')}, {tokens} of {reserve} tokens, {said}"


def pattern_of(rule: BoundRule) -> str:
    """The pattern that binds a rule, as it stands in its file."""
    return rule.pattern if rule.activation != "always" else f"{rule.pattern} (always)"


def severity_of(rule: BoundRule | ChangeRule) -> Styled:
    """A rule's severity in its colour, marked where the rule does not state it itself."""
    said = coloured(rule.severity)
    return Styled(f"{said}{INFERRED}", said.style) if rule.inferred else said


def inferred_lines(rules: Iterable[BoundRule | ChangeRule], screen: Screen) -> list[str]:
    """What the mark beside a severity means, where there is one."""
    if not any(rule.inferred for rule in rules):
        return []
    return screen.prose(f"{INFERRED} the severity is inferred from the words of the rule.")


def unread_lines(answers: Iterable[FileAnswer], screen: Screen, *, with_ids: bool) -> Iterator[str]:
    """What should bind the files and could not be read, each once."""
    missing: dict[tuple[str, str, str], list[str]] = {}
    for answer in answers:
        for each in answer.left_out:
            missing.setdefault((each.path, each.reason, each.id), []).append(answer.path)
    for (path, reason, rule_id), files in sorted(missing.items()):
        why = f"{reason}, {rule_id}" if with_ids else reason
        where = files[0] if len(files) == 1 else counted(len(files), "file")
        said = f"not read, though it should bind {where}"
        if reason == Unread.NOT_PROSE:
            said = f"named by a rule for {where}, no text and no part of it"
        yield from screen.prose(f"{said}: {path} ({why})")


def _note_lines(answers: Iterable[FileAnswer], screen: Screen) -> Iterator[str]:
    rules = {rule.path: rule for answer in answers for rule in answer.rules}
    for path in sorted(rules):
        for said in _notes(rules[path]):
            yield from screen.prose(f"note: {path}: {said}")


def _notes(rule: BoundRule) -> Iterator[str]:
    yield from rule.notes
    if rule.also:
        yield f"the same text stands in {', '.join(rule.also)}."
    if rule.includes:
        yield f"it includes {', '.join(rule.includes)}."
