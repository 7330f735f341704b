"""What people and attackers tried once, and must not work again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.errors import BadQuery, StoreError, UsageError
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.sparql import answer
from tests.kit.commands import run_bytes
from tests.kit.workspaces import SOPS, with_the_example_sop, write

ERRORS = "source.doc.sops.error-handling"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_the_example_sop(tmp_path)


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    extra = ["-c", "protocol.file.allow=always"]
    command = ["git", *identity, *extra, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def committed(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "rules")


@pytest.mark.parametrize(
    "text",
    [
        'SELECT * { BIND("\\u005C" AS ?a) SERVICE <urn:x> { ?s ?p ?o } BIND(" AS ?z) #" AS ?b)\n}',
        "SELECT * { FILTER(?a<?b)SERVICE?x#>\n{ ?s ?p ?o } }",
        "ASK { \\u0053ERVICE <http://127.0.0.1:9/x> { ?s ?p ?o } }",
        "ASK {" + "{" * 5000 + "}" * 5000 + "}",
        "ASK { FILTER(" + "!" * 90000 + "true) }",
        "SELECT * { ?s ?p '" + "x" * 200_000 + "' }",
    ],
)
def test_no_query_reaches_out_or_overflows_a_stack(text: str) -> None:
    with pytest.raises(BadQuery):
        answer(OxigraphStore.in_memory(), text, None)


def test_from_names_the_graphs_that_are_asked(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        assert work.sparql("ASK { ?s ?p ?o }", "csv") == b"true\n"
        assert work.sparql("ASK FROM <urn:none> { ?s ?p ?o }", "csv") == b"false\n"


@pytest.mark.parametrize("garbage", [b"", b"\xff\xfe", b"\0", b"../../etc", b"999"])
def test_a_damaged_pointer_is_an_error_and_never_no_rules(root: Path, garbage: bytes) -> None:
    with Workspace.open(root) as work:
        work.ingest()
    (root / ".hornbook/store/CURRENT").write_bytes(garbage)
    done = run_bytes(root, "why", "a.go", "--json")
    assert done.returncode == 1
    assert b"ingest --rebuild" in done.stderr
    assert run_bytes(root, "ingest").returncode == 0
    assert b"error-handling.md" in run_bytes(root, "why", "a.go").stdout


def test_a_pointer_that_is_a_folder_can_be_rebuilt(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
    (root / ".hornbook/store/CURRENT").unlink()
    (root / ".hornbook/store/CURRENT").mkdir()
    assert run_bytes(root, "why", "a.go").returncode == 1
    assert run_bytes(root, "ingest").returncode == 0
    assert b"error-handling.md" in run_bytes(root, "why", "a.go").stdout


def test_a_damaged_graph_is_an_error_and_heals_with_the_next_ingest(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        before = work.export()
    for path in (root / ".hornbook/store/generations").glob("*/graph/*.sst"):
        path.write_bytes(b"garbage" * 100)
    with Workspace.open(root) as work, pytest.raises(StoreError, match="rebuild"):
        work.export()
    write(root, {"AGENTS.md": "# New\n"})
    with Workspace.open(root) as work:
        report = work.ingest()
        assert "index_rebuilt" in {problem.code for problem in report.problems}
        (root / "AGENTS.md").unlink()
        work.ingest()
        assert ERRORS in work.snapshot().ids
        assert len(work.export()) >= len(before)


def test_a_git_that_fails_is_never_an_empty_answer(root: Path) -> None:
    committed(root)
    tree = git(root, "rev-parse", "HEAD^{tree}")
    (root / f".git/objects/{tree[:2]}/{tree[2:]}").unlink()
    with Workspace.open(root) as work, pytest.raises(UsageError, match="git cannot read"):
        work.why(["a.go"], at="HEAD")


def test_a_missing_blob_is_named(root: Path) -> None:
    committed(root)
    blob = git(root, "rev-parse", f"HEAD:{SOPS}/error-handling.md")
    (root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    with Workspace.open(root) as work, pytest.raises(UsageError, match="git fsck"):
        work.why(["a.go"], at="HEAD")


def test_an_inherited_git_dir_does_not_change_which_rules_judge(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(root)
    other = tmp_path_factory.mktemp("other")
    write(other, {"AGENTS.md": "# Theirs\n"})
    committed(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    with Workspace.open(root) as work:
        (found,) = work.why(["a.go"], at="HEAD")
    assert [rule.id for rule in found.rules] == [ERRORS]


def test_settings_of_the_work_tree_do_not_judge_a_commit(root: Path) -> None:
    committed(root)
    write(root, {".hornbook/config.yaml": "exclude: ['**']\nreserve: 1\n"})
    with Workspace.open(root) as work:
        (found,) = work.why(["a.go"], at="HEAD")
    assert [rule.id for rule in found.rules] == [ERRORS]
    assert (found.reserve, found.reserve_from) == (30_000, "default")


def test_a_submodule_does_not_switch_gitignore_off(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    write(library, {"AGENTS.md": "# Library\n"})
    committed(library)
    write(root, {".gitignore": "build/\n", "build/AGENTS.md": "# Junk\n"})
    git(root, "init", "-q")
    git(root, "submodule", "add", "-q", str(library), "vendor/library")
    with Workspace.open(root) as work:
        work.ingest()
        assert "build/AGENTS.md" not in {e.path for e in work.snapshot().catalog.entries}


def refused(root: Path, *arguments: str) -> dict[str, Any]:
    """What a command answers that may read only what permissions let it, also where we are root."""
    command = [sys.executable, "-m", "hornbook", *arguments, "--json"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads everything"
)
def test_a_rule_that_nobody_may_read_is_named_until_it_can_be_read(root: Path) -> None:
    path = root / SOPS / "error-handling.md"
    refused(root, "ingest")
    assert not refused(root, "why", "a.go")["files"][0]["left_out"]
    path.chmod(0)
    for _ in range(2):
        [answer] = refused(root, "why", "a.go")["files"]
        assert not answer["rules"]
        left_out = [(each["path"], each["reason"]) for each in answer["left_out"]]
        assert left_out == [(f"{SOPS}/error-handling.md", "unreadable_file")]
        told = refused(root, "ingest")["problems"]
        assert "unreadable_file" in {each["code"] for each in told}
    path.chmod(0o644)
    [answer] = refused(root, "why", "a.go")["files"]
    assert [rule["id"] for rule in answer["rules"]] == [ERRORS]
    assert not answer["left_out"]


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads everything"
)
def test_a_folder_that_nobody_may_enter_is_named_where_its_rules_may_bind(root: Path) -> None:
    shut = {
        ".claude/rules": "# All\n",
        "build": "# Ignored\n",
        "data/[x]": "# Below\n",
        "docs/sops": "# Ours\n",
    }
    write(root, {f"{folder}/AGENTS.md": text for folder, text in shut.items()})
    write(root, {".gitignore": "build/\n", ".hornbook/config.yaml": "sources: [docs/sops]\n"})
    git(root, "init", "-q")
    for folder in shut:
        (root / folder).chmod(0)
    try:
        found = {
            path: {each["path"] for each in refused(root, "why", path)["files"][0]["left_out"]}
            for path in ("a.go", "data/[x]/a.go")
        }
    finally:
        for folder in shut:
            (root / folder).chmod(0o755)
    everywhere = {".claude/rules", "docs/sops"}
    assert found == {"a.go": everywhere, "data/[x]/a.go": {"data/[x]", *everywhere}}


def test_a_rule_whose_text_is_in_git_lfs_is_named(root: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 9\n".format("a" * 64)
    write(root, {"AGENTS.md": pointer, "docs/notes.md": pointer})
    committed(root)
    with Workspace.open(root) as work:
        work.ingest()
        work.ingest([root / "docs"])
        for [answer] in (work.why(["a.go"]), work.why(["a.go"], at="HEAD")):
            assert [rule.id for rule in answer.rules] == [ERRORS]
            left_out = [(each.path, each.reason) for each in answer.left_out]
            assert left_out == [("AGENTS.md", "lfs_pointer")]


def test_documents_in_a_folder_that_cannot_be_read_are_not_taken_for_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def shut(path: str) -> object:
        if str(path).endswith("/sops"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with Workspace.open(root) as work:
        work.ingest()
        with monkeypatch.context() as patch:
            patch.setattr("hornbook.rules.discover.os.scandir", shut)
            report = work.ingest()
        assert (report.removed, report.documents) == (0, 3)
        assert [problem.code for problem in report.problems] == ["unreadable_folder"]
        work.follows_files = False
        [answer] = work.why(["a.go"])
        assert [rule.id for rule in answer.rules] == [ERRORS]
        assert [(each.path, each.reason) for each in answer.left_out] == [
            (SOPS, "unreadable_folder")
        ]


def clashing(root: Path, names: str) -> None:
    text = "---\nid: same\napplies_to: '*.go'\n---\n# {}\n"
    write(root, {f"{SOPS}/{name}.md": text.format(name) for name in names})


def test_a_clash_that_moves_on_is_told_as_after_a_rebuild(root: Path) -> None:
    clashing(root, "abc")
    with Workspace.open(root) as work:
        work.ingest()
        (root / SOPS / "a.md").unlink()
        report = work.ingest()
        assert not any("a.md comes first" in problem.message for problem in report.problems)
        before = work.export()
        work.ingest(rebuild=True)
        assert work.export() == before


def test_a_damaged_kept_text_never_replaces_a_rule(root: Path) -> None:
    clashing(root, "ab")
    with Workspace.open(root) as work:
        work.ingest()
        digest = next(e.sha256 for e in work.snapshot().catalog.entries if e.path.endswith("/b.md"))
        kept = work.places.objects / digest[:2] / digest[2:]
        kept.write_bytes(kept.read_bytes().replace(b".go", b".xx"))
        (root / SOPS / "a.md").unlink()
        work.ingest()
        assert "source.doc.sops.same" in {rule.id for rule in work.why(["x.go"])[0].rules}


def test_a_rule_that_changed_since_it_was_ingested_is_not_handed_out(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        work.follows_files = False
        write(root, {f"{SOPS}/error-handling.md": "---\napplies_to: '*.rs'\n---\n# New\n"})
        with pytest.raises(UsageError, match="changed since it was ingested"):
            work.review_context(["a.go"])


def test_globs_name_the_files_they_match_or_are_refused(root: Path) -> None:
    write(root, {"a/x.go": "package x\n", "a/y.go": "package y\n"})
    with Workspace.open(root) as work:
        work.ingest()
        packet = work.review_packet(["a/*.go"])
        assert packet.made_for.files == ("a/x.go", "a/y.go")
        assert "package y" in (packet.context.text or "")
        with pytest.raises(UsageError, match="matches no file"):
            work.review_packet(["b/*.go"])


def test_a_large_file_stays_too_large_when_its_id_changes(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "largest_file: 2000\n"})
    clashing(root, "ab")
    with (root / SOPS / "b.md").open("a") as file:
        file.write("word " * 1000)
    with Workspace.open(root) as work:
        work.ingest()
        (root / SOPS / "a.md").unlink()
        work.ingest()
        before = work.export()
        work.ingest(rebuild=True)
        assert work.export() == before
        assert work.snapshot().by_id["source.doc.sops.same"].chunk_count == 0


def test_a_pipe_is_told_and_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "x.md")
    done = run_bytes(root, "ingest", "x.md", "--json")
    assert done.returncode == 0
    assert b"not_a_file" in done.stdout


def test_endings_in_capitals_are_read(root: Path) -> None:
    write(root, {f"{SOPS}/LOUD.MD": "---\napplies_to: '*.go'\n---\n# Loud\n"})
    with Workspace.open(root) as work:
        assert work.ingest().documents == 3


def test_patterns_on_a_document_that_is_no_rule_are_told(root: Path) -> None:
    write(root, {"notes.md": "---\napplies_to: '*.go'\n---\n# Notes\n"})
    with Workspace.open(root) as work:
        codes = {problem.code for problem in work.ingest([root / "notes.md"]).problems}
    assert "binds_nothing" in codes


def test_an_edit_that_keeps_size_and_time_is_seen(root: Path) -> None:
    path = root / SOPS / "error-handling.md"
    old = 1_500_000_000
    os.utime(path, (old, old))
    with Workspace.open(root) as work:
        work.ingest()
        path.write_text(path.read_text().replace("*.go", "*.rs"))
        os.utime(path, (old, old))
        assert work.ingest().changed == 1


@pytest.mark.parametrize("title", ["[/foo] x [/]", "[bold]x[/]", "t\x1b]0;owned\x07", "é \u202e"])
def test_texts_of_documents_steer_neither_markup_nor_terminal(root: Path, title: str) -> None:
    import json

    write(root, {f"{SOPS}/t.md": f"---\ntitle: {json.dumps(title)}\n---\n# T\n"})
    run_bytes(root, "ingest")
    for command in (("show", "source.doc.sops.t"), ("why", "[id]/[/]/page.tsx")):
        done = run_bytes(root, *command, PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in done.stdout
    assert b"[id]/[/]/page.tsx" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--root", "~nobody-here", "why", "a"), 2),
        (("export", "--output", "no/such/folder/x"), 1),
        (("query", "--text", ""), 1),
        (("serve", "--port", "99999999"), 2),
        (("why", os.fsdecode(b"\xff.go"), "--json"), 2),
        (("ingest", os.fsdecode(b"\xff.md")), 2),
        (("query", "latin.graphql"), 2),
    ],
)
def test_ordinary_mistakes_are_told_in_a_line(
    root: Path, arguments: tuple[str, ...], code: int
) -> None:
    (root / "latin.graphql").write_bytes(b"{ \xe9 }")
    done = run_bytes(root, *arguments)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "sources:\n",
        f"reserve: {'9' * 5000}\n",
        "sources: !!python/object/apply:os.system ['true']\n",
        "sources: " + "[" * 5000 + "\n",
        "? [a, b]\n: c\n",
        "a: &x [*x]\n",
        "just text\n",
        "\x00",
    ],
)
def test_a_broken_config_is_a_configuration_error(root: Path, text: str) -> None:
    write(root, {".hornbook/config.yaml": text})
    done = run_bytes(root, "why", "a.go")
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"config.yaml" in done.stderr


def test_a_state_folder_that_is_a_file_is_told(root: Path) -> None:
    (root / ".hornbook").write_text("x")
    done = run_bytes(root, "ingest")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_lost_history_is_told(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        work.places.journal.unlink()
        assert "history_lost" in {problem.code for problem in work.ingest().problems}


def test_a_start_that_is_not_there_reaches_nothing(root: Path) -> None:
    from hornbook.serve.graphql.schema import execute

    with Workspace.open(root) as work:
        work.ingest()
        found = execute(work, '{ traverse(start: "no.such") { nodes { id } } }', {})
    assert found == {"data": {"traverse": {"nodes": []}}}


def test_utf_16_without_a_mark_is_told(root: Path) -> None:
    (root / SOPS / "wide.md").write_bytes("# Wide\n\nMUST be read.\n".encode("utf-16-le"))
    with Workspace.open(root) as work:
        codes = {problem.code for problem in work.ingest().problems}
    assert "not_utf8" in codes


def test_an_include_that_leads_nowhere_is_told(root: Path) -> None:
    write(root, {"CLAUDE.md": "# Rules\n\nSee @docs/more.md and mail me@example.org\n"})
    with Workspace.open(root) as work:
        told = [p for p in work.ingest().problems if p.code == "broken_include"]
    assert [(problem.line, "docs/more.md" in problem.message) for problem in told] == [(3, True)]


def test_a_deleted_store_does_not_make_a_server_forget(root: Path) -> None:
    from hornbook.serve.leases import Leases

    with Workspace.open(root) as work:
        work.ingest()
    leases = Leases(str(root))
    shutil.rmtree(root / ".hornbook/store")
    with leases.lease() as snapshot:
        assert ERRORS in snapshot.ids
    leases.close()
