"""Masks the values of secrets in what programs print, before it is written anywhere.

A value is looked for as it is, as JSON and URLs write it, and in base64 at each of the three places
where its bytes can begin in a group of three: of those the characters that depend on neighbours are
left out. Output comes in pieces, so that of each piece so much is held back as could be the
beginning of a value.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, quote_plus

SHORTEST = 8
MASK = b"[masked]"
# By these names people call what must not be read. A model's name or an address is none.
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?(?:_|$)|CREDENTIAL|PRIVATE|COOKIE|_AUTH(?:_|$)|BEARER",
    re.IGNORECASE,
)
_PLACES = ("_FILE", "_PATH", "_DIR", "_URL", "_NAME", "_ID")
# How many characters of base64 depend on what stands before, by how many bytes that is.
_BEFORE = (0, 2, 3)


def secrets_among(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that hold secrets, by their names; what is very short would mask words."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if len(value) >= SHORTEST and _SECRET.search(name) and not name.endswith(_PLACES)
    }


def secret_beside(log: Path) -> dict[str, str]:
    """The secret of the server whose state folder a log lies in, as a variable that holds it."""
    for folder in log.parents:
        if folder.name == ".hornbook":
            with suppress(OSError):
                return secrets_among({"HORNBOOK_SECRET": (folder / "secret").read_text().strip()})
    return {}


class SecretMask:
    """Knows the forms of some secrets, by the names of their variables."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        forms = {form: name for name, value in secrets.items() for form in _forms(value)}
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._names = forms
        self._pattern = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None
        self._longest = len(ordered[0]) if ordered else 0

    def masked(self, data: bytes) -> bytes:
        """The same without secrets."""
        return self._pattern.sub(MASK, data) if self._pattern else data

    def found_in(self, text: str) -> Iterator[tuple[str, int]]:
        """Each secret that a text holds: the variable's name, and the line."""
        data = text.encode("utf-8", "surrogatepass")
        for name, start in self.places_in(data):
            yield name, data.count(b"\n", 0, start) + 1

    def places_in(self, data: bytes) -> Iterator[tuple[str, int]]:
        """Each secret that bytes hold: the variable's name, and where it begins."""
        for found in self._pattern.finditer(data) if self._pattern else ():
            yield self._names[found[0]], found.start()

    def stream(self) -> "MaskedStream":
        """Masks pieces as they come."""
        return MaskedStream(self._pattern, self._longest)


class MaskedStream:
    """Output in pieces; a value that two pieces share is masked too."""

    def __init__(self, pattern: "re.Pattern[bytes] | None", longest: int) -> None:
        self._pattern = pattern
        self._longest = longest
        self._held = b""

    def add(self, piece: bytes) -> bytes:
        """What of it can be written now."""
        if self._pattern is None:
            return piece
        data = self._held + piece
        cut = max(0, len(data) - self._longest + 1)
        return self._masked(data, cut)

    def finish(self) -> bytes:
        """What was held back."""
        return self._masked(self._held, len(self._held))

    def _masked(self, data: bytes, cut: int) -> bytes:
        """What stands before the cut, with the whole of a value that crosses it."""
        written: list[bytes] = []
        place = 0
        for found in self._pattern.finditer(data) if self._pattern else ():
            if found.start() >= cut:
                break
            written += [data[place : found.start()], MASK]
            place = found.end()
        end = max(place, cut)
        self._held = data[end:]
        return b"".join([*written, data[place:end]])


def _forms(value: str) -> Iterator[bytes]:
    """Every way in which a value may stand in an output."""
    texts = {value, json.dumps(value)[1:-1], quote(value, safe=""), quote(value), quote_plus(value)}
    for text in texts:
        yield text.encode("utf-8", "surrogatepass")
    data = value.encode("utf-8", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before, dropped in enumerate(_BEFORE):
            whole = encode(bytes(before) + data)
            # The last group that is not full depends on what follows.
            full = (before + len(data)) // 3 * 4
            form = whole[dropped:full]
            if len(form) >= SHORTEST:
                yield form
