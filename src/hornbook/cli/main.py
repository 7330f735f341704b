"""The `hornbook` command: hooks start without the command line's libraries, all else with them."""

import sys

TYPE_CHECKING = False  # importing typing would cost every hook some of its start-up time
if TYPE_CHECKING:
    from hornbook.cli.app import app

    __all__ = ["app", "main"]


def __getattr__(name: str) -> object:
    """Load the commands only when they are asked for."""
    if name == "app":
        from hornbook.cli.app import app

        return app
    raise AttributeError(f"module 'hornbook.cli.main' has no attribute {name!r}")


def main() -> None:
    """Run the command line; 0 done, 1 found something or refused, 2 usage or configuration."""
    called = hook_call(sys.argv[1:])
    if called is None:
        from hornbook.cli.app import run

        run()
        return
    try:
        from hornbook.cli.hook_entry import answer

        code = answer(*called)
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


if __name__ == "__main__":
    main()
