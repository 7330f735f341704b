"""Plays commands on a repository one after the other, and keeps what each answered.

Only what is truly volatile is made plain: seconds, absolute paths below the temporary folder, the
way of confinement that a machine offers. In executed runs hashes cover seconds, so they are numbered
by their first appearance. Everything else has to be the same bytes on every machine and every day.
"""

import atexit
import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.frozen.player import Played, Player

DATE = "2026-01-01T00:00:00Z"
WHO = {
    f"GIT_{part}_{key}": value
    for part in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"), ("DATE", DATE))
}
_OURS = ("GIT_", "HORNBOOK_", "CLAUDE_", "CI", "GITHUB_", "COLUMNS", "NO_COLOR", "FORCE_COLOR")
_SECONDS = re.compile(r"\b\d+\.\d+ ?(seconds|s)\b")
_CONFINED = re.compile(r"\b(landlock|bubblewrap|bwrap|seatbelt)\b")
_OF_THE_MACHINE = re.compile(r"(?:warning: )?(?:\w+: )?Landlock does not ")
_SECONDS_XML = re.compile(r'\btime="[\d.]+"')
_HASH = re.compile(r"\b[0-9a-f]{12,64}\b")
_STEADY = {"tree", "prompt_sha256"}


def environment() -> dict[str, str]:
    """Ours without what would change an answer."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    own = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return {**kept, **own, **nobody, "PYTHONWARNINGS": "ignore"}


def git(root: Path, *arguments: str) -> str:
    """What git prints; always the same author at the same time, so that hashes are the same."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", "-c", "core.autocrlf=false", "-C", str(root), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**clean, **config, **WHO},
    ).stdout.strip()


class Story:
    """A repository, the commands played on it, and what they answered."""

    def __init__(self, player: Player, root: Path, *, timed: bool = False) -> None:
        self.root = root
        self.answers: dict[str, dict[str, object]] = {}
        self._player = player
        self._timed = timed
        self._minute = 0
        self._hashes: dict[str, str] = {}
        self._home = root.parent / "home"
        for folder in (root, self._home):
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files into the repository."""
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())

    def begin(self, files: Mapping[str, str]) -> None:
        """Make the repository with a first commit of these files."""
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "config", "user.email", "ann@example.org")  # who acts stands in events
        self.commit(files)

    def commit(self, files: Mapping[str, str]) -> str:
        """Commit these files and whatever else was changed."""
        self.write(files)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "work")
        return git(self.root, "rev-parse", "HEAD")

    def ask(
        self,
        name: str,
        *arguments: str,
        stdin: str = "",
        files: Sequence[str] = (),
        told: bool = True,
        **more: str,
    ) -> Any:  # the JSON that it printed, or its text
        """Play a command and keep its answer under a name, with the files that it wrote.

        `told` says whether stderr is kept: what a long run tells on its way depends on its speed.
        """
        assert name not in self.answers, f"two answers are called {name}"
        played = self.play(*arguments, stdin=stdin, **more)
        kept: dict[str, object] = {
            "command": self.plain(["hornbook", *arguments]),
            "code": played.code,
            "out": self.plain(_read(played.out)),
        }
        if told:
            kept["err"] = self.plain(played.err.splitlines())
        if files:
            kept["files"] = {
                path: self.plain(_read((self.root / path).read_text())) for path in files
            }
        self.answers[name] = kept
        return _read(played.out)

    def both(self, name: str, *arguments: str) -> Any:  # the JSON
        """Play a command for people and for programs; the JSON."""
        self.ask(f"{name}-text", *arguments)
        return self.ask(name, *arguments, "--json")

    def play(self, *arguments: str, stdin: str = "", **more: str) -> Played:
        """Play a command a minute after the one before it, and keep nothing."""
        self._minute += 1
        own = {"HOME": str(self._home), **more}
        return self._player.play(list(arguments), self.root, self._minute, stdin, **own)

    def plain(self, value: Any, key: str = "") -> Any:  # JSON in, JSON out
        """A value without what is volatile."""
        if isinstance(value, Mapping):
            return {name: self.plain(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.plain(each) for each in value if not _is_of_the_machine(each)]
        if key == "seconds" or (self._timed and key == "steps"):
            return f"<{key}>"
        if not isinstance(value, str):
            return value
        text = self._plain_text(value)
        return _HASH.sub(self._numbered, text) if self._timed and key not in _STEADY else text

    def _numbered(self, found: "re.Match[str]") -> str:
        """The same word for the same hash, short or long: what equals what is still compared."""
        return self._hashes.setdefault(found[0][:12], f"<hash {len(self._hashes) + 1}>")

    def _plain_text(self, text: str) -> str:
        for path in (str(self.root.resolve()), str(self.root)):
            text = text.replace(path, "<root>")
        text = text.replace(str(self.root.resolve().parent), "<above>")
        text = _SECONDS_XML.sub('time="<seconds>"', _SECONDS.sub("<seconds>", text))
        return _CONFINED.sub("<confinement>", text)


def _is_of_the_machine(line: object) -> bool:
    """Whether a line only says what the confinement of this machine cannot hold."""
    return isinstance(line, str) and _OF_THE_MACHINE.match(line) is not None


def _read(text: str) -> Any:
    """JSON as it is, anything else as its lines: either can be read in a diff."""
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


@cache
def _player() -> Player:
    """One for all stories of a process: to load everything takes longer than most stories."""
    player = Player(environment())
    atexit.register(player.close)
    return player


def tell(folder: Path, name: str, *, timed: bool = False) -> Story:
    """A new story in a folder."""
    return Story(_player(), folder / name, timed=timed)
