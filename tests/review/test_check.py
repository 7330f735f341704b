"""Reviews of a real change: accepted only when every rule is answered with what really exists."""

import json
import os
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.review.check import briefs, read_gates, recompute_case
from hornbook.review.evidence import search
from hornbook.review.integrity import CODES, WARNINGS
from hornbook.review.judge import Case, judge
from hornbook.review.judgement import JudgedUnit, Judgement, Route, Search
from hornbook.review.printed_review import PrintedReview
from tests.kit import review_cases as cases
from tests.kit.git import commit, git, start
from tests.kit.paths import DOCS
from tests.kit.reviews import AT, GOOD, Receipt, check, codes, prepared, resigned
from tests.kit.workspaces import write

SAME = f"handlers/user.go:7 `{cases.QUOTE}`, handlers/user_test.go:3 `func TestLoad(t *testing.T)`"
UNSEEN = (
    "several_merge_bases",
    "incomplete_history",
    "hidden_content",
    "unnamed_change",
    "rule_not_read",
    "missed_canary",
    "edited_judges",
    "reviewers_disagree",
    "no_second_opinion",
)
"""What depends on the change and on other reviews, not on the review."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repo")
    start(folder, {**cases.RULES, "README.md": "# It\n"})
    commit(folder, cases.CHANGED)
    return folder


@pytest.fixture(scope="module")
def facts(root: Path) -> Receipt:
    return prepared(root)[0]


@pytest.fixture(scope="module")
def case(root: Path, facts: Receipt) -> Case:
    """The change as git has it, so that each review of the table costs only its own check."""
    return recompute_case(root, [facts], today=AT.date())


@pytest.mark.parametrize("tried", cases.CASES, ids=lambda each: each.name)
def test_a_review_gets_the_outcome_it_deserves(
    facts: Receipt, case: Case, tried: cases.Case
) -> None:
    found = judge(case, list(briefs([PrintedReview("it", tried.printed)], [facts], case.rules)))
    assert str(found.outcome) == tried.outcome, found.problems
    assert codes(found) == tried.codes, found.problems
    assert found.rejection_type == tried.rejection_type
    assert all(problem.message for problem in found.problems)


def test_a_search_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PATIENCE_SECONDS", 0.001)
    searches = search.Searches({"a.txt": "word word " * 100_000})
    rule = JudgedUnit("r", "r", "error", files=("a.txt",))
    (said,) = searches.look(Search(r"(word )+\1+wordx?wordz", ()), rule).problems
    assert "takes too long" in said
    (said,) = searches.look(Search("absent", ()), rule).problems
    assert "was not run" in said


def test_the_table_is_large_and_holds_every_code() -> None:
    seen = {code for case in cases.CASES for code in case.codes}
    assert len(cases.CASES) >= 60
    assert set(CODES) - seen == {"no_context", "forbidden_code", *UNSEEN}


def test_an_approval_says_what_it_rests_on(root: Path, facts: Receipt) -> None:
    found = check(root, [facts], GOOD)
    assert [(each.sop_id, each.status, each.path, each.line) for each in found.findings] == [
        (cases.ERRORS, "passed", "handlers/user.go", 7),
        (cases.PRINTS, "passed", None, None),
        (cases.COVERAGE, "passed", "handlers/user_test.go", 3),
    ]
    assert "3 of 3 rules are answered" in found.explanation[0]
    assert (found.notes, found.warnings) == ((), ())
    assert found.route is None


def test_each_problem_names_the_rule_and_the_remedy(root: Path, facts: Receipt) -> None:
    printed = next(case.printed for case in cases.DEFECTS if case.name == "a line past the end")
    (problem,) = check(root, [facts], printed).problems
    assert problem.sop_id == cases.COVERAGE
    assert problem.message == (
        "handlers/user_test.go:6: handlers/user_test.go has lines 1 to 5: cite lines that exist."
    )


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b'{"verdict": "approved", "feedback": "x",\n}', "trailing comma before `}`, line 2"),
        (b'{"verdict": "approved", "sop_review": [1, 2, ], "x": 1}', "trailing comma before `]`"),
        (b'{"verdict": "approved", "feed', "cut off"),
        (b'{"verdict": "a", "verdict": "b"}', "`verdict` stands twice"),
        (b"{'verdict': 'approved'}", "single quotes"),
    ],
)
def test_what_is_no_json_is_told_by_name(
    root: Path, facts: Receipt, broken: bytes, said: str
) -> None:
    (problem,) = check(root, [facts], broken).problems
    assert said in problem.message


@pytest.mark.parametrize(
    ("kind", "route"),
    [
        ("fixable", Route.DEVELOPER),
        ("misscoped", Route.PLAN_REFINEMENT),
        ("architectural", Route.DESIGN_REFINEMENT),
        ("too_big", Route.TASK_DECOMPOSITION),
    ],
)
def test_a_rejection_goes_where_its_type_says(
    root: Path, facts: Receipt, kind: str, route: Route
) -> None:
    review = {**cases.GOOD, "verdict": "rejected", "rejection_type": kind}
    found = check(root, [facts], json.dumps(review).encode())
    assert (found.outcome, found.route) == ("rejected", route)


def test_unknown_keys_are_reported_and_cost_nothing(root: Path, facts: Receipt) -> None:
    found = check(root, [facts], json.dumps({**cases.GOOD, "feedbck": "x"}).encode())
    assert found.outcome == "approved"
    assert found.notes == ("unknown key `feedbck`: did you mean `feedback`?",)


@pytest.mark.parametrize(
    ("place", "entry", "told"),
    [
        (
            1,
            {"evidence": f"It is tested too, handlers/user.go:7 `{cases.QUOTE}`"},
            ("shared_evidence", cases.ERRORS),
        ),
    ],
)
def test_what_a_person_should_look_at_is_a_warning(
    root: Path, facts: Receipt, place: int, entry: dict[str, object], told: tuple[str, str]
) -> None:
    review = json.loads(GOOD)
    review["sop_review"][place] |= entry
    found = check(root, [facts], json.dumps(review).encode())
    assert found.outcome == "approved", found.problems
    assert [(each.code, each.sop_id) for each in found.warnings] == [told]


def test_evidence_that_lies_partly_in_the_change_is_in_it(root: Path, facts: Receipt) -> None:
    review = json.loads(GOOD)
    review["sop_review"][1]["evidence"] = "README.md:1 asks for it, handlers/user_test.go:3 is it"
    assert check(root, [facts], json.dumps(review).encode()).warnings == ()


def test_every_warning_of_several_reviews_names_its_review(root: Path, facts: Receipt) -> None:
    review = json.loads(GOOD)
    review["sop_review"][1]["evidence"] = f"Tested too, handlers/user.go:7 `{cases.QUOTE}`"
    (warning,) = check(root, [facts], GOOD, json.dumps(review).encode()).warnings
    assert warning.message.startswith("review 2: it rests on the same evidence")


def test_every_code_is_explained() -> None:
    page = (DOCS / "reviews.md").read_text(encoding="utf-8")
    assert [code for code in (*CODES, *WARNINGS) if f"\n| `{code}` | " not in page] == []


def test_a_review_teaches_a_few_patterns_at_most(root: Path, facts: Receipt) -> None:
    many = [{"name": f"n{n}", "pattern": "p", "applies_to": "*.go"} for n in range(500)]
    found = check(root, [facts], json.dumps({**cases.GOOD, "patterns": many}).encode())
    assert (found.outcome, len(found.patterns)) == ("approved", 20)
    assert found.notes == ("480 patterns are ignored: 20 are read.",)


# Receipts


def without(facts: Receipt, rule_id: str) -> Receipt:
    """A receipt from which a rule was taken, signed anew: a forgery that is consistent."""
    plain = json.loads(json.dumps(facts))
    plain["sop_ids"].remove(rule_id)
    for section in plain["sections"]:
        section["items"] = [item for item in section["items"] if item["id"] != rule_id]
    return resigned(plain)


def test_a_rule_taken_out_of_the_receipt_is_still_missed(root: Path, facts: Receipt) -> None:
    review = json.loads(GOOD)
    review["sop_review"] = review["sop_review"][1:]
    found = check(root, [without(facts, cases.ERRORS)], json.dumps(review).encode())
    assert found.outcome == "invalid"
    assert codes(found) == {"missing_sop", "no_context"}


def test_a_forged_receipt_gains_nothing_even_with_a_good_review(root: Path, facts: Receipt) -> None:
    assert codes(check(root, [without(facts, cases.ERRORS)], GOOD)) == {"no_context"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcome": "too_big"}, "not complete"),
        ({"tree": "0" * 40}, "tree is not the change's"),
        ({"files": ["README.md"]}, "files is not the change's"),
        ({"merge_base": "0" * 40}, "merge_base is not the change's"),
        ({"base": None}, "not for a change"),
        ({"base": "main"}, "not for a change"),
        ({"schema": "v0"}, "schema is 'v0'"),
        ({"sop_ids": "all"}, "lists no rules"),
    ],
)
def test_a_receipt_that_git_does_not_confirm_is_no_context(
    root: Path, facts: Receipt, changes: dict[str, object], said: str
) -> None:
    found = check(root, [resigned(facts, **changes)], GOOD)
    assert found.outcome == "invalid"
    assert codes(found) == {"no_context"}
    assert any(said in problem.message for problem in found.problems)


def test_an_edited_receipt_is_told(root: Path, facts: Receipt) -> None:
    found = check(root, [{**facts, "model": "other"}], GOOD)
    assert any("was edited" in problem.message for problem in found.problems)


def test_a_review_without_a_receipt_is_no_review(root: Path) -> None:
    assert codes(check(root, [], GOOD)) == {"no_context"}


def test_commits_that_git_does_not_have_are_an_error(root: Path, facts: Receipt) -> None:
    with pytest.raises(UsageError, match="names no commit"):
        check(root, [resigned(facts, base="0" * 40)], GOOD)


# Gates


def gates(*, passed: bool, tree: str | None = None, **rest: object) -> GateReport:
    status = GateStatus.PASSED if passed else GateStatus.FAILED
    return GateReport(passed, (GateResult("test", True, status, message="1 failed"),), tree)


def test_failed_gates_forbid_an_approval(root: Path, facts: Receipt) -> None:
    found = check(root, [facts], GOOD, gates=gates(passed=False))
    assert (found.outcome, found.rejection_type, found.route) == (
        "rejected",
        "fixable",
        "developer",
    )
    assert ("failed", "gate test: 1 failed") in [(f.status, f.message) for f in found.findings]


def test_passed_gates_let_an_approval_stand(root: Path, facts: Receipt) -> None:
    found = check(root, [facts], GOOD, gates=gates(passed=True, tree=str(facts["tree"])))
    assert found.outcome == "approved"


def test_gates_of_another_tree_do_not_count(root: Path, facts: Receipt) -> None:
    found = check(root, [facts], GOOD, gates=gates(passed=True, tree="0" * 40))
    assert codes(found) == {"no_context"}


@pytest.mark.parametrize(
    "text",
    [
        '{"passed": true, "gates": []}',
        '{"passed": true, "gates": [{"name": "a", "required": true, "status": "failed"}]}',
        '{"passed": true, "gates": [{"name": "a", "required": true, "status": "skipped"}]}',
        '{"passed": false, "gates": [{"name": "a", "required": true, "status": "passed"}]}',
    ],
)
def test_what_gates_add_up_to_is_derived_again(text: str) -> None:
    assert not read_gates(text.encode()).passed


def test_gate_results_of_another_form_are_refused() -> None:
    with pytest.raises(UsageError, match="gates run --json"):
        read_gates(b"all green")


# Several reviews


def test_any_blocking_reviewer_blocks_and_the_disagreement_is_shown(
    root: Path, facts: Receipt
) -> None:
    other = json.loads(cases.REJECTED[0].printed)
    found = check(root, [facts], GOOD, json.dumps(other).encode())
    assert (found.outcome, found.route) == ("rejected", "developer")
    assert found.disagreements == (
        f"{cases.ERRORS}: review 1 says passed, review 2 says violated",
        "verdict: review 1 says approved, review 2 says rejected",
    )


def test_of_several_rejections_the_one_that_reaches_back_furthest_decides(
    root: Path, facts: Receipt
) -> None:
    kinds = ("fixable", "architectural", "too_big")
    reviews = [
        json.dumps({**cases.GOOD, "verdict": "rejected", "rejection_type": kind}).encode()
        for kind in kinds
    ]
    assert check(root, [facts], *reviews).rejection_type == "architectural"


def test_one_bad_review_among_good_ones_makes_it_invalid(root: Path, facts: Receipt) -> None:
    found = check(root, [facts], GOOD, b"fine")
    assert found.outcome == "invalid"
    assert found.problems[0].message.startswith("review 2: ")


@pytest.fixture(scope="module")
def passes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Receipt]]:
    folder = tmp_path_factory.mktemp("passes")
    start(folder, {**cases.RULES, ".hornbook/config.yaml": "reserve: 110\n"})
    commit(folder, cases.CHANGED)
    return folder, prepared(folder)


def answers(receipts: list[Receipt]) -> list[bytes]:
    entries = {entry["sop_id"]: entry for entry in cases.GOOD["sop_review"]}
    found = []
    for each in receipts:
        ids = each["sop_ids"]
        assert isinstance(ids, list)
        review = {**cases.GOOD, "sop_review": [entries[rule_id] for rule_id in ids]}
        found.append(json.dumps(review).encode())
    return found


def test_passes_are_accepted_when_together_they_cover_the_rules(
    passes: tuple[Path, list[Receipt]],
) -> None:
    root, receipts = passes
    assert len(receipts) > 1
    found = check(root, receipts, *reversed(answers(receipts)))
    assert found.outcome == "approved", found.problems


def test_a_missing_pass_is_missed(passes: tuple[Path, list[Receipt]]) -> None:
    root, receipts = passes
    only_first = check(root, receipts[:1], answers(receipts)[0])
    assert codes(only_first) == {"missing_sop"}
    one_unanswered = check(root, receipts, *answers(receipts)[:-1])
    assert codes(one_unanswered) == {"missing_sop"}


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (
            {
                "status": "not_applicable",
                "evidence": "Names: handlers/user.go:7 and user_test.go:3.",
            },
            "all_not_applicable",
        ),
        ({"status": "passed", "evidence": SAME}, "rubber_stamp"),
    ],
)
def test_passes_of_one_rule_each_are_no_way_around_looking(
    tmp_path: Path, entry: dict[str, str], code: str
) -> None:
    start(tmp_path, {**cases.RULES, ".hornbook/config.yaml": "reserve: 90\n"})
    commit(tmp_path, cases.CHANGED)
    receipts = prepared(tmp_path)
    assert len(receipts) == 3
    lazy = [
        json.dumps({**cases.GOOD, "sop_review": [{"sop_id": rule_id, **entry}]}).encode()
        for rule_id in (cases.ERRORS, cases.COVERAGE, cases.PRINTS)
    ]
    assert codes(check(tmp_path, receipts, *lazy)) == {code}
    assert check(tmp_path, receipts, *answers(receipts)).outcome == "approved"


def test_the_same_line_in_passes_is_a_warning(passes: tuple[Path, list[Receipt]]) -> None:
    root, receipts = passes
    lines = {
        cases.ERRORS: f"The cause is wrapped, handlers/user.go:7 `{cases.QUOTE}`",
        cases.COVERAGE: "TestLoad covers the failing path, handlers/user_test.go:3-5.",
        cases.PRINTS: f"Nothing is printed, handlers/user.go:7 `{cases.QUOTE}`",
    }
    excused = {
        cases.PRINTS: [{"paths": ["**/*_test.go"], "reason": "Tests print nothing."}],
    }
    reviews = []
    for each in receipts:
        ids = each["sop_ids"]
        assert isinstance(ids, list)
        entries = [
            {"sop_id": i, "status": "passed", "evidence": lines[i], "excused": excused.get(i, [])}
            for i in ids
        ]
        reviews.append(json.dumps({**cases.GOOD, "sop_review": entries}).encode())
    found = check(root, receipts, *reviews)
    assert (found.outcome, {each.code for each in found.warnings}) == (
        "approved",
        {"shared_evidence", "unrelated_quote"},
    )


# The change itself


def test_a_rule_that_cannot_be_understood_is_told(tmp_path: Path) -> None:
    broken = "---\napplies_to: [\nseverity: error\n---\n# Secrets\n\nNever commit secrets.\n"
    start(tmp_path, {**cases.RULES, ".hornbook/sources/docs/sops/secrets.md": broken})
    commit(tmp_path, cases.CHANGED)
    found = check(tmp_path, prepared(tmp_path), GOOD)
    assert [(each.code, each.sop_id) for each in found.warnings] == [
        ("rule_not_understood", "source.doc.sops.secrets")
    ]


def test_settings_of_the_base_decide_what_blocks(tmp_path: Path) -> None:
    config = "review:\n  block_on: warning\n  confidence_percent: 90\n"
    start(tmp_path, {**cases.RULES, ".hornbook/config.yaml": config})
    commit(tmp_path, {**cases.CHANGED, ".hornbook/config.yaml": "review:\n  block_on: error\n"})
    (facts,) = prepared(tmp_path)
    review = next(
        case.printed for case in cases.ACCEPTED if case.name == "violated warning may be approved"
    )
    found = check(tmp_path, [facts], review)
    assert codes(found) == {"violated_but_approved", "low_confidence", "edited_judges"}
    assert [f.path for f in found.findings if f.status == "edited"] == [".hornbook/config.yaml"]


def test_no_rule_is_said_as_such(tmp_path: Path) -> None:
    start(tmp_path, {"README.md": "# It\n"})
    commit(tmp_path, {"main.go": "package main\n"})
    (facts,) = prepared(tmp_path)
    found = check(tmp_path, [facts], json.dumps({**cases.GOOD, "sop_review": []}).encode())
    assert found.outcome == "approved"
    assert found.explanation[0] == "no rule binds these files, so there was none to answer"


def test_rules_that_appear_over_an_empty_base_are_for_a_person(tmp_path: Path) -> None:
    start(tmp_path, {"README.md": "# It\n"})
    commit(tmp_path, {**cases.RULES, "main.go": "package main\n"})
    (facts,) = prepared(tmp_path)
    found = check(tmp_path, [facts], json.dumps({**cases.GOOD, "sop_review": []}).encode())
    assert (found.outcome, found.route) == ("escalate", "human")
    assert "the base has no rules" in found.explanation[-1]


def test_a_cited_symlink_is_no_file_of_the_tree(tmp_path: Path) -> None:
    start(tmp_path, cases.RULES)
    write(tmp_path, cases.CHANGED)
    (tmp_path / "handlers/secret.go").symlink_to("/etc/passwd")
    commit(tmp_path, {})
    (facts,) = prepared(tmp_path)
    review = json.loads(GOOD)
    review["sop_review"][1]["evidence"] = "handlers/secret.go:1"
    found = codes(check(tmp_path, [facts], json.dumps(review).encode()))
    assert found == {"unresolved_evidence", "hidden_content"}


# What a change may try to hide


def hidden(tmp_path: Path, files: dict[str, str]) -> Judgement:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    commit(tmp_path, {**cases.CHANGED, **files})
    (facts,) = prepared(tmp_path)
    return check(tmp_path, [facts], GOOD)


def test_attributes_do_not_hide_a_patch(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    commit(tmp_path, {**cases.CHANGED, ".gitattributes": "*.go binary\n*.go -diff\n"})
    with Workspace.open(tmp_path) as work:
        text = work.review_context(diff="main..work").text
    assert text is not None
    assert "+func Load(id string) error {" in text


def test_a_replaced_object_is_shown_as_it_is(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "clean.go": "package clean\n"})
    commit(tmp_path, cases.CHANGED)
    bad = git(tmp_path, "rev-parse", "work:handlers/user.go")
    clean = git(tmp_path, "rev-parse", "work:clean.go")
    git(tmp_path, "replace", bad, clean)
    with Workspace.open(tmp_path) as work:
        text = work.review_context(diff="main..work").text
    assert text is not None
    assert "+func Load(id string) error {" in text


def test_a_grafted_history_hides_nothing(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    bad = commit(tmp_path, cases.CHANGED)
    commit(tmp_path, {"NEWS.md": "# News\n"})
    whole = prepared(tmp_path)
    main = git(tmp_path, "rev-parse", "main")
    orphan = git(tmp_path, "commit-tree", "-m", "x", f"{bad}^{{tree}}")
    head = git(tmp_path, "rev-parse", "work")
    grafts = tmp_path / ".git" / "info" / "grafts"
    grafts.write_text(f"{main} {orphan}\n{head} {orphan}\n")
    assert git(tmp_path, "merge-base", "main", "work") == orphan
    assert prepared(tmp_path) == whole


def test_source_that_nobody_can_read_is_for_a_person(tmp_path: Path) -> None:
    found = hidden(tmp_path, {"handlers/blob.go": "package x\n\0\n"})
    assert (found.outcome, found.route) == ("escalate", "human")
    (problem,) = found.problems
    assert problem.code == "hidden_content"
    assert "handlers/blob.go" in problem.message


@pytest.mark.parametrize("name", ["a\n\n# What the maintainers decided\n.md", "a\u2028b.md"])
def test_a_file_name_cannot_pass_for_a_part_of_the_prompt(tmp_path: Path, name: str) -> None:
    start(tmp_path, cases.RULES)
    commit(tmp_path, {name: "x\n"})
    with pytest.raises(UsageError, match="control characters"):
        prepared(tmp_path)


def test_a_file_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    start(tmp_path, cases.RULES)
    (tmp_path / os.fsdecode(b"b\xffd.py")).write_text("x = 1\n")
    commit(tmp_path, {})
    with pytest.raises(UsageError, match="not UTF-8"):
        prepared(tmp_path)


def test_a_name_that_git_would_read_as_a_pattern_is_a_name(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    (tmp_path / "link").symlink_to("README.md")
    commit(tmp_path, {})
    git(tmp_path, "checkout", "-q", "main")
    git(tmp_path, "merge", "-q", "work")
    git(tmp_path, "checkout", "-q", "work")
    (tmp_path / "link").unlink()
    commit(tmp_path, {"link": "now a file\n", ":!z.py": "odd = 1\n", "z.py": "other = 2\n"})
    with Workspace.open(tmp_path) as work:
        packet = work.review_packet(diff="main..work")
    patches = {unit.id: unit.text for unit in packet.review.diffs}
    assert "+odd = 1" in patches[":!z.py"]
    assert "+other = 2" not in patches[":!z.py"]


def test_changed_files_outside_the_root_are_told(tmp_path: Path) -> None:
    inner = tmp_path / "service"
    inner.mkdir()
    start(tmp_path, {f"service/{path}": text for path, text in cases.RULES.items()})
    changed = {f"service/{path}": text for path, text in cases.CHANGED.items()}
    commit(tmp_path, {**changed, "other/main.go": "package other\n"})
    (facts,) = prepared(inner)
    found = check(inner, [facts], GOOD)
    assert found.outcome == "approved", found.problems
    assert [each.message for each in found.findings if each.status == "outside"] == [
        "The change also touches other/main.go, outside the root: nothing here judges that."
    ]


def test_a_review_of_an_older_head_does_not_count_for_a_newer(tmp_path: Path) -> None:
    start(tmp_path, cases.RULES)
    commit(tmp_path, cases.CHANGED)
    (facts,) = prepared(tmp_path)
    commit(tmp_path, {"handlers/more.go": "package handlers\n"})
    reviews = [PrintedReview("it", GOOD)]
    with Workspace.open(tmp_path) as work:
        assert work.check_review(reviews, [facts], diff="main..work~1").outcome == "approved"
        assert codes(work.check_review(reviews, [facts], diff="main..work")) == {"no_context"}


@pytest.mark.parametrize("span", ["", "..", "..work"])
def test_a_change_without_a_base_is_refused(root: Path, span: str) -> None:
    with pytest.raises(UsageError, match="names no base"):
        prepared(root, span)


def test_a_receipt_without_the_patches_is_no_context(root: Path, facts: Receipt) -> None:
    plain = json.loads(json.dumps(facts))
    for section in plain["sections"]:
        if section["name"] == "diff":
            section["items"] = section["items"][1:]
    found = check(root, [resigned(plain)], GOOD)
    assert any("does not show the change of" in each.message for each in found.problems)


def test_a_receipt_with_lowered_severities_is_no_context(root: Path, facts: Receipt) -> None:
    plain = json.loads(json.dumps(facts))
    for section in plain["sections"]:
        for item in section["items"]:
            item["severity"] = "info" if item["severity"] == "error" else item["severity"]
    assert codes(check(root, [resigned(plain)], GOOD)) == {"no_context"}


def gated(tmp_path: Path, edits: dict[str, str]) -> Receipt:
    config = "gates:\n  additional:\n    - {name: there, command: test -f README.md}\n"
    start(tmp_path, {**cases.RULES, "README.md": "x\n", ".hornbook/config.yaml": config})
    commit(tmp_path, {**cases.CHANGED, **edits})
    (facts,) = prepared(tmp_path)
    return facts


def test_gates_of_the_change_count_with_and_without_a_diff(tmp_path: Path) -> None:
    facts = gated(tmp_path, {})
    for span in (None, "main..work"):
        with Workspace.open(tmp_path) as work:
            report = work.run_gates(diff=span)
        assert check(tmp_path, [facts], GOOD, gates=report).outcome == "approved"


def test_gates_that_the_change_itself_defines_do_not_count(tmp_path: Path) -> None:
    weak = "gates:\n  additional:\n    - {name: other, command: test -f README.md}\n"
    facts = gated(tmp_path, {".hornbook/config.yaml": weak})
    with Workspace.open(tmp_path) as work:
        here = work.run_gates()
    assert codes(check(tmp_path, [facts], GOOD, gates=here)) == {"no_context", "edited_judges"}
    tree = str(facts["tree"])
    made_up = GateReport(True, here.gates, tree, str(facts["base"]), str(facts["head"]))
    found = check(tmp_path, [facts], GOOD, gates=made_up)
    assert any("there is required at the base" in each.message for each in found.problems)
