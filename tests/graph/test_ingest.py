import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyoxigraph import Literal, Store

from hornbook import Workspace
from hornbook.disk import canonical_time
from hornbook.errors import NotFound, UsageError
from hornbook.graph import documents
from hornbook.graph.ingest.report import IngestReport
from hornbook.vocabulary.terms import Activation
from tests.kit.workspaces import ERROR_HANDLING, SOPS, with_the_example_sop, write

ERRORS = "source.doc.sops.error-handling"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_the_example_sop(tmp_path)


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.removed, report.unchanged


def exported(root: Path) -> bytes:
    with Workspace.open(root) as work:
        return work.export()


def ingest(root: Path, *paths: str, rebuild: bool = False) -> IngestReport:
    with Workspace.open(root) as work:
        return work.ingest([root / path for path in paths], rebuild=rebuild)


def test_a_first_ingest_adds_every_document(root: Path) -> None:
    report = ingest(root)
    assert counts(report) == (2, 0, 0, 0)
    assert report.documents == 2
    assert report.chunks == 2
    assert report.problems == ()


def test_an_ingest_without_changes_changes_nothing(root: Path) -> None:
    ingest(root)
    before = exported(root)
    assert counts(ingest(root)) == (0, 0, 0, 2)
    assert exported(root) == before


def test_an_edit_keeps_the_id_and_adds_a_revision(root: Path) -> None:
    ingest(root)
    write(root, {f"{SOPS}/error-handling.md": ERROR_HANDLING + "3. Log once\n"})
    assert counts(ingest(root)) == (0, 1, 0, 1)
    with Workspace.open(root) as work:
        assert work.snapshot().document(ERRORS).requirements[-1] == "Log once"
        lines = work.history(ERRORS)
        assert [line.event for line in lines] == ["added", "changed"]
        assert work.text_of(lines[0].sha256) == ERROR_HANDLING.encode()
        revisions = documents.revisions(work.snapshot().store, ERRORS)
        assert {each.id for each in revisions} == {line.revision for line in lines}


def test_an_edit_of_the_same_size_within_one_clock_tick_is_seen(root: Path) -> None:
    path = root / SOPS / "error-handling.md"
    ingest(root)
    facts = path.stat()
    path.write_text(ERROR_HANDLING.replace("identifiers", "identifierz"))
    import os

    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert counts(ingest(root)) == (0, 1, 0, 1)


def test_a_removed_file_leaves_a_tombstone_with_its_past(root: Path) -> None:
    ingest(root)
    (root / SOPS / "error-handling.md").unlink()
    assert counts(ingest(root)) == (0, 0, 1, 1)
    with Workspace.open(root) as work:
        snapshot = work.snapshot()
        assert ERRORS not in snapshot.ids
        assert ("source.meta.status", "removed") in snapshot.thing(ERRORS).triples
        assert [line.event for line in work.history(ERRORS)] == ["added", "removed"]
        with pytest.raises(NotFound):
            snapshot.document(ERRORS)


def test_a_file_that_comes_back_is_current_again(root: Path) -> None:
    path = root / SOPS / "error-handling.md"
    ingest(root)
    path.unlink()
    ingest(root)
    path.write_text(ERROR_HANDLING)
    assert counts(ingest(root)) == (1, 0, 0, 1)
    with Workspace.open(root) as work:
        events = [line.event for line in work.history(ERRORS)]
        assert events == ["added", "removed", "added"]
        assert ("source.meta.status", "ready") in work.snapshot().thing(ERRORS).triples


def test_a_renamed_file_keeps_a_link_to_its_former_path(root: Path) -> None:
    ingest(root)
    (root / SOPS / "error-handling.md").rename(root / SOPS / "errors.md")
    assert counts(ingest(root)) == (1, 0, 1, 1)
    with Workspace.open(root) as work:
        entry = work.snapshot().by_id["source.doc.sops.errors"]
        assert entry.formerly == (f"{SOPS}/error-handling.md",)
        revision = documents.revisions(work.snapshot().store, entry.id)[0]
        assert revision.derived_from[0].startswith(f"{ERRORS}.rev.")


def test_a_moved_file_with_the_same_name_keeps_its_id(root: Path) -> None:
    ingest(root)
    target = root / ".hornbook/sources/docs/sops/error-handling.md"
    target.parent.mkdir(parents=True)
    (root / SOPS / "error-handling.md").rename(target)
    assert counts(ingest(root)) == (0, 1, 0, 1)
    with Workspace.open(root) as work:
        entry = work.snapshot().by_id[ERRORS]
        assert entry.path == ".hornbook/sources/docs/sops/error-handling.md"
        assert entry.formerly == (f"{SOPS}/error-handling.md",)


def edit_everything(root: Path) -> None:
    """A history with every kind of event in it."""
    ingest(root)
    write(root, {"AGENTS.md": "# Agents\n\nBe brief.\n", "guides/intro.md": "# Intro\n"})
    ingest(root, "guides")
    write(root, {f"{SOPS}/error-handling.md": ERROR_HANDLING + "3. Log once\n"})
    ingest(root)
    (root / SOPS / "test-coverage.md").rename(root / SOPS / "coverage.md")
    ingest(root)
    write(root, {f"{SOPS}/error-handling.md": ERROR_HANDLING})
    (root / "AGENTS.md").unlink()
    ingest(root)
    write(root, {"AGENTS.md": "# Agents\n\nBe brief.\n", "docs/sops/error-handling.md": "# Mine\n"})
    ingest(root, "docs")
    ingest(root)


def test_rebuilding_builds_only_what_was_ingested(root: Path) -> None:
    write(root, {"docs/sops/mine.md": "# Mine\n"})
    ingest(root, "docs")
    before = exported(root)
    assert ingest(root, rebuild=True).documents == 1
    assert exported(root) == before


def test_rebuilding_gives_the_same_bytes(root: Path) -> None:
    edit_everything(root)
    before = exported(root)
    ingest(root, rebuild=True)
    assert exported(root) == before
    shutil.rmtree(root / ".hornbook/store")
    ingest(root)
    assert exported(root) == before


def test_a_second_copy_of_the_files_gives_the_same_bytes(root: Path, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    other = with_the_example_sop(tmp_path_factory.mktemp("other"))
    ingest(root)
    ingest(other)
    assert exported(root) == exported(other)


def test_the_catalog_equals_what_the_graph_says(root: Path) -> None:
    edit_everything(root)
    with Workspace.open(root) as work:
        snapshot = work.snapshot()
        derived = documents.catalog(snapshot.store)
        assert derived.entries == snapshot.catalog.entries
        assert derived.removed == snapshot.catalog.removed
        assert derived.signatures == snapshot.catalog.signatures
        assert snapshot.registry.version == snapshot.version


def test_every_document_reads_back_whole(root: Path) -> None:
    edit_everything(root)
    with Workspace.open(root) as work:
        for entry in work.snapshot().catalog.entries:
            document = work.snapshot().document(entry.id)
            text = (root / entry.path).read_bytes()
            assert (document.head + document.body).encode() == text
            for chunk in document.chunks:
                assert text[chunk.start : chunk.end].decode() == chunk.content


def test_what_was_named_once_is_followed(root: Path) -> None:
    write(root, {"guides/intro.md": "# Intro\n\nHello.\n"})
    ingest(root, "guides")
    write(root, {"guides/more.md": "# More\n\nHello.\n"})
    report = ingest(root)
    assert report.documents == 4


def test_naming_a_path_touches_only_what_is_below_it(root: Path) -> None:
    ingest(root)
    (root / SOPS / "error-handling.md").unlink()
    write(root, {"guides/intro.md": "# Intro\n"})
    assert counts(ingest(root, "guides")) == (1, 0, 0, 2)


def test_two_files_that_want_one_id_both_live(root: Path) -> None:
    write(root, {".hornbook/sources/docs/sops/error-handling.md": "# Other\n"})
    report = ingest(root)
    assert report.documents == 3
    clash = next(problem for problem in report.problems if problem.code == "id_clash")
    assert clash.path == f"{SOPS}/error-handling.md"
    with Workspace.open(root) as work:
        first, second = sorted(name for name in work.snapshot().ids if name.startswith(ERRORS))
        assert (first, len(second)) == (ERRORS, len(ERRORS) + 7)


def test_a_clash_that_ends_gives_the_id_back(root: Path) -> None:
    write(root, {".hornbook/sources/docs/sops/error-handling.md": "# Other\n"})
    ingest(root)
    (root / ".hornbook/sources/docs/sops/error-handling.md").unlink()
    report = ingest(root)
    assert not any(problem.code == "id_clash" for problem in report.problems)
    with Workspace.open(root) as work:
        assert work.snapshot().by_id[ERRORS].path == f"{SOPS}/error-handling.md"
    before = exported(root)
    ingest(root, rebuild=True)
    assert exported(root) == before


def test_a_path_outside_the_root_is_refused(root: Path) -> None:
    with Workspace.open(root) as work, pytest.raises(UsageError, match="outside the root"):
        work.ingest([root.parent])


def test_a_path_that_never_was_is_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        ingest(root, "no-such-folder")


def test_a_link_is_read_at_its_place(root: Path) -> None:
    write(root, {"AGENTS.md": "# Agents\n"})
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    report = ingest(root)
    assert report.problems == ()
    assert report.documents == 4


def test_a_file_that_cannot_be_decoded_is_a_document_with_a_problem(root: Path) -> None:
    (root / SOPS / "bad.md").write_bytes(b"---\napplies_to: '*.go'\n---\n# Bad\n\xff\xfe text\n")
    report = ingest(root)
    assert report.documents == 3
    problem = next(each for each in report.problems if each.code == "invalid_utf8")
    assert (problem.path, problem.line) == (f"{SOPS}/bad.md", 5)


def test_a_file_that_is_too_large_is_listed_without_its_text(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "largest_file: 200\n"})
    report = ingest(root)
    problem = next(each for each in report.problems if each.code == "too_large")
    assert problem.path == f"{SOPS}/error-handling.md"
    with Workspace.open(root) as work:
        entry = work.snapshot().by_id[ERRORS]
        assert entry.activation is Activation.UNKNOWN
        assert entry.chunk_count == 0
        assert work.why(["a.go"])[0].not_enforced[0].id == ERRORS


def test_excluded_files_are_not_read(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "exclude: ['**/test-*.md']\n"})
    assert ingest(root).documents == 1


def test_configured_folders_are_read(root: Path) -> None:
    write(
        root,
        {".hornbook/config.yaml": "sources: [handbook]\n", "handbook/a.md": "# A\n\nText.\n"},
    )
    assert ingest(root).documents == 3


def test_new_limits_build_the_graph_anew(root: Path) -> None:
    ingest(root)
    write(
        root, {".hornbook/config.yaml": "chunk_minimum: 1\nchunk_target: 20\nchunk_maximum: 30\n"}
    )
    assert ingest(root).chunks > 2


def test_a_damaged_index_is_rebuilt_and_told(root: Path) -> None:
    ingest(root)
    before = exported(root)
    current = (root / ".hornbook/store/CURRENT").read_text()
    (root / f".hornbook/store/generations/{current}/catalog").write_bytes(b"garbage")
    report = ingest(root)
    assert [problem.code for problem in report.problems] == ["index_rebuilt"]
    assert exported(root) == before


def test_strict_tells_a_file_that_is_not_utf8_once(root: Path) -> None:
    (root / "AGENTS.md").write_bytes("# Rules\n".encode("utf-16"))
    with Workspace.open(root) as work:
        report = work.ingest(strict=True)
    assert [each.code for each in report.problems if each.path == "AGENTS.md"] == ["not_utf8"]


def test_strict_knows_every_reason_why_an_include_is_not_read(root: Path) -> None:
    texts = "# Rules\n\nNames MUST be short. See @.gitlab-ci.yml and @~/mine.md.\n"
    write(root, {"AGENTS.md": texts, ".gitlab-ci.yml": "a: 1\n"})
    with Workspace.open(root) as work:
        assert not [each for each in work.ingest(strict=True).problems if each.code == "shape"]
        (answer,) = work.why(["x.py"])
    assert {each.reason for each in answer.left_out} == {"not_prose", "personal"}


def test_strict_finds_nothing_wrong_with_what_we_write(root: Path) -> None:
    edit_everything(root)
    with Workspace.open(root) as work:
        report = work.ingest(strict=True)
        assert not [problem for problem in report.problems if problem.code == "shape"]


def test_derived_folders_are_ignored_by_git(root: Path) -> None:
    ingest(root)
    ignored = (root / ".hornbook/.gitignore").read_text().splitlines()
    assert {"/store/", "/objects/"} <= set(ignored)


@pytest.mark.parametrize(
    ("micro", "shown"), [(866060, "11:49:26.86606Z"), (0, "11:49:26Z"), (1, "11:49:26.000001Z")]
)
def test_times_are_written_as_the_store_gives_them_back(micro: int, shown: str) -> None:
    moment = datetime(2026, 11, 16, 11, 49, 26, micro, tzinfo=UTC)
    text = canonical_time(moment)
    assert text == f"2026-11-16T{shown}"
    store = Store()
    time = "<http://www.w3.org/2001/XMLSchema#dateTime>"
    store.update(f'INSERT DATA {{ <urn:a> <urn:b> "{text}"^^{time} }}')
    (quad,) = store
    assert isinstance(quad.object, Literal)
    assert quad.object.value == text
