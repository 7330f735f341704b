"""`hornbook replay` for people: a table that fits the terminal, then sentences."""

from io import StringIO

import pytest
from rich.console import Console

from hornbook import Workspace
from hornbook.cli.commands.replay import _row, _sentences, _table
from hornbook.doctor.replay import Replay
from tests.kit.histories import Made, make_history

LONG = "A subject that goes on and on, as subjects do that a person wrote without a limit (#12345)"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    root = tmp_path_factory.mktemp("replayed")
    rule = "---\nglobs: '*.sql'\n---\n\n# SQL\n"
    begin = Made({"AGENTS.md": "# House\n\nBe kind.\n", ".cursor/rules/sql.mdc": rule}, "Begin")
    make_history(root, [begin, Made({"a.py": "a = 1\n"}, LONG), Made({"a.py": "a = 2\n"}, "Short")])
    with Workspace.open(root) as work:
        return work.replay()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_change_is_one_line_that_is_not_wider_than_the_terminal(
    found: Replay, width: int
) -> None:
    out = StringIO()
    heads = ("date", "commit", "subject", "files", "rules", "tokens", "outcome")
    rows = [_row(each) for each in found.changes]
    Console(file=out, width=width, color_system=None).print(_table(rows, heads, width))
    lines = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    assert len(lines) == 2 + len(rows)
    assert max(map(len, lines)) <= width
    for line, change in zip(lines[2:], found.changes, strict=True):
        assert line.split()[:2] == [change.step.date[:10], change.step.commit[:8]]
        assert change.step.subject[:12] in line
        assert line.endswith(("complete", "not judged"))


def test_the_summary_is_told_in_sentences(found: Replay) -> None:
    first = found.changes[0].step.commit[:8]
    most = max(found.changes, key=lambda each: each.packet.tokens)
    assert list(_sentences(found, None)) == [
        "3 changes: 2 complete, 0 in passes, 0 refused, 0 too big, 1 not judged.",
        f"The largest complete packet, of {most.step.commit[:8]}, has {most.packet.tokens} tokens.",
        f"Not judged: {first}: {found.changes[0].packet.reasons[0].message}",
        "1 rule bound none of them: .cursor/rules/sql.mdc.",
    ]
