"""The table of runs that lives on a terminal, for whoever executes one and whoever looks on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornbook.cli.output import Styled, harmless, table_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HEADS = ("status", "run", "time", "tokens", "cost", "phase, attempt, last action")
STYLES = {
    "approved": "green",
    "asking": "bold yellow",
    "waiting": "yellow",
    "running": "blue",
    "failed": "red",
    "timed_out": "red",
    "stopped": "dim",
    "superseded": "dim",
    "handed_on": "dim",
}


@dataclass(frozen=True, slots=True)
class GlancedRun:
    """A run as the table shows it; `said` is its message, else the last thing that it did."""

    status: str
    run: str
    phase: str
    attempt: int
    seconds: int
    tokens: int
    cost: str
    said: str

    def cells(self) -> tuple[str, ...]:
        """The cells of its row: eighty columns hold them, since what is long stands in the last."""
        minutes, seconds = divmod(self.seconds, 60)
        attempt = f"attempt {self.attempt}" if self.attempt else ""
        first = harmless(self.said.splitlines()[0]) if self.said else ""
        return (
            Styled(self.status, STYLES.get(self.status, "")),
            self.run,
            f"{minutes}:{seconds:02}",
            str(self.tokens or ""),
            self.cost,
            ", ".join(filter(None, (self.phase, attempt, first))),
        )


def run_table(runs: Sequence[GlancedRun]) -> "Table":
    """The table of runs; their names are never broken, so that they can be copied."""
    return table_of([each.cells() for each in runs], heads=HEADS, whole=1)


@contextmanager
def live_runs(
    console: "Console", *, transient: bool = False
) -> Iterator[Callable[[Sequence[GlancedRun]], None]]:
    """Draw the table anew whenever it is told the runs."""
    from rich.live import Live

    with Live(console=console, transient=transient, refresh_per_second=4) as live:
        yield lambda runs: live.update(run_table(runs))
