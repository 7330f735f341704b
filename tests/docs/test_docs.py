"""The docs say what is: references agree with the code, and every example runs as written."""

import ast
import inspect
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import click
import pytest
import yaml
from rdflib import Graph, Literal
from rdflib.namespace import RDFS, SKOS

from hornbook import Workspace, errors, resources
from hornbook.cli.app import GROUPS
from hornbook.cli.main import app
from hornbook.errors import BadGlob, HornbookError, UsageError
from hornbook.graph.sparql import answer as sparql_answer
from hornbook.process.confine_check import PROBES
from hornbook.rules.document_reader import is_rule_file, read
from hornbook.rules.metadata.keys import OWN_KEYS
from hornbook.rules.own_files.records import hashes_of, sealed
from hornbook.rules.readers.registry import READERS
from hornbook.serve.graphql.schema import execute
from hornbook.settings.settings import Settings
from hornbook.text.globs import parse, parse_set
from hornbook.vocabulary.predicates import PREDICATES
from tests.kit.forks import SCRIPT, decoded, fork_run, shim_folder
from tests.kit.pages import CODE, FENCE, codes, prose, rows, section, slug, text_of
from tests.kit.paths import DOCS, ROOT
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import write
from tests.tools.picture import PICTURE
from tests.tools.picture import shown as shown_in

TOP = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
RUNNABLE = [
    page
    for page in PAGES
    if page.name != "CHANGELOG.md"
    and re.search(r"^```(console|python|sh)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]
COMMANDS = sorted(app.commands)

LINK = re.compile(r"\]\(([^()\s]+)\)")


# References


def settings(of: Any, above: str = "") -> Iterator[tuple[str, tuple[str, str]]]:  # any dataclass
    """Every key with its default as YAML shows it, and its meaning; nested keys by their path."""
    for each in fields(of):
        if each.metadata.get("places"):
            continue
        value = getattr(of, each.name)
        if is_dataclass(value):
            yield from settings(value, f"{above}{each.name}.")
        else:
            plain = str(value).lower() if isinstance(value, bool) else str(value)
            plain = f"[{', '.join(value)}]" if isinstance(value, tuple) else plain
            shown = plain or '""'
            yield f"{above}{each.name}", (shown, each.metadata["meaning"])


def test_every_setting_is_documented_with_its_default_and_meaning() -> None:
    listed = rows(text_of("settings"), "key", "default", "meaning")
    documented = {codes(key)[0]: (codes(value)[0], meaning) for key, value, meaning in listed}
    assert documented == dict(settings(Settings()))


def test_every_command_has_its_section_and_its_line_in_the_order_of_the_help() -> None:
    text = text_of("commands")
    ordered = [name for names in GROUPS.values() for name in names]
    assert re.findall(r"^## (.+)$", prose(text), re.MULTILINE) == ordered
    assert sorted(ordered) == COMMANDS
    listed = rows(text.partition("\n## ")[0], "command", "does")
    assert [codes(cell)[0].split()[1] for cell, _ in listed] == ordered


def members(of: type, root: Path) -> dict[str, list[str] | None]:
    """The public members of a class with the names of their arguments; None for plain values."""
    with Workspace.open(root) as opened:
        names = {*dir(of), *vars(opened)}
    found: dict[str, list[str] | None] = {}
    for name in sorted(names):
        member = getattr(of, name, None)
        if not name.startswith("_"):
            arguments = [*inspect.signature(member).parameters] if callable(member) else None
            found[name] = arguments and [each for each in arguments if each != "self"]
    return found


def documented_members(text: str) -> dict[str, list[str] | None]:
    found: dict[str, list[str] | None] = {}
    for cell, _ in rows(text, "member", "gives"):
        head, called, rest = codes(cell)[0].removeprefix("Workspace.").partition("(")
        given = [each.partition("=")[0].strip() for each in rest.rstrip(")").split(", ")]
        found[head] = [each for each in given if each not in {"", "*"}] if called else None
    return found


def test_every_public_member_of_the_workspace_is_documented_with_its_arguments(
    tmp_path: Path,
) -> None:
    wanted = members(Workspace, tmp_path)
    assert len(wanted) > 30
    assert documented_members(text_of("python")) == wanted


def options(command: click.Command) -> set[str]:
    below = (
        command.commands.values() if isinstance(command, click.Group) and command is not app else ()
    )
    inner: set[str] = set().union(*map(options, below))
    return inner | {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    } - {"--help", "-h"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_documented_and_no_other(name: str) -> None:
    wanted = options(app.commands[name])
    text = section(text_of("commands"), name)
    listed = rows(text, "option", "meaning") if wanted or "| option |" in text else []
    assert {codes(cell)[0] for cell, _ in listed} == wanted


def test_every_global_option_is_documented() -> None:
    head = text_of("commands").partition("\n## ")[0]
    listed = {code for cell, _ in rows(head, "option", "meaning") for code in codes(cell)}
    assert listed == options(app) | {"--help", "-h"}


def problem_codes() -> dict[str, set[str]]:
    """Every code that the source can report, with its levels."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for code, level in _reported(node):
                found.setdefault(code, set()).add(level)
    return found


def _reported(node: ast.AST) -> Iterator[tuple[str, str]]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"error", "warning", "info"}:
        code = node.args[1] if len(node.args) == 3 else None
        level = node.func.attr
    elif isinstance(node.func, ast.Name) and node.func.id == "Problem" and len(node.args) == 5:
        code = node.args[2]
        level = ast.unparse(node.args[3]).rpartition(".")[2].lower()
    else:
        return
    if isinstance(code, ast.Constant):
        yield str(code.value), level


def test_every_problem_code_is_documented_with_its_levels_and_no_other() -> None:
    listed = rows(text_of("problems"), "code", "level", "meaning", "remedy")
    documented = {codes(code)[0]: set(level.split(", ")) for code, level, _, _ in listed}
    assert documented == problem_codes()
    assert len(listed) == len(documented)


def test_every_way_out_of_a_confinement_is_documented_in_the_order_it_is_tried() -> None:
    listed = rows(text_of("commands"), "a way out", "bubblewrap", "Landlock", "nothing")
    documented = [way.replace("`", "") for way, *_ in listed]
    assert documented == [f"{code}: {said}" for code, said in PROBES.items()]


def test_every_error_class_is_documented_with_its_parent_and_exit_code() -> None:
    listed = rows(text_of("errors"), "class", "is a", "exit", "when")
    classes = [
        each
        for _, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, HornbookError)
    ]
    assert {codes(name)[0]: (codes(parent)[0], code) for name, parent, code, _ in listed} == {
        each.__name__: (each.__base__.__name__, "2" if issubclass(each, UsageError) else "1")
        for each in classes
        if each.__base__ is not None
    }


def test_every_predicate_is_documented_as_the_vocabulary_has_it() -> None:
    vocabulary = Graph()
    for path in resources.folder("vocabulary").glob("*.ttl"):
        vocabulary.parse(path)
    listed = rows(text_of("graph"), "predicate", "object", "values", "meaning")
    documented = {codes(name)[0]: rest for name, *rest in listed}
    assert documented.keys() == PREDICATES.keys()
    for name, (kind, values, meaning) in documented.items():
        term = PREDICATES[name]
        assert (kind, values) == (term.datatype.value, "many" if term.many else "one")
        subject = vocabulary.value(None, SKOS.notation, Literal(name))
        assert subject is None or meaning == str(vocabulary.value(subject, RDFS.comment))


def test_every_key_of_an_sop_is_documented() -> None:
    listed = rows(text_of("sops"), "key", "value", "if missing")
    assert sorted(codes(key)[0] for key, _, _ in listed) == sorted(OWN_KEYS)


def test_documented_ids_follow_from_their_paths() -> None:
    for path, document_id in rows(text_of("sops"), "path", "id"):
        assert read(codes(path)[0], b"# Title\n").desired_id == codes(document_id)[0]


def test_every_format_is_documented_with_paths_that_are_read_as_it() -> None:
    listed = rows(text_of("formats"), "tool", "files", "activation")
    assert {codes(tool)[0] for tool, _, _ in listed} == {reader.tool for reader in READERS}
    for tool, paths, _ in listed:
        for path in codes(paths):
            assert read(path, b"# Title\n").tool == codes(tool)[0], path
            native = codes(tool)[0] not in {"plain", "code"}
            assert is_rule_file(PurePosixPath(path)) == native, path


def test_documented_globs_match_as_documented() -> None:
    for pattern, fits, misses in rows(text_of("globs"), "pattern", "matches", "does not match"):
        glob = parse(codes(pattern)[0])
        assert [path for path in codes(fits) if not glob.matches(path)] == [], pattern
        assert [path for path in codes(misses) if glob.matches(path)] == [], pattern


def test_documented_exclusions_bind_as_documented() -> None:
    for patterns, bound, free in rows(text_of("globs"), "patterns", "binds", "does not bind"):
        globs = parse_set(codes(patterns))
        assert all(globs.match(path) for path in codes(bound))
        assert not any(globs.match(path) for path in codes(free))


def test_documented_slips_are_refused_for_the_documented_reason() -> None:
    for pattern, reason in rows(text_of("globs"), "pattern", "reason"):
        with pytest.raises(BadGlob, match=re.escape(reason)):
            parse(codes(pattern)[0])


# Examples


SHOWN_PORT = "17878"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page; a server that it starts has a port that is free here."""
    text = page.read_text(encoding="utf-8")
    if SHOWN_PORT in text:
        text = text.replace(SHOWN_PORT, str(free_port()))
    return [Block(*found) for found in FENCE.findall(text)]


class Terminal:
    """Runs commands one after the other, as a reader would: the folder is kept between them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "shown"
        self._folder.mkdir()
        self._state = folder / "where"
        outside = {"HORNBOOK_ROOT", "FORCE_COLOR", "COLUMNS"}
        bin_folder = str(Path(sys.executable).parent)
        self._environment = {
            **{key: value for key, value in os.environ.items() if key not in outside},
            "PATH": os.pathsep.join([str(shim_folder()), bin_folder, os.environ["PATH"]]),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{f"GIT_{who}_NAME": "Reader" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "reader@example.org" for who in ("AUTHOR", "COMMITTER")},
        }

    def shell(self, script: str) -> str:
        told = f"set -e\n{script}\npwd > '{self._state}'\n"
        shown = self._run("bash", "-c", told)
        self._folder = Path(self._state.read_text(encoding="utf-8").strip())
        return shown

    def python(self, script: str) -> str:
        done = fork_run([script], folder=self._folder, environment=self._environment, entry=SCRIPT)
        return self._shown(script, decoded(done))

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return self._shown(command[-1], done)

    @staticmethod
    def _shown(command: str, done: "subprocess.CompletedProcess[str]") -> str:
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def significant(text: str) -> list[str]:
    """The lines of a text that are not blank, without the blanks that only align columns."""
    lines = (re.sub("─+", "─", line) for line in text.split("\n"))
    return [" ".join(line.split()) for line in lines if line.strip()]


def as_shown(shown: str, told: str) -> bool:
    """Whether an output is the one shown; `…` stands for some text, alone for some lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in significant(shown)
    )
    lines = "".join(f"{line}\n" for line in significant(told))
    return re.fullmatch(pattern, lines) is not None


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_every_example_of_a_page_runs_and_answers_as_shown(page: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    told = ""
    answers: dict[str, str] = {}
    for block in blocks(page):
        if block.language == "sh":
            terminal.shell(block.text)
        elif block.language == "python":
            told = terminal.python(block.text)
        elif block.language == "output":
            assert as_shown(block.text, told), told
        elif block.language == "console":
            for command, shown in commands(block.text):
                told = answers[command] = terminal.shell(command)
                assert as_shown(shown, told), f"$ {command}\n{told}"
    if page.name == "README.md":
        assert_is_the_picture(answers)


def assert_is_the_picture(answers: dict[str, str]) -> None:
    """The picture of the README shows what its tour answered."""
    picture = shown_in(PICTURE.read_text(encoding="utf-8"))
    (told,) = (text for command, text in answers.items() if "review check" in command)
    drawn = re.escape(picture).replace("…", r"\S+")
    answer = " ".join(told.removesuffix("exit 1\n").split())
    assert re.fullmatch(
        drawn, f"$ hornbook review check review.json --receipt receipt.json {answer}"
    )


def test_every_block_is_run_or_of_a_language_that_is_not() -> None:
    for page in PAGES:
        if page not in RUNNABLE:
            languages = {block.language for block in blocks(page)}
            assert languages <= {"text", "json", "sparql", "graphql", "yaml"}, page


@pytest.fixture
def example(tmp_path: Path) -> Path:
    rule = "---\napplies_to: '*.go'\nseverity: eror\n---\n# Errors\n\nSay what failed.\n"
    old = "# Old\n\n## Status\n\nSuperseded by [2](0002-new.md)\n"
    new = "# New\n\n## Status\n\nAccepted\n"
    plan = {"id": "risk.a-r1", "plan": "plan.a", "at": "2026-11-16T08:00:00Z"}
    return write(
        tmp_path,
        {
            ".hornbook/sources/docs/sops/errors.md": rule,
            "docs/decisions/0001-old.md": old,
            "docs/decisions/0002-new.md": new,
            ".hornbook/plans/a/plan.md": "---\ncommitted: true\n---\n# Plan: A\n",
            ".hornbook/plans/a/tasks/1/task.yaml": "plan: plan.a\ntitle: T\nfiles: [a.go]\ncriteria: []\ndepends_on: []\n",
            ".hornbook/records/risks/risk.a-r1.json": json.dumps(
                {**plan, "text": "late", "severity": "low"}
            ),
            ".hornbook/records/decisions/decision.a-1.json": json.dumps(
                {**plan, "decision": "D", "reason": "r"}
            ),
            ".hornbook/records/runs/a-t1-1.json": json.dumps(RUN),
            ".hornbook/records/reviews/a-t1-1.1.json": json.dumps(as_recorded(REVIEW)),
        },
    )


RUN: dict[str, object] = {
    "plan": "plan.a",
    "task": "task.a.1",
    "workflow": "plan-and-execute",
    "parent": None,
    "agent": "scripted",
    "status": "asking",
    "attempts": 1,
    "started_at": "2026-11-16T08:00:00Z",
    "ended_at": None,
    "commit": None,
    "asks": {"escalation": "escalation.a-t1-1-1-4", "question": "Which one?", "at": ""},
    "answers": [],
    "spent": {"tokens": 1200, "cost": 0.25},
}
REVIEW: dict[str, object] = {
    "outcome": "escalate",
    "at": "2026-11-16T08:00:00Z",
    "run": "a-t1-1",
    "plan": "plan.a",
    "receipts": [],
    "rules": [],
    "findings": [
        {
            "sop_id": "source.doc.sops.errors",
            "unit": None,
            "severity": "error",
            "status": "violated",
            "path": "a.go",
            "line": 3,
            "message": "It swallows the error.",
        }
    ],
    "problems": [],
}


def as_recorded(review: dict[str, object]) -> dict[str, object]:
    """A review with the hashes that a recorded one has."""
    named: dict[str, object] = {"id": f"review.{review['run']}.1", "reviews": [], **review}
    return sealed({**named, "hashes": {**hashes_of(named), "receipts": []}})


def test_every_sparql_example_finds_something(example: Path) -> None:
    examples = [block.text for block in blocks(DOCS / "graph.md") if block.language == "sparql"]
    with Workspace.open(example) as work:
        work.ingest()
        store = work._store()
        for text in examples:
            lines = sparql_answer(store, text, "ntriples" if "CONSTRUCT" in text else "csv")
            assert len(lines.splitlines()) > 1, text


def test_every_graphql_example_finds_something(example: Path) -> None:
    pages = [block for name in ("graph.md", "graphql.md") for block in blocks(DOCS / name)]
    examples = [block.text for block in pages if block.language == "graphql"]
    with Workspace.open(example) as work:
        work.ingest()
        for text in examples:
            answer = execute(work, text, {})
            assert "errors" not in answer
            assert "source.doc.sops.errors" in json.dumps(answer)


# Pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_inside_the_docs_resolve(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", prose(page.read_text(encoding="utf-8")))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", prose(linked.read_text("utf-8")), re.MULTILINE)
            assert anchor in map(slug, headings), target


def test_every_page_is_reached_from_the_index() -> None:
    index = DOCS / "index.md"
    linked = {(DOCS / target).resolve() for target in LINK.findall(index.read_text("utf-8"))}
    assert {page for page in DOCS.rglob("*.md") if page != index} <= linked


def test_what_contributing_names_is_there() -> None:
    """A path with NAME in it is one to be added; a name in capitals stands in the file beside it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = [
        each for each in re.split(r"^(?=\d+\. )", text, flags=re.MULTILINE) if each[0].isdigit()
    ]
    for step in steps:
        paths = [
            ROOT / each for each in codes(step) if each.startswith("src/") and "NAME" not in each
        ]
        assert [path for path in paths if not path.exists()] == []
        for name in codes(step):
            if re.fullmatch(r"_?[A-Z]{4,}", name):
                files = [path for path in paths if path.is_file()]
                assert any(name in path.read_text(encoding="utf-8") for path in files), name


def test_the_index_has_the_groups_of_the_help() -> None:
    titles = re.findall(r"^## (.+)$", text_of("index"), re.MULTILINE)
    groups = [title for title in GROUPS if title != "Deprecated"]
    assert titles == ["Start", *groups, "The project", "Decisions"]


def test_the_index_lists_the_decisions_in_order_by_their_titles() -> None:
    listed = rows(text_of("index"), "number", "decision")
    assert [(number, title) for number, title in listed] == [
        (f"[{page.name[:4]}](decisions/{page.name})", title_of(page)) for page in DECISIONS
    ]
    assert [page.name[:4] for page in DECISIONS] == [
        f"{number:04}" for number in range(1, len(DECISIONS) + 1)
    ]


def title_of(page: Path) -> str:
    found = re.search(r"^# (.+)$", prose(page.read_text(encoding="utf-8")), re.MULTILINE)
    assert found is not None, page
    return found[1]


def test_the_site_has_every_page_in_the_order_of_the_index() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    linked = [target.removeprefix("../") for target in LINK.findall(text_of("index"))]
    wanted = dict.fromkeys(["index.md", *linked])
    assert [place.replace("tour.md", "README.md") for place in places(site["nav"])] == [*wanted]


def places(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list | tuple):
        for each in nav:
            yield from places(each)
    elif isinstance(nav, dict):
        yield from places(list(nav.values()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_names_a_machine_or_a_registry(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w./])/(?:home|Users|work|root|tmp|private|var|opt)/\S*", text) == []
    assert re.findall(r"pypi\.|pythonhosted|npmjs|artifactory|nexus", text, re.IGNORECASE) == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_short_and_numbered(page: Path) -> None:
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", page.name)
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    known = ["Context", "Decision", "Alternatives", "Consequences"]
    assert sections == [each for each in known if each in sections or each != "Alternatives"]


def test_our_own_decisions_are_read_without_a_problem(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {f"docs/decisions/{page.name}": page.read_text(encoding="utf-8") for page in DECISIONS},
    )
    with Workspace.open(root) as work:
        report = work.ingest(strict=True)
        assert (report.documents, report.problems) == (len(DECISIONS), ())
        told = work.sparql("SELECT ?s { ?d decision:status ?s ; decision:date ?on }", "csv")
        assert told.split()[1:] == [b"accepted"] * len(DECISIONS)


def test_the_demo_answers_the_documented_query_and_stops() -> None:
    port = free_port()
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo", "--port", str(port), "--once"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=SAFETY,
    )
    assert done.returncode == 0, done.stderr
    assert f"http://127.0.0.1:{port}/" in done.stdout
    assert '"id": "source.doc.sops.' in done.stdout
    assert "error-handling.md" in done.stdout
