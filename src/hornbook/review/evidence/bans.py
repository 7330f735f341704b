"""What a rule orders not to write: the code that it names, and under which conditions.

Rules forbid code in many phrases: "never use `any`", "`eval` is forbidden", "use `a` instead of
`b`", "MUST NOT call eval", a list below "Forbidden:", a column of a table that is headed "Bad", a
block that is called wrong. Each is read into a `Ban`. That something "does not return `None`" is
no order, and "don't forget `super()`" forbids nothing: so only verbs count that put code into a
file. A ban is `firm` where no condition is attached to it that only a reader can judge, such as
"unless", "when" or "in loops".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from hornbook.review.evidence.ban_phrases import (
    AGAIN,
    DECLARED,
    DENIED,
    DIRECT,
    FILL,
    LIST,
    MAY,
    NOT,
    NOUNS,
    PHRASES,
    TOLD_OFF,
    C,
    concepts,
    in_tests,
)
from hornbook.review.evidence.file_kinds import words_of
from hornbook.review.evidence.marked_text import Passage, passages

_LONGEST = 2000
"""Letters of a sentence that are looked at."""


@cache
def _form(pattern: str) -> re.Pattern[str]:
    """A pattern, made when it is first needed: most rules need few."""
    return re.compile(pattern, re.IGNORECASE)


def _found(phrases: Iterable[tuple[str, str]], said: str) -> Iterator[re.Match[str]]:
    for cue, phrase in phrases:
        if _form(cue).search(said):
            yield from _form(phrase).finditer(said)


_DECLARE = rf"{NOUNS}\s+{DECLARED}"
_ITEM = rf"^\W*(?:(?P<verb>{DIRECT})\s+)?{FILL}{LIST}"
_PIPED = ("pip", rf"{NOT}\s+pip(?:e|ing)\s+{C}\s+(?:in)?to\s+{C}")
# What stands behind the code and says when it is forbidden.
_UNLESS = re.compile(
    r"\b(?:unless|except|if|when(?:ever)?|while|where|until|only|other\s+than|apart\s+from|alone|"
    r"on\s+its\s+own|by\s+itself|more\s+than|between|inside|within|before|after|both|twice|again|"
    r"to\s+[a-z]+|on\s+[a-z]+|with\s+an?\s+[a-z]+|first|last|"
    r"needlessly|unnecessar\w+|excessive\w*)\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"^\s*(?:\+|&|plus\b)")
_IF = re.compile(r"^\W*(?:if|when|where|while|unless|during|after|before|once)\b", re.IGNORECASE)
_IN_FRONT = re.compile(
    r"^\W*(?:in|inside|within|on|for)\s+(?:the\s+|our\s+)?([a-z-]+)", re.IGNORECASE
)
_THEM = re.compile(r"\b(?:it|them)\s+\W*$", re.IGNORECASE)
_WITHOUT = re.compile(
    rf"^\W*(?:[a-z]+\W+){{0,2}}?without\s+(?:(?:a|an|the)\s+)?(?:{C}|([\w-]+))", re.IGNORECASE
)
_WITH = re.compile(rf"^\s*(?:[a-z]+\s+)?(?:with|together\s+with|on|to)\s+{FILL}{C}", re.IGNORECASE)
_OUTSIDE = re.compile(
    rf"^\W*(?:[a-z]+\W+){{0,2}}?outside\s+(?:of\s+)?(?:the\s+)?(?:{C}|([\w/-]+))", re.IGNORECASE
)
_IN = re.compile(
    r"^\W*(?:[a-z]+\W+){0,2}?(?:in|from|inside|within)\s+(?:(?:the|a|an|our|your|any|all|this|"
    r"these|new)\s+)*"
    r"([a-z-]+(?:\s+[a-z-]+)?)",
    re.IGNORECASE,
)
_IN_FOLDER = re.compile(rf"^\W*in(?:side)?\s+(?:the\s+)?{C}", re.IGNORECASE)
_ANYWHERE = re.compile(
    r"^(?:(?:production|library|merged|committed|new|application|shared|public|server|client|"
    r"source|project|backend|frontend)\b|(?:code(?:base)?|repo(?:sitory)?|project|packages?|"
    r"modules?|files?|crates?|app|here|any\s+form|general|favou?r)\b)",
    re.IGNORECASE,
)
_NO_TESTS = re.compile(r"\b(?:production|non-test|library|application)\b", re.IGNORECASE)
_NOT_IN_TESTS = re.compile(
    r"\b(?:except|outside|other\s+than|apart\s+from|but)\s+(?:of\s+)?(?:in\s+|for\s+|"
    r"from\s+)?(?:\w+\s+)?tests?\b",
    re.IGNORECASE,
)
_TESTS = re.compile(
    r"\b(?:in|for|inside|within)\s+(?:\w+\s+){0,2}?tests?\b(?!\s+(?:or|and)\b)", re.IGNORECASE
)
_TURN = re.compile(r"[.;]|,\s*(?:use|prefer|call|write|but|instead)\b|\binstead\b", re.IGNORECASE)
# Names of files, and words that stand for values: no order not to write these means all of them.
_FILE = re.compile(
    r"[\w./*-]*\.(?:py|pyi|go|jsx?|tsx?|rs|java|md|mdx|json|ya?ml|toml|cfg|ini|txt|lock|env|pem|"
    r"key|sql|html|css|csv|sh|rb|php|snap)|\.env[\w.]*|node_modules/?|[\w.-]+/(?:[\w.*-]+/)*|~.*",
    re.IGNORECASE,
)
_VALUES = words_of("none true false null nil undefined self this str int bool string main")
_SHORTEST = 2
_ASPECTS = (
    ("import", re.compile(r"import", re.IGNORECASE)),
    ("raise", re.compile(r"rais|throw", re.IGNORECASE)),
    ("catch", re.compile(r"catch|caught|rescu|swallow", re.IGNORECASE)),
    ("return", re.compile(r"return", re.IGNORECASE)),
)
REMARKS = re.compile(
    r"^(?:#|//|/\*|--\s|<!--)|\b(?:todo|fixme|xxx|hack|noqa|nosec|nolint|pragma)\b|"
    r"\b(?:ignore|disable)\b|@ts-|eslint-|prettier-",
    re.IGNORECASE,
)
_SAID_REMARK = re.compile(
    r"^\s+(?:style\s+)?(?:comments?|remarks?|pragmas?|suppressions?|markers?)\b", re.IGNORECASE
)
# Code that is named without backticks.
_NAME = r"[A-Za-z_$][\w.$]*\w"
_LIKE_CODE = re.compile(r"\w[._]\w|[a-z][A-Z]|^__")
_AND = re.compile(r"\s*(?:,|\bor\b|\band\b|\bnor\b)\s*", re.IGNORECASE)
_NAMES = rf"(?P<names>{_NAME}(?:\s*(?:,|\bor\b|\band\b|\bnor\b)\s*{_NAME})*)"
_BEHIND = (
    r"(?=\s*[.,;:!?)]?(?:\s+(?:for|in|on|with|to|as|at|from|outside|inside|anywhere|directly|here|"
    r"calls?|functions?|statements?)\b|\s*$)|\s*[.,;:!?)])"
)
_IN_WORDS = (
    (
        rf"(?:{DENIED}).*(?:call|use|invoke|import|set|assign)",
        rf"{NOT}\s+(?P<verb>call|use|invoke|import|set|assign\s+to)\s+(?:the\s+)?{_NAMES}{_BEHIND}",
    ),
    (
        rf"\bno(?:\s|thing|body).*\b{MAY}\b",
        (
            r"\bno(?:thing|body|\s+one|\s+[a-z-]+(?:\s+[a-z-]+)?)\b[^.;]{0,40}?\b"
            rf"{MAY}\s+(?P<verb>call|use|invoke|import|set)\s+(?:the\s+)?{_NAMES}{_BEHIND}"
        ),
    ),
    (
        TOLD_OFF,
        (
            r"^\W*(?:the\s+)?(?:(?:function|method|call|module|package|library|attribute|"
            r"property)s?"
            rf"\s+)?{_NAMES}\s+{DECLARED}"
        ),
    ),
)
_TYPE = (
    r"\btypes?\b",
    (
        rf"{NOT}\s+use\s+(?:the\s+)?(?:type\s+(?P<b>any)\b|(?P<a>any)\s+types?\b)|"
        rf"\b(?:the\s+)?type\s+(?P<c>any)\s+{DECLARED}"
    ),
)
_TODO = re.compile(
    r"(?i:\b(?:no|never|not|avoid|remove|without)\s+(?:[a-z]+\s+){0,3})"
    r"(?P<todo>TODO|FIXME|XXX|HACK)s?\b"
)
_PRONOUNS = words_of("it this that these those them one any anything everything he she they you we")
_KEYWORDS = words_of("enum lambda goto global var eval debugger")
_KEYWORD = (
    rf"(?:{DENIED}).*use\s",
    rf"{NOT}\s+use\s+(?:the\s+)?(?P<word>[a-z]+?)s?(?:\s+statements?)?\s*(?:[.,;:!]|$)",
)


@dataclass(frozen=True, slots=True)
class Ban:
    """A piece of code that a rule orders not to write.

    `aspect` says what of it is forbidden: the code, to `call`, `import`, `raise`, `catch` or
    `return` it, as a `type`, in a `remark`, word for word as a `text`, or as a whole `line`.
    `along` must stand beside it, `lacking` excuses it; `outside` is where it is allowed and
    `within` where alone it is not; `tests` tells whether tests alone, or all but tests are meant.
    """

    code: str
    aspect: str = "code"
    firm: bool = True
    along: str = ""
    lacking: str = ""
    outside: str = ""
    within: str = ""
    tests: bool | None = None


@lru_cache(maxsize=256)
def bans(text: str) -> tuple[Ban, ...]:
    """What a rule's text orders not to write, in its order; the firmer of two that are alike."""
    found: dict[tuple[str, str], Ban] = {}
    praised: set[str] = set()
    before = Passage()
    good: set[str] = set()
    bad: list[str] = []
    others: set[str] = set()
    told = list(passages(text))
    for passage in told:
        others.update(code.strip() for code in passage.codes)
        if passage.block is not None:
            lines = {_plain(line) for line in passage.block}
            if passage.bad:
                bad += passage.block
                found.update(_of_short_block(passage.block))
            else:
                good |= lines
            continue
        praised.update(_praised(passage))
        for ban in (*_of_passage(passage), *_of_the_same(passage, before)):
            known = found.get((ban.code, ban.aspect))
            if known is None or (ban.firm and not known.firm):
                found[ban.code, ban.aspect] = ban
        before = passage
    for ban in _of_blocks(bad, good):
        found.setdefault((ban.code, ban.aspect), ban)
    return tuple(
        _as_written(ban, others)
        for ban in found.values()
        if ban.code not in praised and (ban.firm or ban.code not in EVERYWHERE)
    )


EVERYWHERE = words_of(
    "return break continue pass if else elif for while try with in is not and or def function func "
    "fn class self this all none nil true false string int str bool"
)
"""Words that nearly every change adds: nobody has to speak of each `return`, because a rule says
that `finally` contains none."""


_PRAISE = rf"^\W*(?:always\s+|please\s+)?(?:use|prefer)\s+{LIST}(?!\s+(?:only|for|in|when|if)\b)"


def _praised(passage: Passage) -> Iterator[str]:
    """The code that a sentence begins with telling to use: what forbids it too has a condition."""
    told = _form(_PRAISE).match(" ".join(passage.text.split())[:_LONGEST])
    for number in re.findall(C, told["list"]) if told is not None and not passage.listed else ():
        yield passage.codes[int(number)].strip()


def _of_the_same(passage: Passage, before: Passage) -> Iterator[Ban]:
    """The bans of "Do not use it", which is about what the sentence before begins with."""
    if not before.codes or passage.codes is not before.codes:
        return
    cue, phrase = AGAIN
    said = " ".join(passage.text.split())[:_LONGEST]
    meant = _form(LIST).search(before.text[:_LONGEST])
    if meant is None or not _form(cue).search(said) or not _form(phrase).match(said):
        return
    yield from _of_list(before.text, meant, before.codes, firm=True, taken=set(), alone=True)


_CALLED = re.compile(r"([\w.$:]+)\s*\(")


def _as_written(ban: Ban, others: set[str]) -> Ban:
    """The ban by its letters where the rule shows the same call otherwise: that may be good."""
    name = _CALLED.match(ban.code)
    if ban.aspect == "code" and name is not None and not ban.code.endswith("()"):
        alike = [code for code in others if code != ban.code and code.startswith(f"{name[1]}(")]
        return replace(ban, aspect="text") if alike else ban
    return ban


def _plain(line: str) -> str:
    """A line of an example without blanks and without the remark that judges it."""
    return "".join(re.sub(r"\s(?:#|//|--)\s.*", "", line).split())


def _spaced(line: str) -> str:
    """The same with single blanks."""
    return " ".join(re.sub(r"\s(?:#|//|--)\s.*", "", line).split())


_GENERIC = re.compile(
    r"[\W_]*|(?:def|class|func|fn|for|if|else|try|import|from|package|return)\b.*|.*(?:[{:]|do)|"
    r"//.*|#.*"
)
_CONDITION = re.compile(r"(?:if|while|except|catch|for)\b.*\W\w")
_ANY_NAME = re.compile(r"\b(?:foo|bar|baz|xxx|something)\b", re.IGNORECASE)
_FEWEST_LETTERS = 12
_MOST_LINES = 3


def _of_blocks(bad: list[str], good: set[str]) -> Iterator[Ban]:
    """The lines that only blocks which are called bad have; where they are few, all of them.

    A line with a name that stands for any is forbidden with other names too.
    """
    plain = {_plain(line): _spaced(line) for line in bad}
    lines = [
        line
        for line in plain
        if line not in good and len(line) >= _FEWEST_LETTERS and not _GENERIC.fullmatch(line)
    ]
    for line in plain if good and not lines else ():
        if line not in good and _CONDITION.match(plain[line]):
            yield Ban(plain[line].rstrip(" :{"), firm=False)
    for line in lines if len(lines) <= _MOST_LINES else ():
        yield Ban(line, "line")
        if _ANY_NAME.search(plain[line]):
            yield Ban(plain[line], firm=False)


def _of_short_block(block: Iterable[str]) -> Iterator[tuple[tuple[str, str], Ban]]:
    """Two or three lines that only together are bad, such as an `except` with a `pass`."""
    lines = [line for line in map(_plain, block) if line]
    if 2 <= len(lines) <= _MOST_LINES and all(map(_GENERIC.fullmatch, lines[:1])):
        code = "\n".join(lines)
        yield (code, "lines"), Ban(code, "lines", firm=False)


def _of_passage(passage: Passage) -> Iterator[Ban]:
    said, codes = " ".join(passage.text.split())[:_LONGEST], passage.codes
    taken: set[str] = set()
    if passage.listed:
        item = _form(_ITEM).match(said)
        if item is not None:
            yield from _of_list(said, item, codes, firm=True, taken=taken)
    for piped in _found((_PIPED,), said):
        yield Ban(f"{codes[int(piped[1])]} | {codes[int(piped[2])]}")
        taken |= {piped[1], piped[2]}
    for found in _found(PHRASES, said) if codes else ():
        yield from _of_list(said, found, codes, firm=True, taken=taken)
    yield from _of_words(said)
    for name in concepts(said):
        yield Ban(name, "concept", firm=False, tests=None if in_tests(name) else False)


def _of_list(
    said: str,
    found: re.Match[str],
    codes: list[str],
    *,
    firm: bool,
    taken: set[str],
    alone: bool = False,
) -> Iterator[Ban]:
    """The bans on a list of code; one that stands `alone` has no condition around it."""
    groups = found.groupdict()
    behind = "" if alone else _TURN.split(said[found.end() :], maxsplit=1)[0]
    behind = groups.get("where") or behind
    lack = codes[int(groups["lack"][1:-1])] if groups.get("lack") else ""
    taken |= {groups["lack"][1:-1]} if lack else set()
    verb = groups.get("verb") or groups.get("put") or ""
    aspect = next((name for name, form in _ASPECTS if form.search(verb)), "code")
    them = _THEM.search(said[: found.start("list")]) is not None
    start = "" if alone else said[: found.start()]
    ban = _conditions(Ban("", aspect, firm and not them), start, behind, codes)
    ban = replace(ban, lacking=lack) if lack else ban
    ordered = bool(verb) or _form(_DECLARE).match(said[found.end("list") :]) is not None
    files = re.search(r"commit|merg|add|left|leav|check|ship", verb, re.IGNORECASE) is not None
    numbers = re.findall(C, found["list"])
    qualified = any(re.search(r"\w(?:::|\.)\w", codes[int(each)]) for each in numbers)
    for number in numbers:
        code = codes[int(number)].strip()
        if number in taken or not _is_code(code, files=files, ordered=ordered):
            continue
        taken.add(number)
        of_code = replace(ban, code=code)
        if qualified and re.fullmatch(r"[a-z]+", code):
            continue  # "`std::fs::read` / `write`": the second is short for a longer name
        if REMARKS.search(code) or _SAID_REMARK.match(said[found.end("list") :]):
            of_code = replace(of_code, aspect="remark")
        elif aspect != "code" and not re.fullmatch(r"[\w.$/@-]+", code):
            of_code = replace(of_code, aspect="code")
        yield of_code


def _is_code(code: str, *, files: bool, ordered: bool) -> bool:
    """Whether it is code that can be looked for: a value only where an order names it alone."""
    if len(code) < _SHORTEST or code.lower() in _VALUES:
        return code.lower() in {"null", "undefined", "none"} and ordered and not files
    return _FILE.fullmatch(code) is None and not (
        files and code.startswith(".") and "(" not in code
    )


def _conditions(ban: Ban, before: str, behind: str, codes: list[str]) -> Ban:
    """The ban with what its sentence says of when it holds."""
    before = re.split(r"[.;!?]\s", before)[-1]
    without, along, outside = (
        _said(form.match(behind), codes) for form in (_WITHOUT, _WITH, _OUTSIDE)
    )
    if _NOT_IN_TESTS.search(behind) or _NOT_IN_TESTS.search(before):
        return replace(ban, tests=False)
    if without or along or outside:
        return replace(ban, lacking=without, along=along, outside=outside)
    if _TESTS.search(behind) or _TESTS.search(before):
        return replace(ban, tests=True)
    if _NO_TESTS.search(behind):
        return replace(ban, tests=False)
    if (
        _UNLESS.search(behind)
        or _TOGETHER.match(behind)
        or _IF.match(before)
        or _is_elsewhere(before)
    ):
        return replace(ban, firm=False)
    return replace(ban, within=_place(behind, codes))


def _said(condition: re.Match[str] | None, codes: list[str]) -> str:
    """The code, or else the word, that a condition names."""
    if condition is None:
        return ""
    return codes[int(condition[1])] if condition[1] else condition[2]


def _place(behind: str, codes: list[str]) -> str:
    """The folder, or the kind of code, that a ban is limited to; empty if it holds everywhere."""
    folder, place = _IN_FOLDER.match(behind), _IN.match(behind)
    if folder is not None:
        return codes[int(folder[1])].strip("/*").lower()
    if place is None or _ANYWHERE.match(place[1]):
        return ""
    return place[1].split()[-1].rstrip("s").lower()


def _is_elsewhere(before: str) -> bool:
    """Whether a sentence begins with where it holds, as in "In migrations, never use `x`"."""
    place = _IN_FRONT.match(before)
    return place is not None and "," in before and not _ANYWHERE.match(place[1])


def _of_words(said: str) -> Iterator[Ban]:
    """The bans of a sentence that names code without marking it as such."""
    for found in _found(_IN_WORDS, said):
        yield from _named(found)
    for found in _found((_TYPE,), said):
        yield Ban(found["a"] or found["b"] or found["c"], "type")
    for found in _TODO.finditer(said):
        yield Ban(found["todo"], "remark")
    for found in _found((_KEYWORD,), said):
        if found["word"].lower() in _KEYWORDS:
            yield Ban(found["word"].lower())


def _named(found: re.Match[str]) -> Iterator[Ban]:
    """The names of a sentence: what does not look like code is forbidden only as a call."""
    groups = found.groupdict()
    verb = (groups.get("verb") or groups.get("put") or "").lower()
    imports = verb.startswith("import") or " module" in found[0].lower()
    for name in _AND.split(found["names"]):
        if name.lower() in _PRONOUNS:
            continue
        if imports:
            yield Ban(name, "import")
        elif _LIKE_CODE.search(name):
            yield Ban(name)
        elif verb != "set":
            yield Ban(name, "call")
            yield Ban(name[:1].lower() + name[1:], "call")


def is_file_name(code: str) -> bool:
    """Whether what a rule names is a file, or files by a pattern."""
    return _FILE.fullmatch(code) is not None
