"""Borders that the mutants showed nobody stood on."""

from pathlib import Path

from hornbook import Workspace


def test_a_task_of_just_the_limit_fits_and_a_token_more_does_not(tmp_path: Path) -> None:
    seen: dict[int, bool] = {}
    with Workspace.open(tmp_path) as work:
        work.ingest()
        for length in range(1, 100):
            (tmp_path / "a.txt").write_text("x" * length)
            sized = work.size(["a.txt"], window=16_400)
            assert sized.limit == 16
            seen[sized.estimate] = sized.fits
    assert {16, 17} <= seen.keys()
    assert all(fits == (estimate <= 16) for estimate, fits in seen.items())
