"""Texts as a reader can see them: what hides, turns or imitates characters is found and escaped.

A reviewer judges what the screen, or the model, shows. A zero-width space inside of a word, a
control that turns the reading direction, or a Cyrillic letter in a Latin word make code differ
from what is read. `visible` writes such characters as `\\u{200B}`; `unseen_in` and
`imitations_in` tell them, and `odd_name` what is odd about a path. Joiners between letters or
pictures that are not ASCII are how Persian, Hindi and emoji are spelled, and a byte order mark may
open a text: these are left alone.
"""

import re
from collections.abc import Callable, Iterator
from unicodedata import category, normalize

_TURNS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_JOINS = "\u200c\u200d\ufe00-\ufe0f"
_BLANKS = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f"
_BLANKS += "\u2028\u2029\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_SPECIAL = re.compile(f"[{_TURNS}{_BLANKS}{_CONTROLS}]|(?<![^\\x00-\\x7f])[{_JOINS}]")
_HIDDEN = re.compile(f"[{_TURNS}{_BLANKS}\x00]|(?<![^\\x00-\\x7f])[{_JOINS}]")
# Inside of a line controls hide what stands before them, or end the line for some programs.
_UNSEEN = re.compile(f"{_HIDDEN.pattern}|[\x01-\x08\x0b-\x1f\x7f-\x9f]")
# A keycap is a digit with a selector behind it: the one place where ASCII takes one.
_KEYCAP = re.compile("[0-9#*]\ufe0f?\u20e3")
_WORD = re.compile(r"\w+")

# Letters of other scripts that look just like one of ours. Those that only resemble one, and small
# Greek letters, which formulas are written with, are none of them.
_TWINS = str.maketrans(
    "аеіорсухѕјһԁԛԝАВЕІКМНОРСТУХЅЈԌԚԜοΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոցհıɡᴏ"
    "ᎠᎡᎢᎩᎪᎫᎬᎳᎷᎻᏀᏃᏔᏕᏙᏚᏞᏟᏢᏦᏴꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ",
    "aeiopcyxsjhdqwABEIKMHOPCTYXSJGQWoABEZHIKMNOPTYXounghigo"
    "DRTYAJEWMHGZWSVSLCPKBBPDTGKJCZFMNLSRVHWXYAEIOU",
)
_SHORTEST = 3
"""Letters of a foreign word that is taken for an imitation; shorter ones are words everywhere."""


def as_text(data: bytes) -> str:
    """Bytes as a text that can be shown; what is not UTF-8 as `\\xNN`, what hides as `\\u{…}`."""
    return visible(data.decode("utf-8", "backslashreplace"))


def visible(text: str) -> str:
    """The text with every character that cannot be seen written out.

    Tabs, line feeds, a carriage return before a line feed, and a byte order mark at the very
    beginning stay as they are.
    """
    if text.isascii() and (text.isprintable() or not _SPECIAL.search(text)):
        return text
    mark = text[:1] if text[:1] == "\ufeff" else ""
    return mark + _SPECIAL.sub(_escaped, text[len(mark) :])


def _escaped(found: re.Match[str]) -> str:
    if found[0] == "\r" and found.string[found.end() : found.end() + 1] in {"\n", ""}:
        return "\r"
    if _KEYCAP.match(found.string, max(0, found.start() - 1)):
        return found[0]
    return f"\\u{{{ord(found[0]):04X}}}"


def unseen_in(line: str) -> Iterator[str]:
    """The characters of a line that cannot be seen, in words."""
    inside = _KEYCAP.sub("", line).strip("\f").removesuffix("\r")
    for letter in sorted({found[0] for found in _UNSEEN.finditer(inside)}):
        yield f"U+{ord(letter):04X}, which cannot be seen"


def imitations_in(line: str, words: Callable[[], frozenset[str]]) -> Iterator[str]:
    """The words of a line of code that look like others and are not the same.

    `words` gives those of the file that are plain ASCII: what looks like one of them is told even
    if all of its letters are of another script.
    """
    for word in dict.fromkeys(_WORD.findall(line)):
        if not word.isascii() and _imitates(word, words()):
            yield f"{word!r}, which looks like {_skeleton(word)!r} and is not the same"


def ascii_words(text: str) -> frozenset[str]:
    """The words of a text that are plain ASCII."""
    return frozenset(word for word in _WORD.findall(text) if word.isascii())


def _imitates(word: str, words: frozenset[str]) -> bool:
    skeleton = _skeleton(word)
    foreign = [letter for letter in word if not letter.isascii() and letter not in "ªº"]
    letters = all(category(letter).startswith(("L", "Nl")) for letter in foreign)
    if not skeleton.isascii() or not letters or not foreign:
        return False
    mixed = any(letter.isascii() and letter.isalpha() for letter in word)
    compatible = any(normalize("NFKC", letter).isascii() for letter in foreign)
    return mixed or compatible or (len(word) >= _SHORTEST and skeleton in words)


def _skeleton(text: str) -> str:
    return normalize("NFKC", text).translate(_TWINS)


def odd_name(path: str) -> str | None:
    """Why a path is not what it seems to be, in words; none if it is."""
    if path.isascii():
        return None
    for letter in path:
        if _HIDDEN.match(letter) or category(letter) == "Cf":
            return f"its name holds U+{ord(letter):04X}, which cannot be seen"
    for word in _WORD.findall(path):
        if not word.isascii() and _skeleton(word).isascii():
            return f"its name looks like {_skeleton(path)!r} and is not the same"
    return None


def fold(path: str) -> str:
    """What a path looks like, case aside; equal for twins."""
    if path.isascii():
        return path.lower()
    return _skeleton(_HIDDEN.sub("", path)).casefold()
