"""Assembly asks the graph: named queries say which rules, decisions and conventions go in."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.commits.change import change
from hornbook.context.review_packet import Contexts, Packet, bound_rules
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.snapshot import Snapshot
from tests.kit.commands import answer, expect
from tests.kit.git import commit, start

PATTERNS = {
    "all": "**",
    "python": "*.py",
    "source": "src/**, !src/old/**",
    "braces": "{src,lib}/**/*.{py,go}",
    "one": "src/a.py",
    "only": "lib/*",
    "shouted": "src/[a-c].py",
}


def rule(applies_to: str, more: str = "") -> str:
    return f'---\ncategory: sop\napplies_to: "{applies_to}"\nseverity: error\n---\n# R\n\nDo {applies_to} {more}.\n'


def about(category: str, applies_to: str) -> str:
    return f'---\ncategory: {category}\napplies_to: "{applies_to}"\n---\n# One {category}\n\nSo it is.\n'


@pytest.fixture(scope="module", params=["chain", "nearest"])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    sops = ".hornbook/sources/docs/sops"
    start(
        folder,
        {
            ".hornbook/config.yaml": f"agents_merge: {request.param}\n",
            **{f"{sops}/{name}.md": rule(each) for name, each in PATTERNS.items()},
            f"{sops}/twice.md": rule(PATTERNS["one"]),
            ".hornbook/sources/docs/decisions/db.md": about("decision", "src/**"),
            ".hornbook/sources/docs/conventions/names.md": about("convention", "src/**, !src/a.py"),
            "AGENTS.md": "Always be kind to those who read it.\n",
            "src/AGENTS.md": "Here be kinder than elsewhere.\n",
            "src/old/AGENTS.md": "@../../NOTES.md\n",
            "NOTES.md": "Notes that are part of something.\n",
            "src/a.py": "a = 1\n",
            "src/b.py": "b = 1\n",
        },
    )
    commit(folder, {"src/a.py": "a = 2\n", "src/b.py": "b = 2\n"})
    return folder


FOLDERS = st.sampled_from(["", "src/", "src/old/", "lib/", "lib/deep/", "docs/"])
NAMES = st.sampled_from(["a.py", "b.py", "x.go", "AGENTS.md", "z"])
PATHS = st.lists(st.builds("".join, st.tuples(FOLDERS, NAMES)), max_size=6, unique=True)


@given(paths=PATHS)
def test_why_and_assembly_name_the_same_rules(root: Path, paths: list[str]) -> None:
    snapshot = graph_at(root, "HEAD")
    assert snapshot.applicable(paths) == snapshot.rules.bind_all(paths)
    told = {rule.id for answer in snapshot.why(paths) for rule in answer.rules}
    assert {rule.unit.id for rule in bound_rules(snapshot, paths)} == told


def packet(root: Path, snapshot: Snapshot) -> Packet:
    found = change(root, "HEAD~1..HEAD")
    return Contexts(root, snapshot).of_change(found, snapshot)


def without(snapshot: Snapshot, *words: str) -> Snapshot:
    """The graph of a commit without the statements that hold all of some words."""
    lines = [
        line
        for line in snapshot.store.canonical()
        if not all(word.encode() in line for word in words)
    ]
    store = OxigraphStore.in_memory()
    store.load(b"\n".join([*lines, b""]))
    return Snapshot(lambda: store, snapshot.catalog, snapshot.settings)


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        (("sops/one>", "doc/applies_to>"), "source.doc.sops.one"),
        (("sops/all>", "doc/applies_to>"), "source.doc.sops.all"),
        (("sops/agents-agents>", "doc/activation>"), "source.doc.sops.agents-agents"),
    ],
)
def test_a_rule_whose_statement_the_commits_graph_lacks_is_not_in_the_packet(
    root: Path, words: tuple[str, str], gone: str
) -> None:
    snapshot = graph_at(root, "HEAD~1")
    whole = {rule.id for answer in snapshot.why(["src/a.py", "src/b.py"]) for rule in answer.rules}
    if gone not in whole:
        gone = next(each for each in sorted(whole) if "agents" in each)
        words = (f"{gone.rpartition('.')[2]}>", "doc/activation>")
    known = packet(root, snapshot).context.sop_ids
    left = packet(root, without(snapshot, *words)).context.sop_ids
    assert gone in known
    assert gone not in left


def test_decisions_and_conventions_come_by_their_own_queries(root: Path) -> None:
    snapshot = graph_at(root, "HEAD~1")
    made = packet(root, snapshot)
    named = {section.name: [each.id for each in section.items] for section in made.context.sections}
    assert named["decisions"] == ["decision.db"]
    assert named["conventions"] == ["source.doc.conventions.names"]
    asked = {each.name: each for each in made.queries}
    assert (asked["decisions_by_pattern"].rows, asked["conventions_by_pattern"].rows) == (1, 1)
    assert '"src/**"' in asked["rules_by_pattern"].parameters["patterns"]
    assert "!" not in asked["rules_by_pattern"].parameters["patterns"]
    names = [each.name for each in made.queries]
    assert names.count("patterns") == 1
    assert names.count("document") >= len(made.context.sop_ids)
    less = packet(root, without(snapshot, "decision/db>", "doc/applies_to>"))
    assert "decisions" not in {section.name for section in less.context.sections}


def test_decisions_of_a_plan_are_asked_of_its_graph(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "r")
    with Workspace.open(tmp_path / "r") as work:
        work.ingest()
        book = work.plan_book()
        text = "## Situation\n\nA.\n\n## Mission\n\nB.\n\n## Execution\n\n1. C\n\n"
        text += "## Constraints\n\n- IN: src/**\n\n## Coordination\n\nNone.\n"
        book.commit("Any", text)
        first = book.decide("any", decision="One", reason="why", impact="little")
        second = book.decide(
            "any", decision="Two", reason="better", impact="much", supersedes=first.id
        )
        made = work.review_packet(diff="HEAD~1..HEAD", plan="any")
        developer = work.develop_packet(["src/a.py"], description="Do it.", plan="any")
    (asked,) = [each for each in made.queries if each.name == "plan_decisions"]
    assert (asked.rows, asked.parameters["plan"].endswith("/plan/any>")) == (1, True)
    named = {section.name: [each.id for each in section.items] for section in made.context.sections}
    assert named["decisions"] == [second.id, "decision.db"]
    assert first.id in {each.id for each in made.context.left_out}
    assert [each.name for each in developer.queries] == ["plan_decisions"]


def test_explain_lists_the_queries_in_the_place_of_the_text(root: Path) -> None:
    asked = ("context", "review", "--diff", "HEAD~1..HEAD", "--explain")
    queries = answer(root, *asked, "--json")["queries"]
    assert [each["name"] for each in queries[:2]] == ["patterns", "rules_by_pattern"]
    assert all(set(each) == {"name", "parameters", "rows", "milliseconds"} for each in queries)
    text = expect(root, *asked).stdout
    assert "rules_by_pattern" in text
    assert "Do src/a.py" not in text
