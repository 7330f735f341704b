"""The sentences, items, cells and blocks of a rule, each with whether it is called bad.

Code in a sentence is taken out and stands there as a number between two marks, so that its own
points and words end no sentence and order nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hornbook.review.evidence.languages import ASKING, FORBIDDING, FORBIDDING_SIGNS
from hornbook.text.tokens import HeuristicCounter

_FORBIDS = re.compile(
    r"\b(?:must not|mustn['’]t|shall not|should not|shouldn['’]t|may not|never|do not|don['’]t|"
    r"does not|doesn['’]t|cannot|can['’]t|avoid\w*|forbid\w*|forbidden|prohibit\w*|bann?(?:ed)?|"
    r"disallow\w*|not (?:be )?(?:allowed|permitted|acceptable|used?)|instead of|"
    rf"rather than|no|none of|without|replace|remove|reject|{FORBIDDING})\b|{FORBIDDING_SIGNS}",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:must|shall|never|always|may\s+not|do\s+not|don['’]t|can['’]t|cannot|(?:is|are)\s+not|"
    r"forbid\w*|prohibit\w*|banned|disallow\w*|required|ha(?:s|ve)\s+to|not\s+allowed|"
    rf"{FORBIDDING}|{ASKING})\b|{FORBIDDING_SIGNS}",
    re.IGNORECASE,
)
_TURNS = re.compile(r"\b(?:use|prefer|call|write|but|with)\b|\binstead\b(?! of)", re.IGNORECASE)
_BAD = re.compile(
    r"\b(?:bad|wrong|incorrect|don['’]?ts?|do not|never|avoid|forbidden|anti-?pattern|invalid|"
    r"must not|should not|not ok)\b|❌|🚫",
    re.IGNORECASE,
)
_GOOD = re.compile(r"\b(?:good|right|correct|prefer\w*|do|instead|valid|ok)\b|✅", re.IGNORECASE)
_FORBIDDEN_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)|(?<![\w.])\.*(\b[\w.]+\(\))")
_FORBIDDEN_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_FORBIDDEN_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+#-]*)")
_FORBIDDEN_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
# Where something is allowed, or is not: no piece of code.
_PLACE = re.compile(
    r"[\w.*-]*/[\w./*-]*|[\w-]+\.(?:css|scss|py|go|jsx?|tsx?|rs|rb|java|md|ya?ml|toml|json)"
)
_AROUND = (
    "{}",
    "{}(",
    "{}()",
    "{}(x)",
    "({})",
    "{} x",
    "{}.x",
    "x.{}",
    "{}: x",
    "{} = x",
    "x {} x",
)
_MOST_LINES = 200
_CALL = re.compile(r"([\w.$:]*\w)\s*\((?:\s*(?:(?:\.\.\.|…)\s*)?\))?")
_FORBIDDEN_REMARK = re.compile(r"^\s*(?:#|//|/?\*|--|<!--).*|\s(?:#|//|--)\s.*")


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A piece of code that a rule forbids: a block, or with no `fence` a few words of a sentence.

    `fence` is the language that the block says it is in, which may be empty; `sentence` is the one
    that forbids the words.
    """

    code: str
    fence: str | None = None
    sentence: str = ""


def forbidden_code(text: str) -> tuple[str, ...]:
    """The pieces of code that a rule's text forbids, in its order."""
    return tuple(dict.fromkeys(each.code for each in forbidden_pieces(text)))


def forbidden_pieces(text: str) -> tuple[Forbidden, ...]:
    """The same, each with where the rule shows it."""
    return tuple(dict.fromkeys(each for each in _forbidden(text) if each.code.strip()))


def forbids(text: str) -> bool:
    """Whether a rule's text forbids anything at all, in code or in words."""
    return _FORBIDS.search(text) is not None


def orders_something(text: str) -> bool:
    """Whether a sentence says what must be, or must not, and not only how things are."""
    return _ORDERS.search(text) is not None


def ways_to_write(code: str) -> Iterator[str]:
    """The texts in which a piece of forbidden code may stand, for a pattern to find it in one."""
    yield from (form.format(code) for form in _AROUND)
    if not code[:1].isalnum():
        yield f"x{code}"
    yield from (line for line in code.splitlines()[:_MOST_LINES] if line.strip())


def stands_in(code: str, line: str) -> bool:
    """Whether a line has a piece of forbidden code, as words of its own and outside of remarks.

    A lone word is code only where it is called or stands as a type: `any` is a word of English too.
    `eval()`, `eval(` and `eval(...)` are any call of it, whatever it is given.
    """
    call = _CALL.fullmatch(code)
    if call is not None:
        form = rf"(?<![\w'\"-]){re.escape(call[1])}\s*\("
        return call[1] in line and re.search(form, _FORBIDDEN_REMARK.sub("", line)) is not None
    if code not in line:
        return False
    said, word = _FORBIDDEN_REMARK.sub("", line), re.escape(code)
    if code.isidentifier():
        form = rf"(?<![\w'\"-]){word}\s*\(|(?:[:<|&]\s*|\bas\s+){word}(?!\w)"
    else:
        form = rf"(?<!\w){word}(?!\w)"
    return re.search(form, said) is not None


def _forbidden(text: str) -> Iterator[Forbidden]:
    prose: list[str] = []
    before = ""
    fence, language, block = "", "", list[str]()
    for line in text.splitlines():
        mark = _FORBIDDEN_FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence):
                if _is_bad(before, block):
                    yield Forbidden("\n".join(block), language)
                fence, block = "", []
            else:
                block.append(line)
        elif mark is not None:
            yield from _of_prose(prose)
            before, prose = (prose[-1] if prose else before), []
            fence, language = mark[1], mark[2].lower()
        elif not line.strip() or _FORBIDDEN_ITEM.match(line) or line.startswith("#"):
            yield from _of_prose(prose)
            before = prose[-1] if prose else before
            prose = [line] if line.strip() else []
        else:
            prose.append(line)
    yield from _of_prose(prose)


def _is_bad(before: str, block: list[str]) -> bool:
    first = next((line for line in block if line.strip()), "")
    for said in (first if first.lstrip().startswith(("#", "//", "/*", "--")) else "", before):
        bad, good = _BAD.search(said), _GOOD.search(said)
        if bad is not None and (good is None or bad.start() <= good.start()):
            return True
        if good is not None:
            return False
    return False


def _of_prose(lines: list[str]) -> Iterator[Forbidden]:
    for sentence in _FORBIDDEN_SENTENCE.split(" ".join(lines)):
        for code in _of_sentence(sentence):
            yield Forbidden(code, sentence=sentence)


def _of_sentence(sentence: str) -> Iterator[str]:
    spans = [
        (found.start(), found.end(), found[2] or found[3])
        for found in _FORBIDDEN_SPAN.finditer(sentence)
        if not _PLACE.fullmatch(found[2] or found[3])
    ]
    forbids = [
        word
        for word in _FORBIDS.finditer(sentence)
        if not any(start <= word.start() < end for start, end, _ in spans)
    ]
    if not spans or not forbids:
        return
    behind = [span for word in forbids for span in _behind(sentence, spans, word.end())]
    taken = behind or [span for span in spans if span[0] < forbids[-1].start()]
    for _, _, code in sorted(set(taken)):
        yield code.strip()


def _behind(
    sentence: str, spans: list[tuple[int, int, str]], start: int
) -> Iterator[tuple[int, int, str]]:
    """The code behind a forbidding word, up to where the sentence says what to do instead."""
    end = start
    for span in spans:
        if span[0] < start:
            continue
        if end != start and _TURNS.search(sentence, end, span[0]):
            return
        yield span
        end = span[1]


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


LONGEST_PART = 100
"""Tokens of a part; a paragraph that is longer is cut into its sentences."""
_OF_PROCESS = re.compile(
    r"\b(?:pull requests?|PRs?|merge requests?|MRs?|commit(?:s|ted|ting)?|branch(?:es)?|git|"
    r"rebas\w+|force-push\w*|amend\w*|release notes?|review(?:er|-bot)?s? (?:threads?|comments?|"
    r"bots?)|bot comments?|comment on)\b",
    re.IGNORECASE,
)
"""What people do around a change: no line of code is about that."""


@lru_cache(maxsize=256)
def parts(text: str) -> tuple[str, ...]:
    """The parts of a page, each of which is about one thing; without what is done around a change.

    A long rule speaks of pull requests, tests, tools and much else, so that its words together
    tell little of a change. A paragraph, an item or a row of it tells more. Each is read with the
    heading and the line that it stands below, and with the code that it shows.
    """
    return tuple(each for each in dict.fromkeys(_page_parts(text)) if not _OF_PROCESS.search(each))


def _page_parts(text: str) -> Iterator[str]:
    heading, lead = "", ""
    for block in _paragraphs(text):
        if _HEADING.match(block):
            heading, lead = block, ""
            continue
        listed = _ITEM.match(block) or _ROW.match(block)
        if not listed:
            lead = block if block.rstrip(" *_").endswith((":", "：")) else ""
        for piece in _short_pieces(block):
            yield "\n\n".join(filter(None, (heading, lead if listed else "", piece)))


def _short_pieces(block: str) -> list[str]:
    has_code = any(map(_FENCE.match, block.split("\n")))
    whole = has_code or HeuristicCounter()(block) <= LONGEST_PART
    return [block] if whole else _SENTENCE.split(block)


def _paragraphs(text: str) -> Iterator[str]:
    """The headings, paragraphs, items and rows, each with the code and the lines that go on."""
    held: list[str] = []
    fence, blank = "", False
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence or mark:
            held.append(line)
            closes = fence and mark is not None and mark[1].startswith(fence)
            fence = "" if closes else fence or (mark[1] if mark else "")
            continue
        if not line.strip():
            blank = True
            continue
        alone = _ITEM.match(line) or _HEADING.match(line) or _ROW.match(line)
        ended = blank and not line.startswith(" ")
        if held and (alone or ended or _HEADING.match(held[0])):
            yield "\n".join(held)
            held = []
        held.append(line)
        blank = False
    if held:
        yield "\n".join(held)
