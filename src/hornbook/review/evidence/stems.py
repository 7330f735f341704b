"""The words of a text by their stems, without those that every rule has."""

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import normalize

from hornbook.review.evidence.file_kinds import words_of

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
