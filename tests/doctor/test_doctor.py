"""`hornbook doctor` as people and CI jobs call it."""

import json
import shutil
from datetime import date
from pathlib import Path

import jsonschema
import pytest

from hornbook.doctor.baseline import accepted, read_baseline
from hornbook.doctor.checks.likeness import contradictions
from hornbook.doctor.finding import Finding
from hornbook.doctor.mentions import mentions
from hornbook.doctor.rule_set import rule_set
from hornbook.doctor.text_report import screen
from hornbook.errors import ConfigError
from hornbook.rules.own_files.records import RECORD, hashes_of, seal_of
from hornbook.workspace import Workspace
from tests.doctor.planted import COPILOT, DEFECTS, TESTS, more, sound
from tests.kit.commands import answer, expect
from tests.kit.git import git
from tests.kit.growth import in_proportion
from tests.kit.published_schemas import SARIF, published_schema
from tests.kit.workspaces import write

KEYS = ["code", "level", "path", "line", "rule", "message", "remedy", "fixable", "accepted_until"]

RECORDED = {"never_cited", "always_violated"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "repository"))


def spoil(root: Path, *names: str) -> None:
    for defect in DEFECTS:
        if not names or defect.name in names:
            defect.plant(root)


def state(root: Path) -> dict[str, tuple[bytes, int]]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_the_answer_has_the_documented_keys_and_nothing_is_written(root: Path) -> None:
    spoil(root, "a pattern that is none", "a script of npm")
    before = state(root)
    told = answer(root, "doctor", "--json", code=1)
    assert list(told) == ["grade", "counts", "findings", "not_judged", "seconds"]
    assert told["counts"] == {"error": 1, "warning": 1, "info": 0}
    assert told["grade"] == "F"
    assert [list(each) for each in told["findings"]] == [KEYS, KEYS]
    assert {tuple(each) for each in told["not_judged"]} == {("code", "reason")}
    assert state(root) == before


def test_a_repository_without_git_is_examined_too(tmp_path: Path) -> None:
    rule = "# A\n\nLogic is in `src/a/gone.py`, not in views.\n"
    write(tmp_path, {"AGENTS.md": rule, "src/a/b.py": ""})
    told = answer(tmp_path, "--root", str(tmp_path), "doctor", "--json")
    assert [(f["code"], f["line"]) for f in told["findings"]] == [("missing_path", 3)]
    assert {"code": "stale", "reason": "This is no git repository, so nobody knows what changed since."} in told["not_judged"]  # fmt: skip


def test_a_remedy_is_a_sentence_and_begins_no_path_or_code_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".github/instructions/b.instructions.md": "---\napplyTo: [a.py]\n---\n# B\n\nMUST.\n",
            "CLAUDE.md": "# Claude\n\nBe brief.\n\n@docs/gone.md\n",
            "a.py": "",
        },
    )
    findings = answer(tmp_path, "--root", str(tmp_path), "doctor", "--json", code=1)["findings"]
    told = {each["path"].rpartition("/")[2]: (each["message"], each["remedy"]) for each in findings}
    assert told["b.instructions.md"][1] == "Write `applyTo: 'a, b'` as one text."
    assert told["CLAUDE.md"][1].startswith("Correct the path, or put it in backticks")
    assert all(said.count("`") % 2 == 0 for pair in told.values() for said in pair)


def test_only_what_was_named_is_told(root: Path) -> None:
    spoil(root, "a script of npm", "a folder that is gone")
    told = answer(root, "doctor", ".cursor", "--json")
    assert [each["path"] for each in told["findings"]] == [".cursor/rules/api.mdc"]


def test_a_path_that_is_not_there_gets_no_grade(root: Path) -> None:
    spoil(root, "a script of npm")
    done = expect(root, "doctor", ".curser", code=2)
    assert ".curser does not exist in" in done.stderr
    assert done.stdout == ""


def test_the_worst_rules_are_told_on_one_screen(root: Path) -> None:
    whole = {
        *("unreadable_rule", "bad_pattern", "dead_scope", "stale"),
        *("broken_link", "broken_include"),
    }
    spoil(root, *(defect.name for defect in DEFECTS if defect.code not in whole))
    with Workspace.open(root) as work:
        health = work.doctor()
    lines = screen(health)
    assert len(lines) <= 24
    assert max(map(len, lines)) < 80
    assert lines[0].startswith("D  ")
    assert lines[2].startswith("error over_reserve")
    piped = expect(root, "doctor", code=1).stdout.splitlines()
    assert piped == screen(health, None)
    assert not any(line.endswith("…") for line in piped)


@pytest.mark.parametrize(
    "name",
    ["a path in another case", "a pattern with backslashes", "a rule in UTF-16"],
)
def test_a_fix_heals_its_finding_and_nothing_else(name: str, root: Path) -> None:
    sound_state = state(root)
    spoil(root, name)
    done = expect(root, "doctor", "--fix", "--json")
    assert json.loads(done.stdout)["findings"] == []
    assert done.stderr.startswith("fixed ")
    (defect,) = (each for each in DEFECTS if each.name == name)
    changed = {path for path, facts in state(root).items() if sound_state[path][0] != facts[0]}
    assert changed <= {str(root / defect.path)}


def test_a_link_is_corrected_where_only_one_file_can_be_meant(root: Path) -> None:
    more("AGENTS.md", "\nSee [a](guides/deep.md) and [b](nowhere.md).\n")(root)
    write(root, {"docs/guides/deep.md": "# Deep\n"})
    told = answer(root, "doctor", "--fix", "--json")
    assert [each["message"] for each in told["findings"]] == ["The link to `nowhere.md` leads to nothing here."]  # fmt: skip
    assert "[a](docs/guides/deep.md) and [b](nowhere.md)" in (root / "AGENTS.md").read_text()


def test_blank_lines_before_frontmatter_are_taken_out(root: Path) -> None:
    write(root, {TESTS: "\n\n" + COPILOT})
    found = answer(root, "doctor", "--json", code=1)["findings"]
    assert [(each["code"], each["fixable"]) for each in found] == [("unreadable_rule", True)]
    assert answer(root, "doctor", "--fix", "--json")["findings"] == []
    assert (root / TESTS).read_text() == COPILOT


def test_what_the_baseline_accepts_counts_nowhere_until_its_day(root: Path) -> None:
    spoil(root, "a pattern that is none")
    written = expect(root, "doctor", "--write-baseline", ".hornbook-doctor.yaml", "--json")
    assert json.loads(written.stdout)["counts"]["error"] == 0
    write(root, {".hornbook/doctor.yaml": (root / ".hornbook-doctor.yaml").read_text()})
    told = answer(root, "doctor", "--json")
    assert [each["accepted_until"] is not None for each in told["findings"]] == [True]
    assert told["grade"] == "A"


def test_an_entry_that_expired_counts_no_longer(tmp_path: Path) -> None:
    entry = "- {code: stale, path: a.md, reason: known, accept_until: 2026-01-31}\n"
    write(tmp_path, {"known.yaml": entry})
    entries = read_baseline(tmp_path / "known.yaml")
    findings = [Finding("stale", path, 1, "r", "m", "x") for path in ("a.md", "b.md")]
    on_the_day, after = (accepted(findings, entries, date(2026, *day)) for day in ((1, 31), (2, 1)))
    assert [each.accepted_until for each in on_the_day] == ["2026-01-31", None]
    assert [each.accepted_until for each in after] == [None, None]


def test_everything_wrong_with_a_baseline_is_told_at_once(tmp_path: Path) -> None:
    text = "- code: stall\n  reason: r\n  accept_until: soon\n- code: stale\n  until: 2026-01-31\n"
    write(tmp_path, {"known.yaml": text})
    with pytest.raises(ConfigError) as refused:
        read_baseline(tmp_path / "known.yaml")
    told = "\n".join(refused.value.problems)
    assert all(
        part in told for part in ("`stall` is no code", "`soon` is no day", "until", "lacks")
    )


def test_sarif_is_valid_by_the_published_schema(root: Path) -> None:
    spoil(root, "a script of npm", "a linked document", "a pattern that is none")
    log = json.loads(expect(root, "doctor", "--format", "sarif", code=1).stdout)
    jsonschema.validate(log, published_schema(SARIF))
    levels = {each["ruleId"]: each["level"] for each in log["runs"][0]["results"]}
    assert levels == {
        "hornbook/bad_pattern": "error",
        "hornbook/missing_command": "warning",
        "hornbook/missing_document": "warning",
    }


@pytest.mark.parametrize(
    "line",
    [
        "Create `src/orders/refunds.ts` for refunds.",
        "For example, `src/orders/refund.ts` holds one.",
        "`src/orders/<name>.ts`, `src/orders/*.vue`, `path/to/file.ts`, `src/orders/Xxx.ts`",
        "Bundles are in `dist/app.js`, secrets in `.env`, types in `src/generated/types.ts`.",
        "It imports `web/utils` and `@scope/pkg/file.ts`, from `https://example.org/a/b.ts`.",
        "Clients are in `db/client.ts`, orders in `orders/order`; see `order.ts:12`.",
        "`src/orders/legacy.ts` was removed.",
        "Use `and/or`, `text/plain`, `origin/main`, `GET /api/orders`, `~/notes.md`.",
        "Run `npm run <script>` or `make -j4 build`, `yarn eslint`, `npm install`, `cargo test`.",
        "There is no `src/orders/tests.ts`, and `src/orders/vN-client.ts` freezes a client.",
        "The served path `/src/orders/refunds/all` is hard-coded.",
        "[url](URL), [mail](mailto:a@example.org), [here](#commands), [g](/docs/guide.md)",
    ],
)
def test_what_is_no_claim_is_not_told(line: str, root: Path) -> None:
    more("AGENTS.md", f"\n{line}\n")(root)
    with Workspace.open(root) as work:
        assert [each.answer() for each in work.doctor().findings] == []


def test_a_link_to_what_git_ignores_is_not_told_from_whichever_folder_it_is_meant(
    root: Path,
) -> None:
    files = {
        ".gitignore": "/made/\n",
        "src/AGENTS.md": "# A\n\nSee [a](made/a.md), [b](kept/b.md).\n",
    }
    write(root, files)
    with Workspace.open(root) as work:
        told = [each.message for each in work.doctor().findings]
    assert told == ["The link to `kept/b.md` leads to nothing here."]


def test_what_people_write_beside_a_path_is_not_taken_for_a_part_of_it(tmp_path: Path) -> None:
    rule = """# A

- State is in [the store](src/web/store.ts:12-14), see [it](src/web/gone.ts:3).
- The index is `../.cursor/rules/index.mdc`.
- Meetings come from `src/api/meeting.resolve_meeting_context`.
- Format with `cd web && yarn fmt:write`, and `cd web && yarn test`.

Tests lie where the code does, such as
`src/api/test_money.py` for `src/api/money.py`. Totals are
made in `src/api/totals.py`.

Routes and their URLs are in `src/api/routes.py`.
"""
    files = {
        ".roo/rules/a.md": rule,
        ".cursor/rules/index.mdc": "---\nalwaysApply: true\n---\nIndex.\n",
        "package.json": '{"scripts": {"fmt:write": "x", "test": "y"}}',
        "web/package.json": '{"name": "web"}',
    }
    write(tmp_path, {**files, "src/web/store.ts": "", "src/api/meeting.py": ""})
    told = answer(tmp_path, "--root", str(tmp_path), "doctor", "--json")
    assert [(f["code"], f["line"]) for f in told["findings"] if f["level"] == "warning"] == [
        ("missing_command", 6),
        ("missing_path", 10),
        ("missing_path", 12),
        ("missing_document", 3),
    ]


def test_a_scope_in_a_submodule_is_not_dead(tmp_path: Path) -> None:
    rule = "---\nglobs: gui/**, gui, lost/**\n---\nFor the GUI.\n"
    write(tmp_path, {".cursor/rules/gui.mdc": rule, ".gitmodules": '[submodule "gui"]\n'})
    git(tmp_path, "init", "-q")
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},gui")
    told = answer(tmp_path, "doctor", "--json")
    assert [f["message"][:21] for f in told["findings"] if f["code"] == "dead_scope"] == [
        "The pattern `lost/**`"
    ]


def test_rules_that_are_links_to_one_text_are_no_copies(root: Path) -> None:
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    with Workspace.open(root) as work:
        assert [e.code for e in work.doctor().findings if e.code != "unowned"] == []


def test_a_heavy_text_that_several_tools_read_weighs_once(tmp_path: Path) -> None:
    write(tmp_path, {"AGENTS.md": "# All\n\n" + "You must be careful with every line. " * 600})
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    shutil.copy(tmp_path / "AGENTS.md", tmp_path / "GEMINI.md")
    with Workspace(tmp_path) as work:
        found = [each for each in work.doctor().findings if each.code == "always_on_weight"]
        (answer,) = work.why(["a.py"])
    assert [each.path for each in found] == ["AGENTS.md"]
    assert f"every file have {answer.tokens}." in found[0].message


def test_opposed_demands_are_pairs_for_a_person(root: Path) -> None:
    more("AGENTS.md", "\n- Always use `var_dump` here.\n")(root)
    more(".cursor/rules/api.mdc", "\nNever use `var_dump`.\n")(root)
    with Workspace.open(root) as work:
        (found,) = work.doctor().findings
    assert (found.code, found.level) == ("contradiction_candidate", "info")
    assert ".cursor/rules/api.mdc" in found.message + found.path


def test_demands_are_opposed_where_their_rules_can_bind_one_file(tmp_path: Path) -> None:
    folders = ("", "a/", "a/b/", "ab/", "a/c/d/")
    orders = {"Always": "1-always", "Never": "2-never"}
    for place, folder in enumerate(folders):
        for order, name in orders.items():
            front = f'---\nglobs: "{folder}**/*.py"\n---\n'
            write(tmp_path, {f".cursor/rules/{name}-{place}.mdc": f"{front}{order} use `x`.\n"})
    with Workspace.open(tmp_path) as work:
        told = [each for each in work.doctor().findings if each.code == "contradiction_candidate"]
    found = {
        (folders[int(each.path[-5])], folders[place])
        for each in told
        for place in range(len(folders))
        if f"2-never-{place}.mdc" in each.message
    }
    assert found == {
        (one, other)
        for one in folders
        for other in folders
        if one.startswith(other) or other.startswith(one)
    }
    assert len(found) == len(told)


def test_the_first_pairs_of_opposed_demands_are_told(tmp_path: Path) -> None:
    many = "- Always use `x`.\n" * 30 + "- Never use `x`.\n" * 30
    write(tmp_path, {"AGENTS.md": f"# A\n\n- Never use `y`.\n{many}- Always use `y`.\n"})
    with Workspace.open(tmp_path) as work:
        told = [each for each in work.doctor().findings if each.code == "contradiction_candidate"]
    seconds = [int(each.message.rpartition(":")[2].split(")")[0]) for each in told]
    assert [each.line for each in told] == [3] + [4] * 19
    assert seconds == [64, *range(34, 53)]


def test_demands_are_compared_in_linear_time(tmp_path: Path) -> None:
    write(tmp_path, {"AGENTS.md": "# A\n\nText.\n"})
    with Workspace.open(tmp_path) as work:
        rules = rule_set(work.places, work.settings)
    (rule,) = rules.texts
    many = "Always use `x`.\n" * 20_000
    assert (
        in_proportion(lambda text: contradictions(rules, {rule.id: mentions(text, 1)}), many) == []
    )


def test_owners_and_folders_that_nobody_thought_of_are_told(root: Path) -> None:
    write(root, {".github/CODEOWNERS": "*.md @a\n/.github/ @b\n"})
    (root / "AGENTS.md").unlink()
    write(root, {f"lib/{n}.go": "package lib\n" for n in range(6)})
    with Workspace.open(root) as work:
        told = {(each.code, each.path) for each in work.doctor().findings if each.level == "info"}
    assert ("uncovered", "lib") in told
    assert {path for code, path in told if code == "unowned"} == {
        ".cursor/rules/api.mdc",
        ".cursor/rules/components.mdc",
    }


def test_records_tell_which_rule_no_review_answers_and_which_is_always_violated(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "AGENTS.md": "# Shop\n\nPrices MUST be whole cents.\n",
            "web/AGENTS.md": "# Web\n\nPages MUST work without scripts.\n",
            "api/AGENTS.md": "# Api\n\nAnswers MUST be JSON.\n",
        },
    )
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    answers = {"agents-agents": "passed", "agents-web-agents": "violated"}
    records = {f"r.{number}": answers for number in range(1, 6)}
    for name, said in {**records, "planted.1": {"agents-api-agents": "violated"}}.items():
        rules = [
            {"id": f"source.doc.sops.{rule}", "severity": "error", "statuses": [status]}
            for rule, status in said.items()
        ]
        facts: dict[str, object] = {"id": f"review.{name}", "rules": rules, "receipts": []}
        if name == "planted.1":
            facts["canary"] = {"id": "c", "found": True}
        facts["hashes"] = {**hashes_of(facts), "receipts": []}
        facts[RECORD] = seal_of(facts)
        path = tmp_path / f".hornbook/records/reviews/{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts))
    found = answer(tmp_path, "doctor", "--json")["findings"]
    assert [(each["code"], each["rule"]) for each in found if each["code"] in RECORDED] == [
        ("always_violated", "source.doc.sops.agents-web-agents"),
        ("never_cited", "source.doc.sops.agents-api-agents"),
    ]
