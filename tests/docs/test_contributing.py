"""The steps of CONTRIBUTING.md, followed on a copy of the sources: each leads to what it promises."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.paths import ROOT
from tests.kit.workspaces import write

READER = '''
"""Zed: `.rules`."""

from pathlib import PurePosixPath

from hornbook.rules.readers.imported import RulePlace, problems_of, read_scoped
from hornbook.rules.readers.protocol import Reading, SourceFile


class ZedReader:
    """Reads the file `.rules`, which binds every file below it."""

    tool = "zed"

    def claims(self, path: PurePosixPath) -> bool:
        return path.name == ".rules"

    def read(self, file: SourceFile) -> Reading:
        place = RulePlace(file.path.parent.parts, ())
        return read_scoped(file, self.tool, place, place.whole(), problems_of(file))
'''
PRESET = """
- name: build
  command: "mix compile --warnings-as-errors"
  required: true
  timeout: 600
- name: test
  command: "mix test"
  required: true
  timeout: 900
  after: [build]
"""
PROFILE = """
program: zed-agent
install: install zed-agent
prompt: stdin
output: json
developer: [run, --write]
reviewer: [run, --read-only]
text: [{path: answer}]
"""
ROUTE = '''

@router.post("/fits", responses=MISSING, tags=["contexts"], openapi_extra=READS)
def fits(body: SizeBody, asking: Reading) -> bool:
    """Say whether a task fits, in one word."""
    with OPENED as work:
        return work.size(inside(work.root, body.files)).fits
'''


class Copy:
    """A copy of our sources that can be changed and run."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "checkout" / "src" / "hornbook"
        for name in ("src", "vocabulary", "queries", "sources"):
            shutil.copytree(ROOT / name, folder / "checkout" / name)

    def add(self, path: str, text: str) -> None:
        target = self.package / path
        assert not target.exists()
        target.write_text(text.lstrip("\n"), encoding="utf-8")

    def change(self, path: str, before: str, after: str) -> None:
        target = self.package / path
        text = target.read_text(encoding="utf-8")
        assert text.count(before) == 1, (path, before)
        target.write_text(text.replace(before, after), encoding="utf-8")

    def run(self, root: Path, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(self.package.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "repository", {"README.md": "# Here\n", ".hornbook/config.yaml": ""})


def test_a_rule_format_is_added_by_its_steps(copy: Copy, root: Path) -> None:
    copy.add("rules/readers/zed.py", READER)
    registry = "rules/readers/registry.py"
    copy.change(registry, "    KiroReader(),\n", "    KiroReader(),\n    ZedReader(),\n")
    first = "from hornbook.rules.readers.windsurf_augment import"
    copy.change(registry, first, f"from hornbook.rules.readers.zed import ZedReader\n{first}")
    write(root, {".rules": "Functions MUST be short.\n"})
    copy.run(root, "-m", "hornbook", "ingest")
    (file,) = json.loads(copy.run(root, "-m", "hornbook", "why", "a.py", "--json"))["files"]
    assert [(rule["path"], rule["severity"]) for rule in file["rules"]] == [(".rules", "error")]
    assert file["rules"][0]["id"].startswith("source.doc.sops.zed-")


def test_a_gate_preset_is_added_by_its_steps(copy: Copy, tmp_path: Path) -> None:
    copy.add("gates/presets/elixir.yaml", PRESET)
    copy.change("gates/definitions.py", '"cmake", "dotnet")', '"cmake", "dotnet", "elixir")')
    detect = "gates/detection/detect.py"
    copy.change(
        detect,
        '    "rust": ("Cargo.toml",),\n',
        '    "rust": ("Cargo.toml",),\n    "elixir": ("mix.exs",),\n',
    )
    rust = '    "rust": tools.rust,\n'
    copy.change(detect, rust, f'{rust}    "elixir": lambda _: (),\n')
    copy.change("cli/commands/setup.py", '"dotnet", "none")', '"dotnet", "elixir", "none")')
    root = write(tmp_path / "elixir", {"mix.exs": "defmodule Shop do\nend\n"})
    copy.run(root, "-m", "hornbook", "init", "--gates", "auto")
    listed = json.loads(copy.run(root, "-m", "hornbook", "gates", "list", "--json"))["gates"]
    assert [(gate["name"], gate["status"]) for gate in listed] == [
        ("build", "ready"),
        ("test", "ready"),
    ]
    assert listed[0]["origins"]["command"] == "preset elixir"


def test_an_agent_profile_is_added_by_its_steps(copy: Copy, root: Path) -> None:
    copy.add("agents/profiles/zed.yaml", PROFILE)
    copy.change("settings/settings.py", '"gemini", "aider")', '"gemini", "aider", "zed")')
    code = "from hornbook.agents.profile import shipped; print(shipped('zed').program)"
    assert copy.run(root, "-c", code).strip() == "zed-agent"


def test_an_endpoint_is_added_by_its_steps(copy: Copy, root: Path) -> None:
    routes = copy.package / "serve" / "rest" / "routes.py"
    text = routes.read_text(encoding="utf-8")
    opened = re.findall(r"with (asking\S+\(\)) as work:", text)[0]
    routes.write_text(text + ROUTE.replace("OPENED", opened), encoding="utf-8")
    copy.run(root, "-m", "hornbook", "ingest")
    code = (
        "from pathlib import Path\n"
        "from starlette.testclient import TestClient\n"
        "from hornbook.serve.app import create_app\n"
        "with TestClient(create_app(Path.cwd()), base_url='http://127.0.0.1:8765') as client:\n"
        "    print(client.post('/api/v1/fits', json={'files': ['README.md']}).json())\n"
        "    print(client.post('/api/v1/fits', json={'files': ['../out']}).status_code)\n"
        "    print('/api/v1/fits' in client.get('/openapi.json').json()['paths'])\n"
    )
    assert copy.run(root, "-c", code).split() == ["True", "422", "True"]
