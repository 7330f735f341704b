"""Writes the page about what the source documents ask for and Hornbook does otherwise.

`python -m tests.tools.requirements_page` writes it from `tests/data/requirements.tsv`, which has one
row for each requirement: its id, the requirement, how it stands, and how that was tried. A row that
differs names the decision. A test fails when the page is not what the rows give.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kit.paths import DATA, ROOT

ROWS = DATA / "requirements.tsv"
PAGE = ROOT / "docs" / "requirements.md"
HEADER = ("id", "requirement", "status", "how_tried")
STATUSES = ("works", "differs", "deferred", "partly", "missing")
DOCUMENTS = {
    "S0": "validation layers and context budgets",
    "S1": "pipeline and adversarial roles",
    "S2": "context settings",
    "S3": "minimal context",
    "S4": "tiered context",
    "C": "the design card",
}
NOT_YET = frozenset({"partly", "missing"})


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement; what was tried says for one that differs which decision it was."""

    id: str
    requirement: str
    status: str
    how_tried: str

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands among the others: by document, then by number."""
        document, _, number = self.id.partition("-")
        return list(DOCUMENTS).index(document), int(number)


def read_rows(text: str) -> list[Row]:
    """The rows of the table.

    Raises:
        ValueError: A line is none; names it and says why.
    """
    header, *lines = text.splitlines()
    if tuple(header.split("\t")) != HEADER:
        raise ValueError(f"the header is {header!r}")
    rows = []
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(HEADER) or not all(each.strip() for each in cells):
            raise ValueError(f"line {number}: {len(HEADER)} filled cells are needed: {line!r}")
        row = Row(*cells)
        if row.status not in STATUSES:
            raise ValueError(f"line {number}: {row.status!r} is none of {', '.join(STATUSES)}")
        rows.append(row)
    return rows


def page(rows: Sequence[Row]) -> str:
    """The page: how many there are of each, and those that differ or are not whole yet."""
    lines = [
        "# What differs from the sources",
        "",
        "Hornbook follows five source documents and a design card. Their requirements were gone through",
        "sentence by sentence; each is a row of `tests/data/requirements.tsv` with how it was tried. This page",
        "is made from these rows by `python -m tests.tools.requirements_page` and lists what Hornbook does",
        "otherwise, with the decision behind it. Numbers such as *decision 7* are those of the design's list of",
        "decisions at that time, numbers such as *0010* are [decisions](index.md#decisions) of this repository.",
        "",
        f"| document | rows | {' | '.join(STATUSES)} |",
        f"|---|---|{'---|' * len(STATUSES)}",
    ]
    for document, title in DOCUMENTS.items():
        counted = Counter(row.status for row in rows if row.id.startswith(f"{document}-"))
        if counted:
            cells = " | ".join(str(counted[status]) for status in STATUSES)
            lines.append(f"| {document}, {title} | {sum(counted.values())} | {cells} |")
    lines += _listed("Decided otherwise", rows, frozenset({"differs"}))
    lines += _listed("Deferred by the sources themselves", rows, frozenset({"deferred"}))
    lines += _listed("Not whole yet", rows, NOT_YET)
    return "\n".join(lines) + "\n"


def _listed(heading: str, rows: Sequence[Row], statuses: frozenset[str]) -> list[str]:
    found = [row for row in rows if row.status in statuses]
    if not found:
        return []
    return [
        "",
        f"## {heading}",
        "",
        "| row | requirement | what holds |",
        "|---|---|---|",
        *(f"| {row.id} | {_cell(row.requirement)} | {_cell(row.how_tried)} |" for row in found),
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main(target: Path = PAGE) -> None:
    """Write the page."""
    target.write_text(page(read_rows(ROWS.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
