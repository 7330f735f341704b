"""What is shipped: the wheel carries everything and works in a clean environment."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hornbook
from hornbook import Workspace, resources
from tests.kit.paths import ROOT
from tests.kit.workspaces import with_the_example_sop

WHEELS = ROOT / ".venv" / "wheelhouse"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(ROOT)]
    subprocess.run([sys.executable, *build], check=True, capture_output=True)
    return next(target.glob("*.whl"))


def test_the_wheel_carries_every_data_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in resources.FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                assert f"hornbook/_data/{path.relative_to(ROOT).as_posix()}" in names
    for path in (ROOT / "src" / "hornbook").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT / "src").as_posix() in names


def test_the_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    # With the pip that is here, and compiled only as far as it is used: both are most of the time.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-compile"]
    subprocess.run([*pip, *install, "--find-links", WHEELS, str(wheel)], check=True)
    root = tmp_path / "repo"
    root.mkdir()
    with_the_example_sop(root)

    def run(*arguments: str) -> str:
        command = [str(environment / "bin" / "hornbook"), *arguments]
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=root, env=clean
        )
        return done.stdout

    assert "ingest" in run("--help")
    assert json.loads(run("ingest", "--json"))["documents"] == 2
    (file,) = json.loads(run("why", "a.go", "--json"))["files"]
    assert [rule["id"] for rule in file["rules"]] == ["source.doc.sops.error-handling"]
    assert json.loads(run("ingest", "--strict", "--json"))["problems"] == []
    assert json.loads(run("init", "--examples", "--json"))["created"]
    assert json.loads(run("query", "--text", "{ collections }"))["data"]


def test_the_public_surface_is_what_all_says() -> None:
    assert hornbook.__all__ == ["Workspace", "__version__"]
    assert hornbook.Workspace is Workspace
    with pytest.raises(AttributeError):
        hornbook.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("hornbook.cli.main", "click dataclasses typing pathlib json"),
        (
            "hornbook.cli.app",
            "yaml msgspec pyoxigraph rich markdown_it tree_sitter strawberry dbos sqlalchemy",
        ),
        ("hornbook.loop.plan_book", "dbos psycopg"),
        ("hornbook.loop.engine.engine_runs", "dbos psycopg"),
        (
            "hornbook.workspace",
            "rich markdown_it frontmatter tree_sitter tiktoken rdflib pyshacl fastapi dbos sqlalchemy",
        ),
    ],
)
def test_commands_load_no_library_that_they_do_not_need(module: str, unwanted: str) -> None:
    code = f"import sys, {module}; print(*sorted(set({unwanted.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("command", [["why", "a.go"], ["hook", "pre-tool-use"]])
def test_asking_and_guarding_load_no_engine(command: list[str], tmp_path: Path) -> None:
    with_the_example_sop(tmp_path)
    with Workspace.open(tmp_path) as work:
        work.ingest()
    code = (
        "import sys; from hornbook.cli.main import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(repr(sorted({'dbos', 'sqlalchemy', 'psycopg'} & set(sys.modules))))"
    )
    payload = '{"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {}}'
    done = subprocess.run(
        [sys.executable, "-c", code, "--root", str(tmp_path), *command],
        capture_output=True,
        text=True,
        input=payload,
        check=False,
    )
    assert done.stderr.endswith("[]"), done.stderr


def test_the_versions_agree() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{hornbook.__version__}"' in text


def test_the_examples_are_rules_without_problems(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(ROOT / "sources" / "examples", tmp_path / "examples")
    with Workspace.open(tmp_path) as work:
        report = work.ingest([tmp_path / "examples"], strict=True)
        assert report.problems == ()
        for path in ("handlers/user.go", "app/user.py", "src/user.ts", "tests/test_user.py"):
            (answer,) = work.why([path])
            assert answer.rules
            assert answer.fits
