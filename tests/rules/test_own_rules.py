"""Hornbook on Hornbook: its own rules bind its own files, and what a machine can judge is a gate."""

import re
import shutil
import tomllib
from collections.abc import Iterator

import pytest

from hornbook import Workspace
from hornbook.gates.gate_list import GateState, gates_now
from hornbook.text.globs import parse_set
from tests.kit.paths import PACKAGE, ROOT

SOPS = ROOT / "sources" / "sops"
EVERYWHERE = {"error-messages", "layers", "naming-and-size"}
# The rooms that a rule does not bind, and why nothing there could break it.
UNBOUND = {
    "determinism": "agents cli hooks process serve settings shell",  # they answer or run, keep nothing
    "untrusted-input": "cli vocabulary",  # the caller's own words, and constants
}
IN = {"command-line-output": ["cli"], "graph-writes": ["graph", "vocabulary"]}
# One state machine that is read as a whole.
LONGER = {"shell/player/play.py"}
TOOLS = {
    "lint": "ruff check",
    "format": "ruff format --check",
    "types": "mypy",
    "contracts": "lint-imports",
    "dependencies": "deptry",
    "drift": "tests/rules/test_own_rules.py",
    "test": "pytest",
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("hornbook")
    for folder in ("sources/sops", "docs/decisions", "src/hornbook/graph", "vocabulary"):
        ours = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, root / folder, ignore=ours)
    (root / ".hornbook").mkdir()
    shutil.copy(ROOT / ".hornbook" / "config.yaml", root / ".hornbook" / "config.yaml")
    with Workspace.open(root) as opened:
        report = opened.ingest(strict=True)
        assert report.problems == ()
        yield opened


def rooms() -> list[str]:
    return sorted(each.parent.name for each in PACKAGE.glob("*/__init__.py"))


def expected(path: str) -> set[str]:
    room = path.split("/")[2]
    found = EVERYWHERE | {rule for rule, bound in IN.items() if room in bound}
    if room in rooms():
        found |= {rule for rule, free in UNBOUND.items() if room not in free.split()}
    return found


def test_our_rules_and_decisions_are_read_without_a_problem(work: Workspace) -> None:
    entries = work.snapshot().catalog.entries
    assert {entry.category for entry in entries} == {"sop", "decision", "code"}
    assert sum(entry.category == "sop" for entry in entries) == len(list(SOPS.glob("*.md")))
    assert "src/hornbook/graph/oxigraph.py" in work.snapshot().related_files(
        "src/hornbook/graph/store.py"
    )


def test_every_source_file_is_bound_by_its_rules_and_they_fit(work: Workspace) -> None:
    paths = sorted(each.relative_to(ROOT).as_posix() for each in PACKAGE.rglob("*.py"))
    for answer in work.why([*paths, "tests/rules/test_x.py", "docs/x.md", "pyproject.toml"]):
        names = {rule.id.rpartition(".")[2] for rule in answer.rules}
        if answer.path.startswith("src/"):
            assert names == expected(answer.path), answer.path
        assert names, answer.path
        assert answer.fits, (answer.path, answer.tokens)


def test_every_pattern_of_our_rules_matches_a_file() -> None:
    tops = [each for each in ROOT.iterdir() if not each.name.startswith(".")]
    below = (path for top in tops for path in (top, *top.rglob("*")))
    files = [each.relative_to(ROOT).as_posix() for each in below]
    for sop in sorted(SOPS.glob("*.md")):
        head = sop.read_text(encoding="utf-8").partition("severity:")[0]
        for pattern in re.findall(r'^  - "([^!"]+)"$', head, re.MULTILINE):
            assert any(map(parse_set([pattern]).match, files)), (sop.name, pattern)
        named = re.search(r"src/hornbook/\{([^}]+)\}", head)
        for room in named[1].split(",") if named else ():
            assert (PACKAGE / room).is_dir(), (sop.name, room)


def test_what_a_machine_can_judge_is_a_gate_and_none_is_refused() -> None:
    listed = gates_now(ROOT)
    assert {each.gate.name: each.state for each in listed.gates} == dict.fromkeys(
        TOOLS, GateState.READY
    )
    for each in listed.gates:
        assert each.gate.required
        assert TOOLS[each.gate.name] in each.gate.command
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "test: lint types contracts pytest" in makefile


def test_the_rule_about_layers_names_the_lines_of_the_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms_contract, *_ = settings["tool"]["importlinter"]["contracts"]
    text = (SOPS / "layers.md").read_text(encoding="utf-8")
    first = text.partition("1. A room imports only from the lines below its own: ")[2]
    said = first.partition("\n2.")[0].replace("\n", " ").rstrip(" .")
    lines = [" ".join(line.split()).strip(" `") for line in said.split(";")]
    assert lines == rooms_contract["layers"]


def test_the_limits_that_no_linter_holds_are_kept() -> None:
    lengths = {
        module.relative_to(PACKAGE).as_posix(): module.read_text(encoding="utf-8").count("\n")
        for module in PACKAGE.rglob("*.py")
    }
    assert {path for path, lines in lengths.items() if lines > 600} <= LONGER
    for decision in (ROOT / "docs" / "decisions").glob("[0-9]*.md"):
        assert len(decision.read_text(encoding="utf-8").splitlines()) <= 60, decision.name


def test_no_test_uses_a_mock() -> None:
    taken = re.compile(r"^\s*(?:from|import) .*\bmock\b", re.MULTILINE)
    assert taken.search("from unittest import mock")
    for module in (ROOT / "tests").rglob("*.py"):
        assert not taken.search(module.read_text(encoding="utf-8")), module.name


def test_an_exception_from_lint_or_types_gives_its_reason() -> None:
    bare = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])$", re.MULTILINE)
    for module in PACKAGE.rglob("*.py"):
        found = bare.findall(module.read_text(encoding="utf-8"))
        assert not found, (module.name, found)


def test_a_query_with_a_limit_has_an_order() -> None:
    for query in (ROOT / "queries" / "sparql").glob("*.rq"):
        text = query.read_text(encoding="utf-8").upper()
        assert "LIMIT" not in text or text.rfind("ORDER BY") > 0, query.name
