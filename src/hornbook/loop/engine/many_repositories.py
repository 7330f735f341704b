"""Workers for several repositories: one process for each checkout below some folders.

A process has one engine, and an engine one checkout, so a machine that serves many has as many
workers. One that ends by itself is begun again, a little later each time that it ends soon.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hornbook.errors import ConfigError, UsageError
from hornbook.plans.workspace_log import repository_of
from hornbook.process.background import SupervisedProcess
from hornbook.settings.load import load
from hornbook.settings.places import Places

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout that shares its database, and the name of its repository there."""

    repository: str
    root: Path


def checkouts(folders: Iterable[Path], pattern: str, tell: Tell) -> list[Checkout]:
    """The checkouts, at or directly below the folders, whose repositories have such a name.

    Those that cannot be served are told.

    Raises:
        UsageError: There is none.
    """
    found: dict[Path, Checkout] = {}
    others = set()
    for root in _settled(folders):
        try:
            settings = load(root)
            if not settings.engine.database:
                tell(f"{root} is left out: it names no `engine.database`, so it shares nothing")
                continue
            name = repository_of(Places(root), settings)
        except (ConfigError, UsageError) as problem:
            tell(f"{root} is left out: {problem}")
            continue
        if fnmatchcase(name, pattern):
            found[root] = Checkout(name, root)
        else:
            others.add(name)
    if not found:
        seen = f"there are {', '.join(sorted(others))}" if others else "there is no checkout at all"
        raise UsageError(
            f"no repository there has a name such as {pattern}: {seen}. Name a folder that is a "
            "checkout with `.hornbook/config.yaml`, or that such checkouts lie in."
        )
    return sorted(found.values(), key=lambda each: (each.repository, each.root))


def _settled(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders, and those in them, that have settings."""
    for folder in folders:
        below = sorted(each for each in folder.iterdir() if each.is_dir())
        for each in (folder, *below):
            if (each / ".hornbook" / "config.yaml").is_file():
                yield each.resolve()


def worker_command(checkout: Checkout) -> list[str]:
    """What works for one checkout until its stdin ends."""
    root = str(checkout.root)
    return [sys.executable, "-m", "hornbook", "--root", root, "worker", "--until-stdin-ends"]


class Workers:
    """The workers of some checkouts, each told by the name of its repository."""

    def __init__(
        self,
        served: Sequence[Checkout],
        tell: Tell,
        command: Callable[[Checkout], Sequence[str]] = worker_command,
        *,
        pause: float = FIRST_PAUSE,
    ) -> None:
        self._tell = tell
        self._command = command
        self._pause = pause
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._running: set[SupervisedProcess] = set()
        self._threads = [
            threading.Thread(target=self._serve, args=(each,), name=each.repository, daemon=True)
            for each in served
        ]

    def work(self, until: threading.Event) -> None:
        """Have all of them work until told to end, and come to the end of their steps then."""
        for thread in self._threads:
            thread.start()
        until.wait()
        with self._lock:
            self._ending.set()
            for process in self._running:
                process.ask_to_end()
        for thread in self._threads:
            thread.join()

    def kill(self) -> None:
        """End all of them now, whatever they do; others take over."""
        for process in list(self._running):
            process.kill()

    def _serve(self, checkout: Checkout) -> None:
        pause = self._pause
        while not self._ending.is_set():
            began = time.monotonic()
            with self._lock:
                if self._ending.is_set():
                    return
                process = SupervisedProcess(
                    self._command(checkout),
                    folder=checkout.root,
                    hear=lambda line: self._tell(f"{checkout.repository}: {line}"),
                )
                self._running.add(process)
            code = process.wait()
            with self._lock:
                self._running.discard(process)
            if self._ending.is_set():
                return
            pause = self._pause if time.monotonic() - began > LONGEST_PAUSE else pause
            self._tell(
                f"{checkout.repository}: its worker ended ({code}), and is begun again in "
                f"{pause:g} seconds"
            )
            self._ending.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
