"""Claims that the mutants showed nobody made: each of these tests kills one that survived."""

from pathlib import Path

from hornbook import Workspace
from tests.frozen import repositories as given
from tests.frozen.stories import tell


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


def test_an_export_is_in_the_order_of_its_lines(tmp_path: Path) -> None:
    story = tell(tmp_path, "sorted")
    story.begin(given.RULES)
    assert story.play("ingest").code == 0
    lines = story.play("export").out.splitlines()
    assert len(lines) > 100
    assert lines == sorted(lines)


def test_a_generation_that_is_read_stays_on_disk_until_it_is_let_go(tmp_path: Path) -> None:
    rule = tmp_path / given.SOPS / "naming.md"
    rule.parent.mkdir(parents=True)
    with Workspace.open(tmp_path) as writer:
        with Workspace.open(tmp_path) as reader:
            rule.write_text("# Naming\n\nOne.\n")
            writer.ingest()
            reader.snapshot()
            (read,) = _generations(tmp_path)
            for text in ("Two.", "Three."):
                rule.write_text(f"# Naming\n\n{text}\n")
                writer.ingest()
                assert read in _generations(tmp_path)
        rule.write_text("# Naming\n\nFour.\n")
        writer.ingest()
    assert read not in _generations(tmp_path)


def test_a_plan_that_leaves_out_what_it_must_say_is_not_fit(tmp_path: Path) -> None:
    story = tell(tmp_path, "unsaid")
    said = "`app/price.py` computes prices with one rate only.\n"
    assert said in given.PLAN
    story.begin({**given.SOURCES, "whole.md": given.PLAN, "less.md": given.PLAN.replace(said, "")})
    assert story.play("ingest").code == 0
    for name, code in {"whole": 0, "less": 1}.items():
        assert story.play("explore", name, "--from", f"{name}.md").code == 0
        assert story.play("plans", "check", name).code == code


def _generations(root: Path) -> set[Path]:
    """The folders of all generations that are there."""
    (folder,) = (root / ".hornbook").rglob("generations")
    return {path for path in folder.iterdir() if any(path.iterdir())}
