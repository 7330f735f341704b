"""A plugin for `make quick`: a test that is about to start a process is skipped there and then.

Nobody keeps a list of such tests: the interpreter tells of every start, and it is refused. Whatever
becomes of the refusal on its way to the test, the test is skipped; `make test` runs it.
"""

import multiprocessing.util
import sys
from collections.abc import Iterator
from typing import Any

import pytest

STARTS = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})  # fmt: skip
REASON = "starts a process: `make test` runs it"


class Refusals:
    """Whether a start was refused since the last test began."""

    active = False
    refused = False


def _refuse(event: str, _given: object) -> None:
    if event in STARTS and Refusals.active:
        Refusals.refused = True
        pytest.skip(REASON)


def pytest_configure(config: pytest.Config) -> None:
    """Look at every start from now on."""
    del config
    sys.addaudithook(_refuse)
    spawn = multiprocessing.util.spawnv_passfds  # which the interpreter does not tell of

    def refused(*given: Any) -> int:  # handed on as they are
        _refuse("os.fork", given)
        return spawn(*given)

    setattr(multiprocessing.util, "spawnv_passfds", refused)  # noqa: B010  # its arguments are its own affair


def _watched() -> Iterator[None]:
    Refusals.active, Refusals.refused = True, False
    try:
        yield
    except BaseException:
        if Refusals.refused:
            pytest.skip(REASON)
        raise
    finally:
        Refusals.active = False
    if Refusals.refused:
        pytest.skip(REASON)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Fixtures may not start a process."""
    yield from _watched()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call() -> Iterator[None]:
    """Nor may the test."""
    yield from _watched()
