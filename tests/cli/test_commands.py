import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hornbook.cli.main import app
from tests.kit.commands import answer, read_terminal, run
from tests.kit.workspaces import ERROR_HANDLING, SOPS, with_the_example_sop, write

ERRORS = "source.doc.sops.error-handling"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_the_example_sop(tmp_path)


def test_ingest_answers_with_the_documented_keys(root: Path) -> None:
    found = answer(root, "ingest", "--json")
    keys = [
        "added",
        "changed",
        "removed",
        "unchanged",
        "documents",
        "chunks",
        "triples",
        "problems",
        "seconds",
    ]
    assert set(keys) <= set(found)
    assert (found["added"], found["documents"]) == (2, 2)


def test_why_answers_with_the_documented_keys(root: Path) -> None:
    answer(root, "ingest", "--json")
    (file,) = answer(root, "why", "handlers/user.go", "--json")["files"]
    more = {"reserve", "reserve_from", "over_planned", "fits", "not_enforced", "left_out"}
    assert set(file) == {"path", "rules", "tokens", *more}
    assert set(file["rules"][0]) == {
        "id",
        "path",
        "title",
        "category",
        "severity",
        "activation",
        "pattern",
        "pattern_line",
        "glob",
        "revision",
        "tokens",
        "also",
        "includes",
        "inferred",
        "notes",
    }


def test_paths_are_relative_to_the_current_folder(root: Path) -> None:
    answer(root, "ingest", "--json")
    (root / "handlers").mkdir()
    (file,) = answer(root / "handlers", "why", "user.go", "--json")["files"]
    assert file["path"] == "handlers/user.go"


def test_a_root_may_be_named_from_outside(root: Path, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    answer(elsewhere, "--root", str(root), "ingest", "--json")
    (file,) = answer(elsewhere, "--root", str(root), "why", "a.go", "--json")["files"]
    assert [rule["id"] for rule in file["rules"]] == [ERRORS]
    done = run(elsewhere, "why", "a.go", "--json", HORNBOOK_ROOT=str(root))
    assert json.loads(done.stdout)["files"] == [file]


def test_match_tells_which_paths_fit(root: Path) -> None:
    found = answer(root, "match", "*.go", "a/b.go", "c.py", "--json", code=1)
    assert found == {"pattern": "*.go", "matched": ["a/b.go"], "unmatched": ["c.py"]}
    assert run(root, "match", "*.go", "a.go").returncode == 0


def test_a_bad_pattern_is_a_usage_error_with_the_remedy(root: Path) -> None:
    done = run(root, "match", "[ab", "a")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "[ab" in done.stderr


def test_chunks_tile_the_body(root: Path) -> None:
    path = root / SOPS / "error-handling.md"
    found = answer(root, "chunks", str(path), "--json")
    body = "".join(chunk["content"] for chunk in found["chunks"]).encode()
    import hashlib

    assert hashlib.sha256(body).hexdigest() == found["body_sha256"]
    for chunk in found["chunks"]:
        assert path.read_bytes()[chunk["start"] : chunk["end"]].decode() == chunk["content"]


def test_tokens_are_counted_by_the_named_counter(root: Path) -> None:
    write(root, {"a.txt": "x" * 10})
    found = answer(root, "tokens", "a.txt", "--counter", "heuristic", "--json")
    assert found == {"counter": "heuristic", "files": [{"path": "a.txt", "tokens": 3}], "total": 3}
    assert run(root, "tokens", "a.txt", "--counter", "nope").returncode == 2


def test_show_and_history_tell_of_an_entity(root: Path) -> None:
    answer(root, "ingest", "--json")
    write(root, {f"{SOPS}/error-handling.md": ERROR_HANDLING + "3. More\n"})
    answer(root, "ingest", "--json")
    assert answer(root, "show", ERRORS, "--json")["id"] == ERRORS
    revisions = answer(root, "history", ERRORS, "--json")["revisions"]
    assert [each["event"] for each in revisions] == ["added", "changed"]
    past = answer(root, "show", revisions[0]["revision"], "--json")
    assert past["text"] == ERROR_HANDLING


def test_what_is_not_there_exits_with_one(root: Path) -> None:
    done = run(root, "show", "no.such.thing")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no.such.thing" in done.stderr


def test_query_prints_data_and_errors(root: Path) -> None:
    answer(root, "ingest", "--json")
    text = '{ entities(filter: { predicatePrefix: "source.doc.sops" }) { id } }'
    assert len(answer(root, "query", "--text", text)["data"]["entities"]) == 2
    assert len(answer(root, "query", "-", sent=text)["data"]["entities"]) == 2
    assert answer(root, "query", "--text", "{ nope }", code=1)["errors"]
    asked = "query ($id: ID!) { entity(id: $id) { id } }"
    variables = json.dumps({"id": ERRORS})
    found = answer(root, "query", "--text", asked, "--variables", variables)
    assert found == {"data": {"entity": {"id": ERRORS}}}


def test_sparql_answers_in_the_format_asked_for(root: Path) -> None:
    answer(root, "ingest", "--json")
    text = "SELECT ?glob WHERE { ?s source.doc:applies_to ?glob } ORDER BY ?glob"
    done = run(root, "sparql", "--text", text, "--format", "csv")
    assert done.stdout.split() == ["glob", "**/*_test.go", "*.go", "handlers/**"]
    assert run(root, "sparql", "--text", "DROP ALL").returncode == 2
    assert run(root, "sparql", "--text", text, "--format", "nope").returncode == 2


def test_export_writes_to_a_file(root: Path) -> None:
    answer(root, "ingest", "--json")
    out = root / "graph.nq"
    assert run(root, "export", "--output", str(out)).returncode == 0
    assert out.read_text() == run(root, "export").stdout


def test_init_creates_and_never_overwrites(root: Path) -> None:
    first = answer(root, "init", "--examples", "--json")
    assert ".hornbook/config.yaml" in first["created"]
    assert first["formats"]["hornbook"] > 2
    config = root / ".hornbook/config.yaml"
    config.write_text("reserve: 5000\n")
    assert answer(root, "init", "--examples", "--json")["created"] == []
    assert config.read_text() == "reserve: 5000\n"


def test_one_document_is_told_as_one(tmp_path: Path) -> None:
    write(tmp_path, {"AGENTS.md": "# Rules\n\nWrite tests.\n", ".git/HEAD": ""})
    assert "found 1 document (1 agents)" in run(tmp_path, "init").stdout


def test_init_writes_a_reserve_only_where_auto_is_too_small(root: Path, tmp_path: Path) -> None:
    run(root, "init")
    lines = (root / ".hornbook/config.yaml").read_text().splitlines()
    assert "# reserve: auto" in lines
    assert "# within `auto`, 30000 tokens in a window of 200000." in lines
    large = tmp_path / "large"
    write(large, {"AGENTS.md": "word " * 41_500, "main.py": "x = 1\n", ".git/HEAD": ""})
    run(large, "init")
    config = (large / ".hornbook/config.yaml").read_text().splitlines()
    assert "reserve: 42000" in config
    assert answer(large, "why", "main.py", "--json")["files"][0]["fits"]


def test_the_config_that_init_writes_is_valid_with_every_key_set(root: Path) -> None:
    run(root, "init")
    config = root / ".hornbook/config.yaml"
    lines = config.read_text().splitlines()
    keys = [
        line[2:]
        for line in lines
        if line.startswith("# ")
        and ": " in line
        and line[2:].split(":")[0].islower()
        and " " not in line[2:].split(":")[0]
    ]
    config.write_text("\n".join(keys))
    assert run(root, "ingest").returncode == 0


def test_strict_fails_on_problems_and_plain_ingest_does_not(root: Path) -> None:
    assert run(root, "ingest", "--strict").returncode == 0
    write(root, {f"{SOPS}/bad.md": "---\nseverity: eror\n---\n# Bad\n"})
    assert run(root, "ingest").returncode == 0
    assert run(root, "ingest", "--strict").returncode == 1


def test_a_wrong_setting_is_a_configuration_error_with_line_and_nearest_name(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "largest_file: 1000\nreserv: 5\ncounter: nope\n"})
    done = run(root, "why", "a.go")
    assert done.returncode == 2
    assert "line 2" in done.stderr
    assert "`reserve`" in done.stderr
    assert "line 3" in done.stderr


def counted(lines: Iterable[str]) -> str:
    """The next line that says how many documents there are."""
    return next((line for line in lines if "documents" in line), "")


def test_watch_follows_edits_creations_and_deletions(root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "hornbook", "ingest", "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("2 documents")
        assert "watching" in process.stderr.readline()
        write(root, {f"{SOPS}/new.md": "---\napplies_to: '*.rs'\n---\n# New\n"})
        assert counted(process.stdout).startswith("3 documents")
        (root / SOPS / "new.md").unlink()
        assert counted(process.stdout).startswith("2 documents")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    finally:
        process.kill()
        process.communicate()


def test_help_works_without_a_workspace(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    for name in app.commands:
        assert name in done.stdout
        assert run(tmp_path, name, "--help").returncode == 0
    assert not (tmp_path / ".hornbook").exists()


def test_people_get_a_table_without_colour_in_a_pipe(root: Path) -> None:
    run(root, "ingest")
    done = run(root, "why", "handlers/user.go")
    assert "\x1b" not in done.stdout
    assert "error-handling.md:3" in done.stdout


def test_an_empty_workspace_is_looked_at_first(tmp_path: Path) -> None:
    for command in (("why", "a.go"), ("size", "--files", "a.go")):
        done = run(tmp_path, *command)
        assert done.returncode == 0
        assert "nothing was ingested yet: read 0 documents" in done.stderr
        shutil.rmtree(os.environ["XDG_CACHE_HOME"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", [("history", "decision.{name}"), ("reviews", "rules")])
def test_a_path_and_an_id_can_be_copied_from_a_terminal(
    tmp_path: Path, asked: tuple[str, str]
) -> None:
    name = "0001-why-nobody-ever-breaks-what-somebody-else-has-to-copy-from-here"
    path = f"{SOPS}/{name}.md" if asked[0] == "reviews" else f"docs/decisions/{name}.md"
    write(tmp_path, {".git/HEAD": "", path: "# Why\n\n## Decision\n\nNever break an id.\n"})
    run(tmp_path, "ingest")
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "hornbook", *(each.format(name=name) for each in asked)]
    with subprocess.Popen(command, stdout=terminal, cwd=tmp_path) as done:
        os.close(terminal)
        printed = read_terminal(shown)
    os.close(shown)
    assert done.returncode == 0
    assert f"source.doc.sops.{name}" in printed or path in printed
