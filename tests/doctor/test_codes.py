"""The findings that docs/doctor.md promises are those that the code has."""

from hornbook.doctor.finding import CODES, Finding, Health
from tests.kit.pages import codes, rows, text_of

ERRORS = ["broken_link", "broken_include", "unreadable_rule", "bad_pattern", "over_reserve"]
WARNINGS = [
    "no_rules",
    "ignored_key",
    "empty_rule",
    "dead_scope",
    "missing_path",
    "missing_command",
    "missing_document",
    "missing_rule",
    "duplicate",
    "over_tool_limit",
    "always_violated",
]
INFOS = [
    "near_duplicate",
    "contradiction_candidate",
    "always_on_weight",
    "unowned",
    "stale",
    "uncovered",
    "never_cited",
]


def test_every_code_has_its_level() -> None:
    levels = {code: facts.level.value for code, facts in CODES.items()}
    assert levels == {
        **dict.fromkeys(ERRORS, "error"),
        **dict.fromkeys(WARNINGS, "warning"),
        **dict.fromkeys(INFOS, "info"),
    }


def test_every_code_is_documented_with_its_level_and_no_other() -> None:
    listed = rows(text_of("doctor"), "code", "level", "meaning", "remedy")
    documented = {codes(code)[0]: level for code, level, _, _ in listed}
    assert documented == {code: facts.level.value for code, facts in CODES.items()}


def test_the_grade_goes_by_the_worst_thing() -> None:
    def grade(*found: str) -> str:
        findings = tuple(Finding(code, "a", None, None, "m", "r") for code in found)
        return Health(1, findings, ()).grade

    assert [grade(), grade("stale"), grade("missing_path", "stale")] == ["A", "A", "B"]
    assert [grade("dead_scope"), grade("over_reserve"), grade("bad_pattern")] == ["C", "D", "F"]
