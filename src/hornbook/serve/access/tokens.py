"""Bearer tokens: read from a file and the environment, made, listed and taken back.

A line of the file is `name scopes token`, and behind it what else is known, as `key=value`. In the
place of the token its digest may stand, which is how `hornbook token new` writes it: nobody who
reads the file can use what is in it. In the environment tokens stand in one line, parted by commas,
as `name:scopes:token`; never in arguments. When each was used last stands in a file beside them,
because the file of tokens is a person's.
"""

import json
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from hornbook.disk import locked, to_seconds, write_whole
from hornbook.errors import BadGlob, ConfigError, NotFound, UsageError
from hornbook.plans.principal import PrincipalKind, Via, named
from hornbook.serve.access.scopes import WRITE, AccessScope, scopes_in, shown
from hornbook.text.globs import parse_set

VARIABLE = "HORNBOOK_TOKENS"
SHORTEST = 16
DIGEST = "sha256:"
PREFIX = "hbt_"
"""Tells what a token is for whoever finds one."""
OWNER_ONLY = 0o600
_HEX = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SPAN = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_KEYS = ("for", "repositories", "expires")


@dataclass(frozen=True, slots=True)
class Token:
    """A token without what is secret of it."""

    name: str
    scopes: frozenset[AccessScope]
    digest: bytes
    acts_for: str = ""
    """The principal that it was made for, such as `human:ann`."""
    repositories: tuple[str, ...] = ()
    """Globs of the repositories that it is good for; none for all."""
    expires_at: str | None = None

    @property
    def principal(self) -> str:
        """Whose id stands in the events that come of it."""
        return self.acts_for or f"token:{self.name}"

    def is_good(self, moment: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or moment < datetime.fromisoformat(self.expires_at)

    def is_for(self, repository: str) -> bool:
        """Whether it is good for a repository, by its name."""
        if not self.repositories:
            return True
        return parse_set(self.repositories).match(repository) is not None

    @property
    def line(self) -> str:
        """The line of the file."""
        more = (
            ("for", self.acts_for),
            ("repositories", ",".join(self.repositories)),
            ("expires", self.expires_at or ""),
        )
        parts = [self.name, ",".join(shown(self.scopes)), DIGEST + self.digest.hex()]
        return " ".join([*parts, *(f"{key}={value}" for key, value in more if value)])


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def load_tokens(path: Path, environment: Mapping[str, str]) -> tuple[Token, ...]:
    """The tokens of a file and of the environment.

    Raises:
        ConfigError: With every problem; no message holds a token.
    """
    found, problems = read_tokens(path, environment)
    if problems:
        raise ConfigError(list(problems))
    return found


def read_tokens(
    path: Path, environment: Mapping[str, str]
) -> tuple[tuple[Token, ...], tuple[str, ...]]:
    """The tokens that can be understood, and what is wrong with the others."""
    problems: list[str] = []
    entries: list[tuple[str, list[str]]] = []
    if path.is_file():
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            problems.append(f"{path.name} can be read by others: run `chmod 600` on it.")
        else:
            entries += _lines(path)
    given = environment.get(VARIABLE, "")
    for number, part in enumerate(filter(None, map(str.strip, given.split(","))), 1):
        entries.append((f"{VARIABLE}, entry {number}", part.split(":", 2)))
    return tuple(_read(entries, problems)), tuple(problems)


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if _is_entry(line):
            yield f"{path.name}, line {number}", line.split()


def _is_entry(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _read(entries: Iterable[tuple[str, list[str]]], problems: list[str]) -> Iterator[Token]:
    names: set[str] = set()
    for where, parts in entries:
        try:
            token = _token(parts)
            if token.name in names:
                raise ValueError("the name is taken: choose another")  # noqa: TRY301  # told as the others are
        except ValueError as problem:
            problems.append(f"{where}: {problem}.")
            continue
        names.add(token.name)
        yield token


def _token(parts: list[str]) -> Token:
    """The token that the parts of a line are.

    Raises:
        ValueError: They are none; the message never holds the token.
    """
    if len(parts) < 3:
        raise ValueError(f"found {len(parts)} parts: write name, scopes, token")
    name, scopes, token, *more = parts
    if not _NAME.fullmatch(name):
        raise ValueError("the name is no plain word: choose another")
    acts_for, repositories, expires_at = _more(more)
    if token.startswith(DIGEST) and _HEX.fullmatch(token) is None:
        raise ValueError("the digest has not the 64 digits of a sha256")
    if len(token) < SHORTEST:
        raise ValueError(f"the token has {len(token)} characters: use {SHORTEST} or more")
    digest = bytes.fromhex(token[len(DIGEST) :]) if token.startswith(DIGEST) else digest_of(token)
    return Token(name, scopes_for(scopes, acts_for), digest, acts_for, repositories, expires_at)


def scopes_for(scopes: str, acts_for: str) -> frozenset[AccessScope]:
    """What somebody may do with some scopes: a person who may write may also answer.

    Raises:
        ValueError: One is no scope.
    """
    human = acts_for.startswith(f"{PrincipalKind.HUMAN}:")
    answers = {AccessScope.ANSWER} if human and scopes == WRITE else set()
    return read_scopes(scopes) | answers


def _more(parts: list[str]) -> tuple[str, tuple[str, ...], str | None]:
    said: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in _KEYS or not equals or not value or key in said:
            raise ValueError(
                f"{part!r} is not known here: write for=human:NAME, repositories=GLOB,GLOB or "
                "expires=TIME, each once"
            )
        said[key] = value
    acts_for = said.get("for", "")
    if acts_for and named(acts_for, Via.TOKEN) is None:
        raise ValueError(
            f"it is made for {acts_for!r}: write for=human:NAME, for=ci:NAME or for=agent:NAME"
        )
    globs = read_globs(said["repositories"]) if "repositories" in said else ()
    return acts_for, globs, _moment(said["expires"]) if "expires" in said else None


def read_scopes(text: str) -> frozenset[AccessScope]:
    """The scopes that a text names.

    Raises:
        ValueError: It names something else; says what there is.
    """
    try:
        return scopes_in(text)
    except ValueError as problem:
        known = ", ".join(AccessScope)
        raise ValueError(f"the scope is {text!r}: write some of {known}, or {WRITE}") from problem


def read_globs(text: str) -> tuple[str, ...]:
    """The globs of repositories that a text names, with commas between.

    Raises:
        ValueError: One is no glob, or there is none: a token for no repository is not for all.
    """
    globs = tuple(filter(None, text.split(",")))
    if not globs or text != "".join(text.split()):
        raise ValueError(f"repositories={text}: write globs with commas between, without spaces")
    try:
        parse_set(globs)
    except BadGlob as problem:
        raise ValueError(f"repositories: {problem}") from problem
    return globs


def _moment(text: str) -> str:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as problem:
        raise ValueError(f"it expires {text!r}: write a time such as 2027-01-31T00:00:00Z") from (
            problem
        )
    return to_seconds(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))


def expiry(text: str, moment: datetime) -> str:
    """When something expires that was made at `moment`: after a span as `90d`, or at a time.

    Raises:
        UsageError: It is neither, or is over.
    """
    found = _SPAN.fullmatch(text)
    try:
        if found is not None:
            return to_seconds(moment + timedelta(**{_UNITS[found[2]]: int(found[1])}))
        at = _moment(text)
    except (ValueError, OverflowError) as problem:
        raise UsageError(
            f"--expires {text}: write a span such as 90d, 12h or 4w, or a time such as "
            "2027-01-31T00:00:00Z."
        ) from problem
    if datetime.fromisoformat(at) <= moment:
        raise UsageError(f"--expires {text}: that is over already: name a later time.")
    return at


def make_token(path: Path, token: Token) -> str:
    """Add a token to the file and give what is secret of it, which is kept nowhere.

    Raises:
        UsageError: Its name is taken or no plain word.
        ConfigError: The file is wrong.
    """
    if not _NAME.fullmatch(token.name):
        raise UsageError(f"{token.name!r} is no plain word: use letters, digits and . _ - only.")
    made = PREFIX + secrets.token_urlsafe(32)
    with _changing(path) as (text, write):
        if token.name in {each.name for each in load_tokens(path, {})}:
            raise UsageError(
                f"token {token.name} is there already: choose another name, or "
                f"`hornbook token revoke {token.name}` first."
            )
        kept = Token(
            token.name,
            token.scopes,
            digest_of(made),
            token.acts_for,
            token.repositories,
            token.expires_at,
        )
        gap = "" if text.endswith("\n") or not text else "\n"
        write(f"{text}{gap}{kept.line}\n")
    return made


def revoke_token(path: Path, name: str) -> None:
    """Take a token back: its line is removed.

    Raises:
        NotFound: The file has none of that name.
    """
    with _changing(path) as (text, write):
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if not _is_entry(line) or line.split()[0] != name]
        if len(kept) == len(lines):
            raise NotFound(f"no token {name} in {path.name}: `hornbook token list` has them all.")
        write("".join(kept))


@contextmanager
def _changing(path: Path) -> Iterator[tuple[str, "_Write"]]:
    """The text of the file, and how another is written, with nobody else in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(f"{path.name}.lock")):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        yield text, _Write(path)


@dataclass(frozen=True, slots=True)
class _Write:
    path: Path

    def __call__(self, text: str) -> None:
        write_whole(self.path, text.encode(), OWNER_ONLY)


def used_file(path: Path) -> Path:
    """Where it stands when the tokens of a file were used."""
    return path.with_name(f"{path.name}.used")


def last_uses(path: Path) -> dict[str, str]:
    """When each token of a file was used last, by name."""
    try:
        found = json.loads(used_file(path).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def note_uses(path: Path, uses: Mapping[str, str]) -> None:
    """Note when tokens were used, beside what other servers noted."""
    with locked(path.with_name(f"{path.name}.lock")):
        before = last_uses(path)
        later = {name: max(at, before.get(name, "")) for name, at in uses.items()}
        text = json.dumps(before | later, sort_keys=True, indent=1) + "\n"
        write_whole(used_file(path), text.encode(), OWNER_ONLY, durable=False)
