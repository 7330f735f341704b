"""Processes that work beside this one: started, looked after, and ended with it."""

import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_READ = 16 * 1024


class BackgroundProcess:
    """A process in a session of its own that writes everything it says to a log.

    `ended` is called once with its exit code, from a thread.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        ended: Callable[[int], None],
    ) -> None:
        self._log = log
        self._ended = ended
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._from = output.tell()
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        self._waiter = threading.Thread(target=self._wait, name="apart", daemon=True)
        self._waiter.start()

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def last_output(self) -> str:
        """The end of what it said, as far as it is text."""
        with self._log.open("rb") as output:
            size = output.seek(0, 2)
            output.seek(max(self._from, size - _READ))
            return output.read().decode("utf-8", "replace")

    def stop(self, patience: float) -> None:
        """Have it end; after some seconds it is ended."""
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
        self._waiter.join(patience)

    def _wait(self) -> None:
        self._ended(self._process.wait())


class SupervisedProcess:
    """A process that hears by the end of its stdin that it is to come to its end.

    So it also ends if this one is killed. `hear` is given its lines, from a thread.
    """

    def __init__(
        self, command: Sequence[str], *, folder: Path, hear: Callable[[str], None]
    ) -> None:
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,  # a terminal's signals are for this process, which tells it
        )
        self._reader = threading.Thread(target=self._read, args=(hear,), name="lines", daemon=True)
        self._reader.start()

    def ask_to_end(self) -> None:
        """Have it come to its end in its own time."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()

    def wait(self) -> int:
        """How it ended, once it has and all of its lines were heard."""
        code = self._process.wait()
        self._reader.join()
        self.ask_to_end()
        return code

    def _read(self, hear: Callable[[str], None]) -> None:
        if self._process.stdout is None:
            raise TypeError("the process has no pipe")
        with self._process.stdout as lines:
            for line in lines:
                hear(line.decode("utf-8", "replace").rstrip("\n"))
