"""The table of runs that lives on a terminal."""

from rich.console import Console

from hornbook.cli.run_table import GlancedRun, run_table

RUN = GlancedRun(
    status="superseded",
    run="prices-with-tax-t12-1",
    phase="retry_developer_feedback",
    attempt=3,
    seconds=4325,
    tokens=1234567,
    cost="12.50 USD",
    said="claude: edit src/prices/tax.py\nand more",
)


def test_eighty_columns_hold_a_run_and_break_nothing_but_its_last_cell() -> None:
    console = Console(width=80)
    with console.capture() as printed:
        console.print(run_table([RUN]))
    lines = [line.strip() for line in printed.get().splitlines() if line.strip()]
    assert max(map(len, lines)) <= 80
    first = next(line for line in lines if line.startswith("superseded"))
    assert first.split()[:6] == [
        "superseded", "prices-with-tax-t12-1", "72:05", "1234567", "12.50", "USD"
    ]  # fmt: skip


def test_a_row_tells_phase_attempt_and_the_first_line_of_what_was_said() -> None:
    told = "retry_developer_feedback, attempt 3, claude: edit src/prices/tax.py"
    assert RUN.cells()[-1] == told
