"""What a rule asks for has to be shown: the code, the file or the words that it names.

That something is not there can hardly be shown by one line; that something is there can. So an
answer which says that such a rule is kept has to point to it. A sentence that asks is read in two
halves around its asking word: what stands before it says what it holds for, and what stands behind
it must be there. Nothing of this depends on what a rule is about.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from unicodedata import normalize

from hornbook.gates.test_files import is_test
from hornbook.review.evidence.ban_forms import PROGRAMS, CodeLines, has_code, may_offend, offence
from hornbook.review.evidence.bans import EVERYWHERE, REMARKS, Ban, is_file_name
from hornbook.review.evidence.changed_files import Reviewed
from hornbook.review.evidence.file_kinds import NO_CODE, kind_of, words_of
from hornbook.review.evidence.languages import ASKING, PRAISING
from hornbook.review.evidence.marked_text import Passage, forbids, passages

_SHORTEST_STEM = 4
_PREFIX = 6
_FILLERS = words_of(
    "about above after again against all allow allowed also always and any anything applies are "
    "avoid "
    "banned because been before begin begins being below between both but call called calls can "
    "cannot "
    "change changed changes class code come comes complete contain contains correct declare "
    "default "
    "defect does done down each either else ensure even ever every everything except explain "
    "explains "
    "file files first follow following forbidden from function functions give given goes good have "
    "here high how instead into itself just keep kept kind know large last least less let like "
    "line "
    "lines long look made make makes many mark may mean method might module more most much must "
    "name "
    "named names need needs never new none not nothing off only order other others otherwise our "
    "out over "
    "own part path place please point possible prefer product production prohibited provide put "
    "read "
    "reason release require required requires rule rules same say says see set shall short "
    "should show "
    "simple since small some something source stand start state still stop such support take "
    "team than "
    "that the their them then there these they thing things this those though through time "
    "together "
    "two under unless until upon use used user uses using value values variant very was way were "
    "what "
    "when where whether which while who whole why will with within without word words work would "
    "write "
    "written wrong you your eine einen einer eines dass nicht kein keine niemals immer muss "
    "müssen darf "
    "dürfen werden wird sind oder und der die das dem den ist ein wir benutzen verwenden verboten "
    "les des une est sont dans pour avec sans jamais doit doivent être interdit utiliser utilisez "
    "return returns returned import imports imported public private static async await string "
    "strings "
    "number numbers boolean object objects array list index test tests tested type types typed "
    "error "
    "errors print prints class classes const constant parameter parameters argument arguments "
    "handler "
    "handlers client server data text item items result results true false null "
    "los las una por con sin nunca debe deben está usar prohibido no se en que del"
)
WORDS = re.compile(r"[^\W\d_]{4,}")
PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]{3,}|[A-Z]{3,}")
_BRITISH = re.compile(r"(?<=\w\w)our(?=\w{0,3}$)")
_PLURAL = re.compile(r"(?<=\w\w)ies$")
_ENDING = re.compile(r"(?:ations?|ations|ings?|ers?|ed|es|s|e|en|er)$")


@lru_cache(maxsize=8192)
def stems_of(text: str) -> frozenset[str]:
    """The stems of the words in a line, also of those that names are made of."""
    return frozenset((*stems(text, WORDS), *stems(text, PARTS)))


def stems(text: str, form: re.Pattern[str]) -> Iterator[str]:
    """The stems of the words of a form, without those that say nothing."""
    for word in form.findall(_plain(text)):
        small = word.lower()
        stem = _ENDING.sub("", _PLURAL.sub("y", _BRITISH.sub("or", small)))
        stem = stem if len(stem) >= _SHORTEST_STEM else small
        if small not in _FILLERS and len(stem) >= _SHORTEST_STEM:
            yield re.sub("y$", "i", stem)[:_PREFIX]


def _plain(text: str) -> str:
    """A text without the marks over its letters."""
    return "".join(each for each in normalize("NFKD", text) if not "\u0300" <= each <= "\u036f")


Line = tuple[str, int]
A_TEST = "a test"
_TEST_INSIDE = re.compile(r"\s*(?:#\[(?:\w+::)*(?:test\b|cfg\(test\)\])|unittest\b|test \")")
"""A line that begins a test in the very file that it tests, as in Rust, D and Zig."""
_LONGEST = 600
_THIRD = 3
_SHORTEST = 3
_CODE = re.compile("\ue000(\\d+)\ue001")
_ASKS = re.compile(
    rf"\b(?:must|shall|ha(?:s|ve)\s+to|needs?|requires?|(?:is|are)\s+to|always|{ASKING})\b",
    re.IGNORECASE,
)
_EACH = re.compile(r"\W*(?:every|each|all)\b", re.IGNORECASE)
_TESTS = re.compile(
    r"\b(?:tests?|specs?)\b(?!\s+(?:sets?|data|cases?|files?\s+name))", re.IGNORECASE
)
_OPENING = re.compile(
    r"\b(?:files?|scripts?|modules?|sources?|headers?)\b.*\b(?:start|begin|open)s?\s+(?:with|by)\b|"
    r"\bfirst\s+lines?\b|\bat\s+the\s+(?:top|beginning)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:\be\.g\.|\bsuch\s+as|\blike|\bfor\s+(?:example|instance)|\bas\s+in|:)[\s:,(]*$",
    re.IGNORECASE,
)
_NOT_FORBIDDEN = re.compile(
    r"\b(?:not|never)\s+(?:be\s+)?(?:accept|toler|permit|allow|merg|us)\w*", re.IGNORECASE
)
_FILE = re.compile(r"(?![\d.]+$)[\w*/-]*[._*/][\w*/.-]*\.[a-z]\w{0,4}|[\w.-]+/")
_NAME = re.compile(r"[A-Za-z_$][\w$-]*")
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_REMOVED = (
    r"(?:(?:delet|remov|drop|weaken|disabl|renam|reus|entfern|supprim|elimin|borr)\w*|gelöscht)"
)
_KEEPS = re.compile(
    rf"\b(?:not|never|before|until|without|cannot|nie|nicht|jamais|nunca|no)\b[^.;,]{{0,40}}\b{_REMOVED}|"
    rf"\b{_REMOVED}\s+(?:\w+\s+)?(?:must|shall|may|needs?|only|never|not)\b",
    re.IGNORECASE,
)
"""A rule about what may be removed, and how."""
_PRAISED = re.compile(
    rf"\b(?:use|uses|using|prefer\w*|call|via|through|raise|return|throw|pass|{PRAISING})\s+"
    r"(?:(?:the|an?|our|its|new)\s+)*$",
    re.IGNORECASE,
)
_EXCLUDES = re.compile(r"\b(?:only|except|unless)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[;:,(]|\s[-–—]\s|\bbut\b")
_OR = re.compile(r"\bor\b|\bo\b|\bou\b|\boder\b|/")


@dataclass(frozen=True, slots=True)
class Demand:
    """A sentence that asks for something: `codes` and `files` that must be there, or a `test`.

    `about` is the code that it holds for, if it names some, and `whom` what it holds for in words;
    of `either` code one is enough; `opening` is whether it is about how a file begins.
    """

    said: str = ""
    whom: str = ""
    about: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    either: bool = False
    test: bool = False
    opening: bool = False


@lru_cache(maxsize=256)
def demands(text: str) -> tuple[Demand, ...]:
    """What the sentences of a rule ask for, without those that forbid something."""
    found = (_demand(each) for each in passages(text) if each.text and not each.bad)
    return tuple(each for each in found if each is not None)


def _demand(passage: Passage) -> Demand | None:
    said = " ".join(passage.text.split())[:_LONGEST]
    plain = _CODE.sub(" ", said)
    if passage.title or passage.listed or forbids(plain) or _NOT_FORBIDDEN.search(plain):
        return None
    word, every = _ASKS.search(said), _EACH.match(said)
    if word is None and every is None:
        return None
    border = word.start() if word is not None else 0
    named = [
        (found.start(), passage.codes[int(found[1])].strip()) for found in _CODE.finditer(said)
    ]
    files = [code for at, code in named if at >= border and _is_file(code)]
    codes = [
        code
        for at, code in named
        if at >= border and not _is_file(code) and not _is_command(code)
        if not _EXAMPLE.search(said[:at])
    ]
    either = _OR.search(said, border) is not None
    if either and len(codes) == 1:  # "`warning` or higher": the other way is said in words
        codes = []
    test = word is not None and _TESTS.search(said, border) and not _TESTS.search(said[:border])
    return Demand(
        said=plain,
        whom=_CODE.sub(" ", said[:border]),
        about=tuple(code for at, code in named if at < border),
        codes=tuple(codes),
        files=tuple(files),
        either=either,
        test=bool(test),
        opening=_OPENING.search(plain) is not None,
    )


def _is_file(code: str) -> bool:
    return is_file_name(code) or _FILE.fullmatch(code) is not None


def _is_command(code: str) -> bool:
    """Whether it is something that people run, beside the change."""
    return " " in code and code.split(maxsplit=1)[0] in PROGRAMS


def parts_of(text: str) -> list[str]:
    """The words of the names in a text, in small letters, however they are joined."""
    return [each.lower() for each in _PARTS.findall(text)]


def shows(code: str, reviewed: Reviewed, line: Line) -> bool:
    """Whether a line has some code, or names with the same words: its own, and of calls inside."""
    path, number = line
    lines = reviewed.code_of(path)
    if has_code(code, lines, number):
        return True
    own, _, inside = code.partition("(")
    names = [*_NAME.findall(own)[-1:], *_CALLED.findall(inside)]
    if not names or number > len(lines.raw):
        return False
    there = parts_of(lines.raw[number - 1])
    return all(_in_a_row(parts_of(each), there) for each in names)


def _in_a_row(wanted: Sequence[str], there: Sequence[str]) -> bool:
    places = range(len(there) - len(wanted) + 1)
    return bool(wanted) and any(there[at : at + len(wanted)] == wanted for at in places)


def is_of(name: str, path: str) -> bool:
    """Whether a path is the file, the folder or of the pattern that a rule names."""
    plain = name.strip().removeprefix("./")
    if plain.endswith("/"):
        return f"/{plain}" in f"/{path}"
    base = path.rpartition("/")[2]
    ends = plain[:1] in {"_", "."} and base.endswith(plain)
    return ends or fnmatchcase(base, plain) or fnmatchcase(f"/{path}", f"*/{plain}")


def concerned(
    text: str, added: Collection[Line], reviewed: Reviewed, *, near: bool = False
) -> Iterator[Demand]:
    """The demands of a rule, without those for code that the change does not have.

    With `near` those that name no such code are left out too, where no added line has words of
    theirs, and nothing but a test is asked for.
    """
    for demand in demands(text):
        about = (
            shows(code, reviewed, line) or is_of(code, line[0])
            for code in demand.about
            for line in added
        )
        if any(about) if demand.about else _is_near(demand, added, reviewed) or not near:
            yield demand


def _is_near(demand: Demand, added: Collection[Line], reviewed: Reviewed) -> bool:
    said = stems_of(demand.said)
    lines = (reviewed.code_of(path).told[number - 1] for path, number in added)
    return demand.test or any(_shares(said, line, well=True) for line in lines)


def _has_test_inside(added: Iterable[Line], reviewed: Reviewed) -> bool:
    told = (reviewed.code_of(path).told[number - 1] for path, number in added)
    return any(map(_TEST_INSIDE.match, told))


def _shares(said: Collection[str], line: str, *, well: bool) -> bool:
    """Whether a line has a word of a sentence; `well` if two, or a third of those that it has."""
    common = len(stems_of(line).intersection(said))
    return common > 0 and (not well or common > 1 or _THIRD * common >= len(said))


def missing(
    text: str,
    added: Collection[Line],
    seen: Collection[Line],
    reviewed: Reviewed,
    *,
    near: bool = False,
) -> str:
    """What a rule asks for and neither the change nor the answer shows; empty if nothing.

    `added` are the added lines of the change, and `seen` the lines that the answer has in view.
    """
    cited = {path for path, _ in seen if kind_of(path) not in NO_CODE}
    paths = {*reviewed.files, *cited}
    for demand in concerned(text, added, reviewed, near=near):
        for name in demand.files:
            if not any(is_of(name, path) for path in paths):
                return f"`{name}`"
        if demand.test and not (any(map(is_test, paths)) or _has_test_inside(added, reviewed)):
            return A_TEST
        lines = (*added, *(line for line in seen if line[0] in reviewed.files))
        lost = [code for code in demand.codes if not _is_shown(code, lines, reviewed)]
        if lost and not (demand.either and len(lost) < len(demand.codes)):
            return ", ".join(f"`{code}`" for code in lost)
    return ""


def _is_shown(code: str, lines: Iterable[Line], reviewed: Reviewed) -> bool:
    return any(shows(code, reviewed, line) for line in lines)


@lru_cache(maxsize=256)
def _named(text: str) -> tuple[Ban, ...]:
    """The code that a rule names and neither asks for nor is for, as it would be forbidden."""
    found = {}
    asked = {code for each in demands(text) for code in each.codes}
    for passage in passages(text):
        for place in _CODE.finditer(passage.text):
            code, clause = passage.codes[int(place[1])].strip(), passage.text[: place.start()]
            praised = _PRAISED.search(clause) and not _EXCLUDES.search(passage.text)
            praised = praised and not forbids(_CLAUSE.split(clause)[-1])
            long = len(code) >= _SHORTEST or not any(map(str.isalnum, code))
            if long and not (praised or code in asked or _is_file(code)):
                found[code] = Ban(code, "remark" if REMARKS.search(code) else "code", firm=False)
    return tuple(ban for code, ban in found.items() if code.lower() not in EVERYWHERE)


def naming(
    text: str, added: Collection[Line], reviewed: Reviewed
) -> Iterator[tuple[str, set[Line]]]:
    """The code that a rule names without asking for it, with the added lines that have it.

    However the rule speaks of it, these lines are what it is about. What most lines have is none.
    """
    for ban in _named(text):
        lines = {each for each in added if _has(ban, each, reviewed)}
        if lines and 2 * len(lines) <= len(added) + 1:
            yield ban.code, lines


def _has(ban: Ban, line: Line, reviewed: Reviewed) -> bool:
    lines = reviewed.code_of(line[0])
    return may_offend(ban, lines) and offence(ban, lines, line[1]) is not None


def answers_elsewhere(text: str, named: Collection[str]) -> bool:
    """Whether an answer names a file that the rule asks for, or a test where it asks for one."""
    return any(
        any(is_of(name, path) for name in demand.files for path in named)
        or (demand.test and any(map(is_test, named)))
        for demand in demands(text)
    )


def weakened(
    text: str, paths: Iterable[str], reviewed: Reviewed, *, well: bool = False
) -> tuple[str, str] | None:
    """A line that is gone, that a rule which asks for something speaks of, and its file.

    It speaks of a line by code or a word, `well` by two or more. A line that stands
    elsewhere now, or has a successor with most of its words, is not gone.
    """
    asked = demands(text)
    said = [stems for each in asked if (stems := stems_of(each.said))]
    codes = [code.partition("(")[0] for each in asked for code in (*each.codes, *each.about)]
    keeps = _KEEPS.search(text) is not None
    removed = [
        (path, line)
        for path in (paths if said or codes or keeps else ())
        for line in (reviewed.files[path].removed if path in reviewed.files else ())
        if keeps
        or any(_shares(each, line, well=well) for each in said)
        or any(code in line for code in codes if code)
    ]
    successors = [set(parts_of(each)) for each in reviewed.gained()] if removed else []
    for path, line in removed:
        held = set(parts_of(line))
        lines = CodeLines(path, [line])
        if not keeps and any(offence(ban, lines, 1) is not None for ban in _named(text)):
            continue  # what a rule is against may go
        if len(held) > 1 and not any(2 * len(held & each) > len(held) for each in successors):
            return path, line
    return None
