"""Each planted defect is found by its name, and nothing else is told of a sound repository."""

import shutil
from pathlib import Path

import pytest

from hornbook.workspace import Workspace
from tests.doctor.planted import DEFECTS, RULE, Defect, file, instead, more, sound
from tests.kit.git import start


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound(tmp_path_factory.mktemp("sound"))


def serious(root: Path) -> list[tuple[str, str]]:
    with Workspace.open(root) as work:
        found = work.doctor().findings
    return [
        (each.code, each.path) for each in found if each.level != "info" or each.code == "stale"
    ]


def test_a_sound_repository_has_nothing_to_tell(base: Path) -> None:
    with Workspace.open(base) as work:
        health = work.doctor()
    assert (health.grade, [each.answer() for each in health.findings]) == ("A", [])
    assert not (base / ".hornbook").exists()


def test_there_are_forty_kinds_of_defect() -> None:
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) == 40


def test_a_repository_without_a_rule_has_no_good_grade(tmp_path: Path) -> None:
    start(
        tmp_path, {"src/a.py": "x = 1\n", ".cursor/rules/a.mdc": "---\ndescription: A\n---\n\nA.\n"}
    )
    with Workspace.open(tmp_path) as work:
        health = work.doctor()
    (found,) = (each for each in health.findings if each.level == "warning")
    assert (health.grade, found.code) == ("C", "no_rules")
    assert "1 known, of which none" in found.message


QUIET = {
    "the same pattern for another ending": (RULE, "globs: src/api/**/*.ts,src/api/**/*.tsx"),
    "one pattern beside an exclusion": (RULE, "globs: src/api/**, !src/views/**"),
}


@pytest.mark.parametrize(("path", "line"), QUIET.values(), ids=QUIET)
def test_a_list_of_endings_or_an_exclusion_is_no_defect(
    path: str, line: str, base: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    instead(path, "globs: src/api/**", line)(root)
    assert serious(root) == []


def test_a_file_of_examples_and_what_rulesync_makes_are_no_defects(
    base: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    body = (root / RULE).read_text("utf-8").split("---\n")[2]
    file(".rulesync/rules/api.md", f"---\nglobs: ['src/api/**']\n---\n{body}")(root)
    file(".roo/rules/5_examples.xml", "<example>See `src/orders/login.ts`.</example>\n")(root)
    assert serious(root) == []


def test_names_of_rule_files_of_many_tools_claim_nothing(base: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    names = ("`.windsurfrules`", "`.clinerules`", "`.github/copilot-instructions.md`")
    more("AGENTS.md", "".join(f"\n- {name}" for name in names) + "\n")(root)
    more("AGENTS.md", "\n- 例如: `src/orders/total.ts`\n- Keys: `src/orders/namespace.json`\n")(
        root
    )
    assert serious(root) == []


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_found(defect: Defect, base: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(base, tmp_path / "spoilt", symlinks=True))
    defect.plant(root)
    found = serious(root)
    assert (defect.code, defect.path) in found
    assert {path for _, path in found} == {defect.path}


def test_a_path_through_a_linked_folder_is_there(base: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    file(".agents/skills/e2e/STEPS.md", "# Steps\n")(root)
    file(".claude/CLAUDE.md", "See `.claude/skills/e2e/STEPS.md` for the steps.\n")(root)
    (root / ".claude/skills").symlink_to("../.agents/skills")
    assert serious(root) == []
    (root / ".agents/skills/e2e/STEPS.md").rename(root / ".agents/skills/e2e/OTHER.md")
    assert serious(root) == [("missing_path", ".claude/CLAUDE.md")]


def test_a_path_through_a_link_that_leads_out_of_the_repository_is_missing(
    base: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    file("../outside/steps.md", "# Steps\n")(root)
    (root / "docs/shared").symlink_to("../../outside")
    more("AGENTS.md", "\nRead `docs/shared/steps.md` before you begin.\n")(root)
    assert serious(root) == [("missing_path", "AGENTS.md")]


@pytest.mark.parametrize(
    "recipe",
    [
        "gen-grammar *args='':",
        'gen-grammar lang="css" *args:',
        "@gen-grammar +langs='a:b': build",
        "[group('code')]\ngen-grammar $LANG=`echo a:b`:",
        "_build:\n    true\ngen-grammar: _build && (release '1')",
    ],
)
def test_a_recipe_with_parameters_and_defaults_is_defined(
    recipe: str, base: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    file("justfile", f"release version:\n    true\n\n{recipe}\n    true\n")(root)
    more("AGENTS.md", "\nRun `just gen-grammar css` after a change of the grammar.\n")(root)
    assert serious(root) == []
    file("justfile", "release version:\n    true\n\ngen-grammar := 'a'\n")(root)
    assert serious(root) == [("missing_command", "AGENTS.md")]


def remedies(root: Path) -> list[str]:
    with Workspace.open(root) as work:
        return [each.remedy for each in work.doctor().findings if each.level != "info"]


def test_the_pattern_that_is_proposed_is_read_from_the_folder_of_the_rule(
    base: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    file("web/pages/a.tsx", "export {}\n")(root)
    rule = '---\napplyTo: "page/**"\n---\n\nA.\n'
    file("web/.github/instructions/a.instructions.md", rule)(root)
    assert serious(root) == [("dead_scope", "web/.github/instructions/a.instructions.md")]
    (remedy,) = remedies(root)
    assert remedy.startswith("Write `pages/**`,")


def test_a_link_to_a_host_without_a_scheme_is_told_as_that(base: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    more("AGENTS.md", "\nUse [the library](github.com/shop/seed) for seeds.\n")(root)
    assert serious(root) == [("missing_document", "AGENTS.md")]
    assert remedies(root) == [
        "Write `https://github.com/shop/seed` if that is meant; else take it out of the rule."
    ]


def test_a_list_that_copilot_drops_is_told(base: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(base, tmp_path / "kept"))
    path = ".github/instructions/tests.instructions.md"
    instead(path, 'applyTo: "tests/**"', 'applyTo:\n  - "tests/**"')(root)
    assert serious(root) == [("ignored_key", path)]
