"""Learned conventions: candidates from approved reviews, until a person promotes them."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from hornbook.commits import git
from hornbook.disk import to_seconds, write_whole
from hornbook.errors import BadGlob, NotFound, StoreError, UsageError
from hornbook.plans.principal import at_command_line, require_human
from hornbook.review.judgement import Judgement, LearnedPattern, Ruling
from hornbook.review.printed_review import read_review
from hornbook.review.review_history import read_record
from hornbook.rules.own_files.records import broken_seals, printed_in, sealed, unsealed
from hornbook.settings.places import Places
from hornbook.text.globs import parse
from hornbook.vocabulary.terms import Standing


@dataclass(frozen=True, slots=True)
class SeenIn:
    """A file that a convention was seen in, as it was then."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Convention:
    """A learned convention: what was seen, where, in which reviews, and who decided about it.

    `at` is when it was first seen, `decided_at` when a person promoted or retired it.
    """

    slug: str
    name: str
    pattern: str
    applies_to: str
    standing: Standing
    at: str
    reviews: tuple[str, ...] = ()
    evidence: tuple[SeenIn, ...] = ()
    decided_at: str | None = None
    decided_by: str | None = None

    @property
    def id(self) -> str:
        """The id of the convention's entity."""
        return f"convention.{self.slug}"


MOST_EVIDENCE = 20


@dataclass(frozen=True, slots=True)
class Watched:
    """A convention, and those of the files it was seen in that changed or went since.

    `doubts` say why it does not count: its record, or every review that it was learned from, is
    not as it was written.
    """

    convention: Convention
    changed: tuple[str, ...]
    doubts: tuple[str, ...] = ()


class Conventions:
    """The conventions of a workspace, each a record under `.hornbook/records/conventions`."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._folder = places.records / "conventions"

    def all(self) -> list[Convention]:
        """Every convention, by name.

        Raises:
            StoreError: A record is damaged.
        """
        return [self._read(path) for path in sorted(self._folder.glob("*.json"))]

    def watched(self) -> list[Watched]:
        """Every convention with the cited files that changed since, and why it does not count."""
        return [
            Watched(each, tuple(self._changed(each)), tuple(self._doubts(each)))
            for each in self.all()
        ]

    def learn(self, judgement: Judgement, review_id: str, at: str) -> list[Convention]:
        """Note the patterns of an approved review; what a person decided stays decided.

        A record that was altered is left as it is, so that nothing seals it anew.
        """
        found = []
        for pattern in judgement.patterns:
            if self._altered(_slug(pattern.name)):
                continue
            seen = tuple(self._seen_in(pattern, judgement))
            known = self._find(_slug(pattern.name))
            fresh = Convention(
                slug=_slug(pattern.name),
                name=pattern.name,
                pattern=pattern.pattern,
                applies_to=pattern.applies_to,
                standing=Standing.CANDIDATE,
                at=at,
                reviews=(review_id,),
                evidence=seen,
            )
            if known is not None:
                reviews = dict.fromkeys((*known.reviews, review_id))
                fresh = replace(known, reviews=tuple(reviews))
            self._write(fresh)
            found.append(fresh)
        return found

    def decide(self, convention_id: str, standing: Standing, at: datetime) -> Convention:
        """Promote or retire a convention, in a person's name.

        Raises:
            NotFound: There is none with this id.
            UsageError: It is to be promoted and its pattern is no glob, or it does not count.
            NotAPerson: It is to be promoted, and whoever asks is none.
        """
        slug = convention_id.removeprefix("convention.")
        known = self._find(slug) if _slug(slug) == slug else None
        if known is None:
            raise NotFound(f"no convention {convention_id!r}: `hornbook conventions` lists them.")
        if standing is Standing.PROMOTED:
            state = self._places.state
            require_human(at_command_line(state), "promote a convention", state)
            try:
                parse(known.applies_to)
            except BadGlob as problem:
                raise UsageError(f"{known.id} cannot be promoted: {problem}") from problem
            doubts = "; ".join(self._doubts(known))
            if doubts:
                raise UsageError(f"{known.id} cannot be promoted: {doubts}.")
        decided = replace(
            known,
            standing=standing,
            decided_at=to_seconds(at),
            decided_by=_person(self._places.root),
            evidence=tuple(self._now(known)) if standing is Standing.PROMOTED else known.evidence,
        )
        self._write(decided)
        return decided

    def _seen_in(self, pattern: LearnedPattern, judgement: Judgement) -> Iterator[SeenIn]:
        """The reviewed files that the pattern is about; without a commit there are none."""
        if judgement.head is None:
            return
        try:
            glob = parse(pattern.applies_to)
        except BadGlob:
            return
        blobs = git.files_at(self._places.root, judgement.head)
        cited = {finding.path for finding in judgement.findings if finding.path}
        chosen = sorted(filter(glob.matches, cited & blobs.keys()))[:MOST_EVIDENCE]
        contents = git.blobs(self._places.root, [blobs[path] for path in chosen])
        for path in chosen:
            yield SeenIn(path, sha256(contents[blobs[path]]).hexdigest())

    def _changed(self, convention: Convention) -> Iterator[str]:
        for seen in convention.evidence:
            if _digest(self._places.root / seen.path) != seen.sha256:
                yield seen.path

    def _now(self, convention: Convention) -> Iterator[SeenIn]:
        """The cited files as they are: a person who promotes has looked at them."""
        for seen in convention.evidence:
            digest = _digest(self._places.root / seen.path)
            if digest is not None:
                yield SeenIn(seen.path, digest)

    def _doubts(self, convention: Convention) -> Iterator[str]:
        """Why a convention does not count."""
        path = self._folder / f"{convention.slug}.json"
        broken = self._altered(convention.slug)
        if broken:
            yield f"{self._shown(path)}: {broken}"
        told = {each: self._review(each, convention) for each in convention.reviews}
        if all(told.values()):
            yield from told.values()
            if not told:
                yield f"{self._shown(path)}: no review is named that it was learned from"

    def _altered(self, slug: str) -> str:
        """Why a convention's record is not as it was written; empty if it is, or is not there."""
        path = self._folder / f"{slug}.json"
        if not path.is_file():
            return ""
        self._read(path)
        return unsealed(json.loads(path.read_bytes()))

    def _review(self, review_id: str, convention: Convention) -> str:
        """Why a review taught no such convention; empty if it did."""
        name = review_id.removeprefix("review.")
        path = self._places.records / "reviews" / f"{name}.json"
        record = read_record(path) if "/" not in name else None
        if record is None:
            return f"{self._shown(path)} is gone or damaged"
        broken = next(broken_seals(record), "")
        if broken:
            return f"{self._shown(path)}: {broken}"
        names = {each.name for printed in printed_in(record) for each in _patterns(printed)}
        if record.get("outcome") != Ruling.APPROVED or convention.slug not in map(_slug, names):
            return f"{self._shown(path)}: it approves no such pattern"
        return ""

    def _shown(self, path: Path) -> str:
        return path.relative_to(self._places.root).as_posix()

    def _find(self, slug: str) -> Convention | None:
        path = self._folder / f"{slug}.json"
        return self._read(path) if path.is_file() else None

    def _read(self, path: Path) -> Convention:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Convention)
        except msgspec.DecodeError as problem:
            raise StoreError(f"{path} is damaged ({problem}): restore or delete it.") from problem

    def _write(self, convention: Convention) -> None:
        self._places.prepare()
        text = json.dumps(sealed(asdict(convention)), ensure_ascii=False, indent=2) + "\n"
        write_whole(self._folder / f"{convention.slug}.json", text.encode(), 0o644)


def _patterns(printed: str) -> tuple[LearnedPattern, ...]:
    review = read_review(printed.encode("utf-8", "replace")).review
    return review.patterns if review is not None else ()


def _slug(name: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-")
    return words or sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _digest(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _person(root: Path) -> str:
    """Who decides: the name that git would put on a commit."""
    for key in ("user.email", "user.name"):
        said = git.run(root, "config", key).stdout.decode("utf-8", "replace").strip()
        if said:
            return said
    return "unknown"
