"""What is wrong with one document, gathered so that all of it is told at once."""

from hornbook.model import Level, Problem


class Problems:
    """The problems of the document at `path`, in the order they were met."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._found: list[Problem] = []

    def error(self, line: int | None, code: str, message: str) -> None:
        """Add a problem that keeps the document from being used as meant."""
        self._add(Level.ERROR, line, code, message)

    def warning(self, line: int | None, code: str, message: str) -> None:
        """Add a problem that somebody should look at."""
        self._add(Level.WARNING, line, code, message)

    def info(self, line: int | None, code: str, message: str) -> None:
        """Add a remark."""
        self._add(Level.INFO, line, code, message)

    def told(self) -> tuple[Problem, ...]:
        """Return every problem once, ordered by line."""
        return tuple(sorted(dict.fromkeys(self._found), key=lambda found: found.line or 0))

    def extend(self, problems: tuple[Problem, ...]) -> None:
        """Add problems that were found elsewhere in the same document."""
        self._found.extend(problems)

    def _add(self, level: Level, line: int | None, code: str, message: str) -> None:
        self._found.append(Problem(self.path, line, code, level, message))
