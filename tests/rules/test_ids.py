"""Ids: stable, predictable, never lost to a clash."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.rules.document_reader import read
from hornbook.rules.ids import assign_ids, declared_id, slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Error Handling", "error-handling"),
        ("0003_aws--net.work", "0003-aws-net-work"),
        ("-x-", "x"),
        ("Café", "cafe"),
        ("C++", "c"),
    ],
)
def test_slugs_are_lower_case_with_single_hyphens(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_text_without_latin_letters_has_a_slug_of_its_own() -> None:
    assert re.fullmatch(r"x[0-9a-f]{8}", slug("测试"))
    assert slug("测试") != slug("规则")


@given(st.text())
def test_every_text_has_a_slug(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", slug(text))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".hornbook/sources/docs/sops/error-handling.md", "source.doc.sops.error-handling"),
        (".semspec/sources/docs/sops/go/Errors.md", "source.doc.sops.go-errors"),
        (".hornbook/sources/docs/specs/api/v1.md", "source.doc.specs.api-v1"),
        (".hornbook/sources/docs/reference/x.txt", "source.doc.reference.x"),
        (".hornbook/sources/docs/x.md", "source.doc.reference.x"),
        (".hornbook/sources/docs/guides/x.md", "source.doc.reference.guides-x"),
        (".hornbook/sources/docs/decisions/0001-x.md", "decision.0001-x"),
        ("docs/sops/x.md", "source.doc.sops.x"),
        ("api/docs/sop/go/x.md", "source.doc.sops.go-x"),
        ("sources/datasheets/chip.md", "source.doc.datasheets.chip"),
        ("docs/guide/intro.md", "source.doc.reference.docs-guide-intro"),
        ("README.md", "source.doc.reference.readme"),
        (".cursor/rules/backend/api.mdc", "source.doc.sops.cursor-backend-api"),
        ("pkg/.cursor/rules/api.mdc", "source.doc.sops.cursor-pkg-api"),
        (".cursorrules", "source.doc.sops.cursor-cursorrules"),
        (".github/instructions/go.instructions.md", "source.doc.sops.copilot-go"),
        (".github/copilot-instructions.md", "source.doc.sops.copilot-copilot-instructions"),
        ("CLAUDE.md", "source.doc.sops.claude-claude"),
        ("CLAUDE.local.md", "source.doc.sops.claude-claude-local"),
        ("a/b/CLAUDE.md", "source.doc.sops.claude-a-b-claude"),
        (".claude/rules/x/y.md", "source.doc.sops.claude-x-y"),
        ("pkg/api/AGENTS.md", "source.doc.sops.agents-pkg-api-agents"),
        ("AGENTS.md", "source.doc.sops.agents-agents"),
        (".kiro/steering/tech.md", "source.doc.sops.kiro-tech"),
        ("docs/adr/0033-ip-ranges.md", "decision.0033-ip-ranges"),
    ],
)
def test_ids_follow_from_paths(path: str, expected: str) -> None:
    assert read(path, b"# T\n").desired_id == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("error-handling", "source.doc.sops.error-handling"),
        ("Error Handling", "source.doc.sops.error-handling"),
        ("source.doc.sops.go-errors", "source.doc.sops.go-errors"),
        ("source.doc.custom.a_b.c", "source.doc.custom.a_b.c"),
        ("decision.x", "decision.x"),
        ("source.doc.Sops.X", None),
        ("source.doc..x", None),
        ("source.doc.sops.x.chunk.1", None),
        ("source.doc.sops.x.rev.abc123", None),
        ("v1.2", None),
    ],
)
def test_a_declared_id_is_a_word_or_whole(declared: str, expected: str | None) -> None:
    assert declared_id(declared, "source.doc.sops.file") == expected


def test_a_declared_id_wins() -> None:
    assert read("docs/sops/x.md", b"---\nid: other\n---\n").desired_id == "source.doc.sops.other"


def test_a_bad_declared_id_falls_back_and_is_told() -> None:
    found = read("docs/sops/x.md", b"---\napplies_to: a\nid: Not.An.Id\n---\n")
    assert found.desired_id == "source.doc.sops.x"
    assert [(p.code, p.line) for p in found.problems] == [("bad_id", 3)]


def test_a_category_stated_against_the_folder_leaves_the_sops() -> None:
    found = read("docs/sops/x.md", b"---\ncategory: spec\n---\n")
    assert found.desired_id == "source.doc.spec.x"


def test_the_first_path_keeps_the_plain_id() -> None:
    found = assign_ids({"b.md": "x", "a.md": "x", "c.md": "y"})
    assert found.ids["a.md"] == "x"
    assert re.fullmatch(r"x-[0-9a-f]{6}", found.ids["b.md"])
    assert found.ids["c.md"] == "y"
    assert found.clashes == {"b.md": "a.md"}


def test_a_suffixed_id_never_takes_one_that_is_wanted() -> None:
    suffixed = assign_ids({"a": "x", "b": "x"}).ids["b"]
    found = assign_ids({"a": "x", "b": "x", "c": suffixed})
    assert found.ids["c"] == suffixed
    assert len(set(found.ids.values())) == 3


paths = st.dictionaries(st.text(min_size=1), st.sampled_from(["x", "y", "z"]))


@given(paths)
def test_ids_are_unique_and_depend_on_the_set_only(desired: dict[str, str]) -> None:
    found = assign_ids(desired)
    items = list(desired.items())
    items.reverse()
    assert assign_ids(dict(items)) == found
    assert len(set(found.ids.values())) == len(desired) == len(found.ids)
