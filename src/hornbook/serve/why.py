"""The rules of many files, as long as they can be sent."""

from collections.abc import Callable, Iterable, Sequence

from hornbook.errors import UsageError
from hornbook.graph.catalog_view import FileAnswer

# Files times the rules that each is told of; a rule takes up to a kilobyte until it is sent.
MOST_LINES = 200_000
PIECE = 20


def why_within(
    why: Callable[[Sequence[str]], Iterable[FileAnswer]], files: Sequence[str], piece: int = PIECE
) -> list[FileAnswer]:
    """The rules of each file, asked for a piece at a time.

    Raises:
        UsageError: A thousand files of ten thousand rules each are more than anybody can read.
    """
    answers: list[FileAnswer] = []
    lines = 0
    for start in range(0, len(files), piece):
        for answer in why(files[start : start + piece]):
            lines += 1 + len(answer.rules) + len(answer.not_enforced)
            answers.append(answer)
        if lines > MOST_LINES:
            raise UsageError(
                f"the answer for {len(files)} files has more than {MOST_LINES} rules, counted once "
                f"for each file: ask for fewer than {len(answers)} at a time."
            )
    return answers
