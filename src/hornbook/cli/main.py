"""The `hornbook` command: hooks start without the command line's libraries, all else with them."""

import atexit
import gc
import os
import sys

TYPE_CHECKING = False  # importing typing would cost every hook some of its start-up time
if TYPE_CHECKING:
    from hornbook.cli.app import app
    from hornbook.hooks.active_file import Active

    __all__ = ["app", "main"]


def __getattr__(name: str) -> object:
    """Load the commands only when they are asked for."""
    if name == "app":
        from hornbook.cli.app import app

        return app
    raise AttributeError(f"module 'hornbook.cli.main' has no attribute {name!r}")


def main() -> None:
    """Run the command line; 0 done, 1 found something or refused, 2 usage or configuration."""
    # The interpreter looks for cycles among all objects once more before it ends, which costs more
    # than most commands. What is frozen is not looked at, and the process gives everything back.
    # The same search during a command goes over all that was imported, again and again, and is an
    # eighth of `execute`; a command has little garbage in cycles. `serve` goes back to the usual.
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)
    called = hook_call(sys.argv[1:])
    if called is None:
        from hornbook.cli.app import run

        run()
        return
    try:
        code = answer_hook(*called)
    except BaseException as problem:  # noqa: BLE001  # any other code than 2 would let the call through
        sys.stderr.write(f"hornbook: {type(problem).__name__}: {problem}\n")
        code = 2
    sys.exit(code)


def hook_call(arguments: list[str]) -> tuple[str, str | None] | None:
    """The event and the root of `[--root DIR] hook EVENT`; None if it is another command."""
    rest = list(arguments)
    root = None
    if rest[:1] == ["--root"] and len(rest) > 1:
        root = rest[1]
        del rest[:2]
    elif rest and rest[0].startswith("--root="):
        root = rest.pop(0).partition("=")[2]
    if len(rest) == 2 and rest[0] == "hook" and not rest[1].startswith("-"):
        return rest[1], root
    return None


def answer_hook(event: str, root: str | None) -> int:
    """Answer the event on stdin; the exit code, which is never 1."""
    from hornbook.hooks.entry import EVENTS, HookEnvironment, run

    if event not in EVENTS:
        sys.stderr.write(f"hornbook: no hook {event!r}: known are {', '.join(EVENTS)}.\n")
        return 2
    folder = os.getcwd()  # noqa: PTH109  # pathlib costs start-up time
    return run(event, HookEnvironment(os.environ, folder, root, _compile, _checkpoint, _work_tree))


def _compile(root: str) -> "Active":
    from pathlib import Path

    from hornbook.hooks.compiler import compile_guard

    return compile_guard(Path(root))


def _checkpoint(root: str) -> str | None:
    """Checkpoint the active plan, if there is one; what was not as it should be, in words."""
    from pathlib import Path

    from hornbook.gates.definitions import check_gates
    from hornbook.loop.memory import Memory
    from hornbook.plans.active import active_plan
    from hornbook.settings.load import load
    from hornbook.settings.places import Places

    places = Places(Path(root))
    if active_plan(places.state) is None:
        return None
    done = Memory(places, load(places.root, check_gates)).checkpoint(automatic=True)
    found = [f"{each}; it is in quarantine" for each in done.violations]
    found += [f"{path} was edited and left as it is" for path in done.left]
    return f"checkpoint of plan {done.plan}: {'; '.join(found)}" if found else None


def _work_tree(root: str) -> str | None:
    from pathlib import Path

    from hornbook.commits.git_tampering import fingerprint

    return fingerprint(Path(root))


if __name__ == "__main__":
    main()
