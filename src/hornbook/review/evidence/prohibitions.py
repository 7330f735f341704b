"""The code that a rule forbids, as far as the rule shows it.

A search that finds nothing proves that a rule is kept only if it could have found what the rule
forbids. Rules show that in backticks, in the sentence that forbids it, or in a block of code that
is called bad. From a sentence the code behind the forbidding word is taken, up to where it goes on
to say what to do instead: of "never use `any`, use `unknown`" only `any`. Where nothing stands
behind the word, as in "`eval` is forbidden", it is what stands before. A rule that shows no such
code can be kept and broken in ways that no pattern tells apart. What is taken here is generous: a
search has to find some of it. What a change must not add is read more strictly, in `bans`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hornbook.review.evidence.languages import FORBIDDING, FORBIDDING_SIGNS

_FORBIDS = re.compile(
    r"\b(?:must not|mustn['’]t|shall not|should not|shouldn['’]t|may not|never|do not|don['’]t|"
    r"does not|doesn['’]t|cannot|can['’]t|avoid\w*|forbid\w*|forbidden|prohibit\w*|bann?(?:ed)?|"
    r"disallow\w*|not (?:be )?(?:allowed|permitted|acceptable|used?)|instead of|"
    rf"rather than|no|none of|without|replace|remove|reject|{FORBIDDING})\b|{FORBIDDING_SIGNS}",
    re.IGNORECASE,
)
_TURNS = re.compile(r"\b(?:use|prefer|call|write|but|with)\b|\binstead\b(?! of)", re.IGNORECASE)
_BAD = re.compile(
    r"\b(?:bad|wrong|incorrect|don['’]?ts?|do not|never|avoid|forbidden|anti-?pattern|invalid|"
    r"must not|should not|not ok)\b|❌|🚫",
    re.IGNORECASE,
)
_GOOD = re.compile(r"\b(?:good|right|correct|prefer\w*|do|instead|valid|ok)\b|✅", re.IGNORECASE)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)|(?<![\w.])\.*(\b[\w.]+\(\))")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+#-]*)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
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
_REMARK = re.compile(r"^\s*(?:#|//|/?\*|--|<!--).*|\s(?:#|//|--)\s.*")


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
        return call[1] in line and re.search(form, _REMARK.sub("", line)) is not None
    if code not in line:
        return False
    said, word = _REMARK.sub("", line), re.escape(code)
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
        mark = _FENCE.match(line)
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
        elif not line.strip() or _ITEM.match(line) or line.startswith("#"):
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
    for sentence in _SENTENCE.split(" ".join(lines)):
        for code in _of_sentence(sentence):
            yield Forbidden(code, sentence=sentence)


def _of_sentence(sentence: str) -> Iterator[str]:
    spans = [
        (found.start(), found.end(), found[2] or found[3])
        for found in _SPAN.finditer(sentence)
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
