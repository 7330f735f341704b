"""Every error that Hornbook raises on purpose.

```
HornbookError
├── UsageError            the caller asked for something that cannot be (exit 2)
│   ├── ConfigError       .hornbook/config.yaml or another definition is wrong
│   ├── BadGlob           a pattern is not in the dialect
│   └── BadQuery          a SPARQL or GraphQL text is refused
│       ├── NoForm        its answer cannot be had in a form that was asked for
│       └── TooLarge      its answer is larger than allowed
├── TooSlow               a query was ended: it took too long or too much memory
├── Busy                  something is going on that the request would have to wait for
├── NotFound              no such entity, revision or file (exit 1)
├── NotAPerson            only a person may do this, and whoever asks is none (exit 1)
├── PlanIncomplete        a plan whose sections are empty cannot be committed to (exit 1)
├── StoreError            the index on disk cannot be used; `ingest --rebuild` makes it anew
├── RemoteStoreFailed     the graph store that others run is away, or answers wrongly
├── DiskFailed            the disk is full or failed, a limit is reached, a right is missing
├── RunEnded              the run that gates ran for was ended beside them: they say nothing
├── EventLogError         the log of a plan is damaged, or its export contradicts it
└── EngineError           the engine cannot run, or will not touch a run as it is
    └── PlanHeld          another process works on the plan
```
"""


class HornbookError(Exception):
    """Base of all errors a caller of Hornbook may meet."""


class UsageError(HornbookError):
    """The request itself is wrong; nothing was done."""


class ConfigError(UsageError):
    """A definition file is wrong: carries every problem found in it, one line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class BadGlob(UsageError):
    """A pattern outside the dialect: the pattern, where it fails and what to write instead."""

    def __init__(self, pattern: str, position: int, found: str, remedy: str) -> None:
        super().__init__(f"pattern {pattern!r}, character {position + 1}: {found}: {remedy}.")
        self.pattern = pattern
        self.position = position
        self.found = found
        self.remedy = remedy


class BadQuery(UsageError):
    """A query text that does not parse or asks for what is not allowed."""


class NoForm(BadQuery):
    """A query whose answer cannot be had in a form that was asked for."""


class TooLarge(BadQuery):
    """A query whose answer is larger than allowed; it is refused, never cut."""


class TooSlow(HornbookError):
    """A query was ended because it took too long or too much memory."""


class Busy(HornbookError):
    """Something is going on that the request would have to wait for."""


class NotFound(HornbookError):
    """Nothing has that name."""


class NotAPerson(HornbookError):
    """What was asked for needs a human principal; nothing was done."""


class PlanIncomplete(HornbookError):
    """A plan has empty sections and stays an exploration: carries what is missing, a line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class StoreError(HornbookError):
    """The index on disk cannot be opened or is damaged."""


class RemoteStoreFailed(HornbookError):
    """The graph store that somebody else runs is away or answers wrongly: nothing is lost."""


class DiskFailed(HornbookError):
    """The disk, a limit or a right keeps us from a file: what it holds is not damaged."""


class RunEnded(HornbookError):
    """A run was ended while gates ran for it: they were ended, too, and say nothing."""


class EventLogError(HornbookError):
    """A plan's events cannot be read, do not follow each other, or contradict their export."""


class DatabaseFailed(HornbookError):
    """The database of events is damaged, or is none; the message is its driver's."""


class DatabaseAway(DatabaseFailed):
    """The database is busy or cannot be reached: what it holds is not lost."""


class KeyTaken(DatabaseFailed):
    """A row with the same key is there already."""


class EngineError(HornbookError):
    """The engine cannot do this with a run as it is now, or cannot run at all."""


class PlanHeld(EngineError):
    """Another process works on the plan; the message says which one, where and since when."""
