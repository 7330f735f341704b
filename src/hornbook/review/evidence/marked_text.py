"""The sentences, items, cells and blocks of a rule, each with whether it is called bad.

Code in a sentence is taken out and stands there as a number between two marks, so that its own
points and words end no sentence and order nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

BAD = re.compile(
    r"\b(?:bad|wrong|incorrect|don['’]?ts?|do\s+not|never|avoid|forbidden|banned|prohibited|"
    r"disallowed|blocked|rejected|not\s+(?:allowed|permitted|ok|this)|anti-?patterns?|invalid|"
    r"must\s+not|"
    r"should\s+not|instead\s+of)\b|[❌🚫✗✘⛔]",
    re.IGNORECASE,
)
GOOD = re.compile(
    r"\b(?:good|right|correct|prefer\w*|do|dos|instead(?!\s+of)|valid|ok|allowed|use)\b|[✅✓]",
    re.IGNORECASE,
)
_NOT_GOOD = re.compile(
    r"\b(?:do\s+not|don['’]ts?|never|not)(?:\s+(?:allowed|permitted|ok|use|do|right|valid))?\b",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)|(?<![\w.`/-])([A-Za-z_][\w.]*\(\)|"
    # What nobody but a programmer writes: `pull_request_target`, `!important`, `0.0.0.0/0`.
    r"(?!(?:\w+_)?(?:CASE|case)\b)[A-Za-z]\w*_[A-Za-z]\w*|!important\b|@?ts-(?:ignore|nocheck|"
    r"expect-error)\b|"
    r"eslint-disable[\w-]*|\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?|"
    r"[A-Z]{2,5}-?\d[\d.]*\b|--[a-z][a-z-]+[a-z]\b|[a-z]\w*(?:::\w+)+)",
    re.DOTALL,
)
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!e\.g\.)(?<!i\.e\.)\s+(?=\S)", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6}\s+")
_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")
_EMPHASIS = re.compile(r"\*\*|__(?=\W|$)|(?<=\W)__")
_LEAD_WORDS = 6
_REMARK = re.compile(r"\s*(?:#|//|/\*|--)\s*(.*)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with its `codes`, or the lines of a `block` and whether it is called bad.

    `listed` stands below a line or a heading that forbids what follows, and what is `praised`
    below one that asks for it; a `title` is a heading.
    """

    text: str = ""
    codes: list[str] = field(default_factory=list)
    listed: bool = False
    block: tuple[str, ...] | None = None
    bad: bool = False
    praised: bool = False
    title: bool = False


def mood(said: str) -> bool | None:
    """Whether a line calls what follows bad (True) or good (False); None if neither, or both."""
    bad = BAD.search(said) is not None
    good = GOOD.search(_NOT_GOOD.sub(" ", said)) is not None
    return None if bad == good else bad


def passages(text: str) -> Iterator[Passage]:
    """The passages of a rule's text, in its order."""
    reader = _Reader()
    for line in text.splitlines():
        yield from reader.line(line)
    yield from reader.end()


class _Reader:
    """Reads line by line, and keeps what was said of what follows."""

    def __init__(self) -> None:
        self._prose: list[str] = []
        self._listed = False
        self._item = False
        self._heading: bool | None = None
        self._lead: bool | None = None
        self._before = ""
        self._fence = ""
        self._block: list[str] = []
        self._columns: list[bool | None] | None = None

    def line(self, line: str) -> Iterator[Passage]:
        """What a line ends."""
        fence = _FENCE.match(line)
        if self._fence:
            if fence is not None and fence[1].startswith(self._fence):
                yield from self._of_block()
            else:
                self._block.append(line)
            return
        row = _ROW.match(line)
        self._columns = self._columns if row is not None else None
        item, heading = _ITEM.match(line), _HEADING.match(line)
        if fence or row or item or heading or not line.strip():
            yield from self.end()
        if fence is not None:
            self._fence = fence[1]
        elif row is not None:
            yield from self._of_row(row[1])
        elif heading is not None:
            yield from self._of_heading(line)
        elif line.strip():
            self._item = self._item or item is not None
            self._prose.append(line[item.end() if item is not None else 0 :].strip())

    def _of_heading(self, line: str) -> Iterator[Passage]:
        self._heading, self._lead = mood(line), None
        self._prose = [_HEADING.sub("", line)]
        yield from (replace(each, title=True) for each in self.end())

    def end(self) -> Iterator[Passage]:
        """What was read and not told yet."""
        said, item = " ".join(self._prose), self._item
        self._prose, self._item = [], False
        if not said:
            return
        if not item:
            self._lead = mood(said) if _is_lead(said) else None
        self._before = said
        bad = self._lead if self._lead is not None else self._heading
        yield from _sentences(said, listed=item and bad is True, praised=item and bad is False)

    def _of_block(self) -> Iterator[Passage]:
        block, self._block, self._fence = self._block, [], ""
        first = next((line for line in block if line.strip()), "")
        remark = _REMARK.match(first)
        judged = mood(remark[1]) if remark is not None else None
        if judged is None:
            judged = mood(self._before)
        if judged is None:
            judged = self._heading
        yield from _parts(block, judged)

    def _of_row(self, row: str) -> Iterator[Passage]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)]
        if self._columns is None:
            self._columns = [mood(cell) for cell in cells]
            return
        if _RULE.match(row):
            return
        judged = [mood(cell) for cell in cells] if not any(self._columns) else []
        for place, (cell, bad) in enumerate(zip(cells, self._columns, strict=False)):
            told_off = place == 0 and True in judged[1:]
            praised = (place == 0 and False in judged[1:]) or any(self._columns)
            if cell and bad is not False:
                listed = bad is True or told_off
                yield from _sentences(cell, listed=listed, praised=praised and not listed)


def _is_lead(said: str) -> bool:
    """Whether a line introduces what follows: it ends in a colon, or is short and no sentence."""
    end = said.rstrip(" *_")
    return end.endswith((":", "：")) or (
        len(end.split()) <= _LEAD_WORDS and not end.endswith((".", "!", "?", ";"))
    )


def _parts(block: list[str], judged: bool | None) -> Iterator[Passage]:
    """A block cut where a remark changes what is said of it; a line may be judged at its end."""
    held: list[str] = []
    bad = judged is True
    for line in block:
        remark = re.search(r"(?:^|\s)(?:#|//|/\*|--)\s*(.*)", line)
        said = mood(remark[1]) if remark is not None else None
        if said is None or remark is None:
            held.append(line)
        elif remark.start() == 0 or not line[: remark.start()].strip():
            yield Passage(block=tuple(held), bad=bad)
            held, bad = [], said
        else:
            yield Passage(block=(line[: remark.start()],), bad=said)
    yield Passage(block=tuple(held), bad=bad)


def _sentences(said: str, *, listed: bool, praised: bool = False) -> Iterator[Passage]:
    codes: list[str] = []

    def numbered(span: re.Match[str]) -> str:
        codes.append(span[2] or span[3])
        return f"\ue000{len(codes) - 1}\ue001"

    plain = _EMPHASIS.sub("", _SPAN.sub(numbered, said.replace("\ue000", "").replace("\ue001", "")))
    for place, sentence in enumerate(_SENTENCE.split(plain)):
        yield Passage(sentence, codes, listed and place == 0, praised=praised)
