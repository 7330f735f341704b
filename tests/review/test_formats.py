"""A judgement in every format: valid where a schema says so, and never forged by a model's words."""

import json
import re
import unicodedata
from dataclasses import fields, replace
from typing import Any  # JSON
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from jsonschema import Draft7Validator, Draft202012Validator

from hornbook.review.formats import github, junit, sarif
from hornbook.review.formats import text as words
from hornbook.review.judgement import (
    Finding,
    JudgedRule,
    Judgement,
    LearnedPattern,
    RejectionType,
    ReviewProblem,
    Route,
    Ruling,
)
from hornbook.review.printed_review import ANSWER, REVIEW, review_schema, schema_text
from tests.kit.judgements import (
    APPROVED,
    BASE,
    ERRORS,
    ESCALATE,
    HEAD,
    INVALID,
    REJECTED,
    SQL,
    TESTS,
    WARNED,
)
from tests.kit.published_schemas import SARIF, published_schema

EXAMPLES = [APPROVED, WARNED, REJECTED, INVALID, ESCALATE]

texts = st.text(st.characters(), max_size=40) | st.sampled_from(
    [
        "x\n::error file=a.py::forged",
        "x\r\n::add-mask::secret",
        "a\u2028::stop-commands::t",
        "]]></failure><testcase/>",
        "\x1b[2J\x1b[1;1Happroved",
        "\udcff\ud800\x00\ufffe",
        "##[error]forged",
        "| a | b |\n\n# approved @everyone <b>",
        "[click](http://example.org) {0}",
        "%0A::error::forged",
        "\u202edevorppa",
        "title\n===\n---\n    code\n- item www.example.org __x__",
    ]
)
paths = texts | st.sampled_from(["a b/ü:%,.py", "../out", "/etc/x", "a//b", "a\n::error::b"])
severities = st.sampled_from(["error", "warning", "info"])
statuses = st.sampled_from(["passed", "violated", "not_applicable", "failed", "edited"])
ids = st.sampled_from(["", ERRORS.id, TESTS.id]) | texts
lists = st.lists(texts, max_size=3).map(tuple)
findings = st.builds(
    Finding, ids, severities, statuses, st.none() | paths, st.none() | st.integers(-1, 10**6), texts
)
codes = st.sampled_from(["missing_sop", "unparsable", "low_confidence"])
problems = st.lists(st.builds(ReviewProblem, codes, st.none() | texts, texts), max_size=3)
judgements = st.builds(
    Judgement,
    st.sampled_from(Ruling),
    st.none() | st.sampled_from(RejectionType),
    st.none() | st.sampled_from(Route),
    problems=problems.map(tuple),
    warnings=problems.map(tuple),
    findings=st.lists(findings, max_size=5).map(tuple),
    explanation=lists,
    feedback=texts,
    patterns=st.lists(st.builds(LearnedPattern, texts, texts, texts), max_size=1).map(tuple),
    disagreements=lists,
    notes=lists,
    rules=st.lists(st.builds(JudgedRule, ids, severities, texts, texts, paths), max_size=3).map(
        tuple
    ),
    base=st.none() | st.just(BASE),
    head=st.none() | st.just(HEAD),
)
repositories = st.sampled_from([None, "https://example.org/team/service"])


def results(judgement: Judgement) -> list[dict[str, Any]]:
    log = json.loads(sarif.render(judgement, version="1.0"))
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


# SARIF


def test_the_published_schema_is_that_of_sarif_and_refuses() -> None:
    schema = published_schema(SARIF)
    assert str(schema["$id"]).endswith("/sarif-schema-2.1.0.json")
    Draft7Validator.check_schema(schema)
    assert not Draft7Validator(schema).is_valid({"version": "2.1.0"})
    wrong = json.loads(sarif.render(APPROVED, version="1.0"))
    wrong["runs"][0]["results"][0]["kind"] = "passed"
    assert not Draft7Validator(schema).is_valid(wrong)


@settings(deadline=None)
@given(judgements, repositories)
def test_every_sarif_log_is_valid_by_the_published_schema(
    judgement: Judgement, repository: str | None
) -> None:
    text = sarif.render(judgement, version="1.0", repository=repository)
    assert text.encode() == sarif.render(judgement, version="1.0", repository=repository).encode()
    log = json.loads(text)
    errors = [error.message for error in Draft7Validator(published_schema(SARIF)).iter_errors(log)]
    assert errors == []
    (run,) = log["runs"]
    assert len(run["results"]) == len(judgement.findings) + 1
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert (result["level"] == "none") == (result["kind"] != "fail")


@settings(deadline=None)
@given(judgements)
def test_every_result_has_one_place_below_the_root_and_its_own_fingerprint(
    judgement: Judgement,
) -> None:
    found = results(judgement)
    for result in found:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        assert re.fullmatch(r"[\w.~%/-]+", uri, re.ASCII)
        assert not {"", ".", ".."} & set(uri.split("/"))
        assert place["region"]["startLine"] >= 1
    prints = [json.dumps(result["partialFingerprints"]) for result in found]
    assert len(set(prints)) == len(prints)


def test_each_rule_has_the_kind_of_what_was_said_of_it() -> None:
    assert [(each["ruleId"], each["kind"], each["level"]) for each in results(APPROVED)] == [
        ("hornbook/review", "pass", "none"),
        (ERRORS.id, "pass", "none"),
        (TESTS.id, "fail", "warning"),
        (SQL.id, "notApplicable", "none"),
    ]
    assert [(each["ruleId"], each["kind"], each["level"]) for each in results(REJECTED)] == [
        ("hornbook/review", "fail", "error"),
        (ERRORS.id, "fail", "error"),
        (ERRORS.id, "fail", "error"),
        (TESTS.id, "pass", "none"),
        ("hornbook/gate", "fail", "error"),
        ("hornbook/rules-edited", "fail", "warning"),
    ]


@pytest.mark.parametrize(
    ("judgement", "kind", "successful", "code"),
    [(APPROVED, "pass", True, 0), (REJECTED, "fail", True, 1), (INVALID, "fail", False, 1), (ESCALATE, "review", True, 1)],
    ids=lambda value: getattr(value, "outcome", None),
)  # fmt: skip
def test_no_outcome_but_an_approval_reads_as_a_pass(
    judgement: Judgement, kind: str, successful: bool, code: int
) -> None:
    run = json.loads(sarif.render(judgement, version="1.0"))["runs"][0]
    assert run["results"][0]["kind"] == kind
    assert run["properties"]["outcome"] == judgement.outcome
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (successful, code)
    told = invocation["toolExecutionNotifications"]
    assert [each["descriptor"]["id"] for each in told if each["level"] != "note"] == [
        f"hornbook/{problem.code}" for problem in judgement.problems
    ]


def test_a_fingerprint_stays_when_lines_move_and_words_change() -> None:
    moved = replace(
        REJECTED,
        findings=tuple(
            replace(each, line=each.line and each.line + 7, message=f"reworded: {each.message}")
            for each in REJECTED.findings
        ),
    )
    prints = [[each["partialFingerprints"] for each in results(one)] for one in (REJECTED, moved)]
    assert prints[0] == prints[1]


def test_a_line_of_the_file_before_the_change_is_no_line_of_the_file() -> None:
    finding = replace(REJECTED.findings[0], path="a.go", line=7, old_side=True)
    judged = replace(REJECTED, findings=(finding,))
    places = [each["locations"][0]["physicalLocation"] for each in results(judged)]
    assert all(place.get("region", {}).get("startLine") != 7 for place in places)
    assert "line=7" not in github.annotations(judged)
    assert "a.go:-7" in words.render(judged)


def test_a_path_is_encoded_byte_for_byte() -> None:
    name = b"a b/\xff\xc3\xbc:%.py"
    finding = replace(REJECTED.findings[0], path=name.decode("utf-8", "surrogateescape"))
    result = json.dumps(results(replace(REJECTED, findings=(finding,)))[1])
    uri = re.findall(r'"uri": "([^"]+)"', result)[0]
    assert uri == "a%20b/%FF%C3%BC%3A%25.py"
    assert unquote_to_bytes(uri) == name


def test_links_and_the_commit_are_there_when_the_repository_is_known() -> None:
    known = json.loads(sarif.render(REJECTED, version="1.0", repository="https://example.org/t/s"))[
        "runs"
    ][0]
    assert known["versionControlProvenance"][0]["revisionId"] == HEAD
    address = f"https://example.org/t/s/blob/{BASE}/.hornbook/sops/errors.md"
    assert known["tool"]["driver"]["rules"][0]["helpUri"] == address
    unknown = json.loads(sarif.render(REJECTED, version="1.0"))["runs"][0]
    assert "versionControlProvenance" not in unknown
    assert unknown["properties"]["head"] == HEAD


def test_a_link_of_a_model_is_no_link() -> None:
    finding = replace(REJECTED.findings[0], message="see [the docs](https://example.org) or a[0]")
    (_, result) = results(replace(REJECTED, findings=(finding,)))
    assert result["message"] == {"text": r"see \[the docs](https://example.org) or a[0]"}


# JUnit


@settings(deadline=None)
@given(judgements)
def test_every_junit_report_is_well_formed_and_counts_right(judgement: Judgement) -> None:
    text = junit.render(judgement)
    root = ET.fromstring(text.encode())
    cases = root.findall("./testsuite/testcase")
    rules = {rule.id for rule in judgement.rules} | {each.sop_id for each in judgement.findings}
    bare = [each for each in judgement.findings if not each.sop_id]
    told = {rule.id for rule in judgement.rules if not rule.id}
    assert len(cases) == 2 + len(rules - {""}) + len(bare) + len(told)
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counted = sum(case.find(tag) is not None for case in cases)
        assert root.get(attribute) == root[0].get(attribute) == str(counted)
    assert len(root.findall("./testsuite/testcase[@name='integrity']/error")) == len(
        judgement.problems
    )
    assert root.get("tests") == str(len(cases))


@pytest.mark.parametrize("judgement", EXAMPLES, ids=lambda each: each.outcome)
def test_a_junit_report_is_green_exactly_when_the_change_is_approved(judgement: Judgement) -> None:
    root = ET.fromstring(junit.render(judgement))
    green = root.get("failures") == root.get("errors") == "0"
    assert green == (judgement.outcome is Ruling.APPROVED)


def test_a_junit_report_names_each_rule_with_what_was_said() -> None:
    root = ET.fromstring(junit.render(REJECTED))
    said = {case.get("name"): [each.tag for each in case] for case in root.iter("testcase")}
    assert said == {
        "outcome": ["failure"],
        "integrity": ["system-out"],
        ERRORS.id: ["failure", "failure"],
        TESTS.id: ["system-out"],
        "failed: test: exit 1": ["failure"],
        "edited: .hornbook/sops/tests.md": ["failure"],
    }
    (skipped,) = ET.fromstring(junit.render(APPROVED)).iter("skipped")
    assert skipped.get("message") == "no SQL in this change"
    flagged = ET.fromstring(junit.render(APPROVED)).findtext(".//*[@name='source.doc.sops.tests']/")
    assert flagged is not None
    assert flagged.startswith("flagged, does not block (warning)")


# GitHub


def runner_reads(line: str) -> tuple[str, dict[str, str], str] | None:
    """A line of a log as the runner of GitHub Actions takes it: a command, or none."""
    text = line.lstrip()
    if not text.startswith("::") or "::" not in text[2:]:
        return None
    head, _, data = text[2:].partition("::")
    name, _, listed = head.partition(" ")
    properties = {}
    for part in filter(None, listed.split(",")):
        key, _, value = part.partition("=")
        properties[key] = unescaped(value, {"%3A": ":", "%2C": ","})
    return name, properties, unescaped(data, {})


def unescaped(text: str, more: dict[str, str]) -> str:
    for code, character in {"%0D": "\r", "%0A": "\n", **more}.items():
        text = text.replace(code, character)
    return text.replace("%25", "%")


def log_lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text.removesuffix("\n"))


@given(judgements)
def test_annotations_are_one_line_each_and_cannot_be_forged(judgement: Judgement) -> None:
    told = [each for each in judgement.findings if each.status not in {"passed", "not_applicable"}]
    read = [runner_reads(line) for line in log_lines(github.annotations(judgement))]
    before = 1 + len(judgement.problems) + len(judgement.warnings)
    assert len(read) == before + len(told)
    for command in read:
        assert command is not None
        name, properties, message = command
        assert name in {"error", "warning", "notice"}
        assert properties.keys() <= {"file", "line", "title"}
        assert message
    titles = sorted(command[1]["title"] for command in read[before:] if command)
    assert [title.partition(":")[0] for title in titles] == sorted(each.status for each in told)


def test_an_annotation_says_where_and_what_whatever_is_in_it() -> None:
    finding = Finding("a,b:c", "error", "violated", "src/a,b:c%.py", 7, "100%\n::error::forged")
    (_, line) = log_lines(github.annotations(replace(REJECTED, findings=(finding,))))
    assert line == (
        "::error file=src/a%2Cb%3Ac%25.py,line=7,title=violated%3A a%2Cb%3Ac::"
        "100%25%0A::error::forged"
    )
    assert runner_reads(line) == (
        "error",
        {"file": "src/a,b:c%.py", "line": "7", "title": "violated: a,b:c"},
        "100%\n::error::forged",
    )


def test_the_gravest_annotations_come_first() -> None:
    shuffled = replace(REJECTED, findings=REJECTED.findings[::-1])
    names = [line.split()[0] for line in log_lines(github.annotations(shuffled))]
    assert names == ["::error", "::error", "::error", "::error", "::warning"]
    assert github.annotations(APPROVED).startswith("::notice title=hornbook%3A approved::")


@given(judgements)
def test_a_summary_holds_no_markup_of_a_model(judgement: Judgement) -> None:
    text = github.summary(judgement)
    ours = re.sub(r"</?code>|&#\d+;|\*\*[A-Z][\w ]*:?\*\*|^> ?", "x", text, flags=re.MULTILINE)
    assert not set("<>`*[]@\\~_=") & set(ours)
    assert "www." not in ours.lower()
    first, *lines = ours.split("\n")
    assert first.startswith("## ")
    assert not [line for line in lines if line.startswith(("#", " ", "---", "\t"))]
    tables = [line for line in text.split("\n") if line.startswith("|")]
    assert {line.count("|") for line in tables} <= {4, 6}


def test_the_summary_of_a_job_is_read_at_a_glance() -> None:
    assert github.summary(ESCALATE) == snapshot("""\
## ✋ escalate&#58; 3 rules, 1 violated, 1 passed, 1 not applicable, 1 problem with the review

- Every rule is answered, with evidence that resolves.

| problem with the review | rule | remedy |
| --- | --- | --- |
| <code>low&#95;confidence</code> |  | 0.6 is below 0.7&#58; a person decides. |

| status | severity | rule | place | what |
| --- | --- | --- | --- | --- |
| violated | warning | <code>source.doc.sops.tests</code> | <code>handlers/user.go&#58;30</code> | Delete has no test |
| passed | error | <code>source.doc.sops.errors</code> | <code>handlers/user.go&#58;12</code> | &#96;fmt.Errorf&#96; wraps it |
| not applicable | info | <code>source.doc.sops.sql</code> |  | no SQL in this change |

**Next:** A person decides.
""")


def test_a_summary_stays_below_what_github_takes() -> None:
    long = replace(REJECTED.findings[0], message="\U0010ffff" * 500, sop_id="%" * 500)
    many = replace(
        REJECTED, findings=(long,) * 5000, feedback="[" * 5_000_000, notes=("n",) * 10**5
    )
    text = github.summary(many)
    assert len(text.encode()) < 1_000_000
    assert github.TOO_LONG in text
    short = replace(REJECTED, findings=REJECTED.findings[:1] * 5000)
    assert "4801 more" in github.summary(short)


# Words


@given(judgements)
def test_words_steer_no_terminal_and_no_runner(judgement: Judgement) -> None:
    text = words.render(judgement)
    lines = text.removesuffix("\n").split("\n")
    assert lines[0].split()[0].rstrip(":") == judgement.outcome
    assert {each for each in text if unicodedata.category(each) in {"Cc", "Cs"}} <= {"\n"}
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    assert [line for line in log_lines(text) if runner_reads(line) or "##[" in line] == []
    margins = {"", "rests on", "problems with the review", "rules", "gates and rule files"}
    margins |= {"warnings", "reviewers disagree", "notes", "feedback", "next"}
    assert {line for line in lines[1:] if not line.startswith("  ")} <= margins


def test_words_say_the_outcome_first_and_what_is_next_last() -> None:
    assert words.render(REJECTED) == snapshot("""\
rejected (fixable): 2 rules, 1 violated, 1 passed, 1 gate failed, 1 rule file edited
  change aaaaaaaaaaaa..bbbbbbbbbbbb

rests on
  - errors (error) is violated.
  - 1 required gate failed.

rules
  violated  error    source.doc.sops.errors  handlers/user.go:12      the error is bare
  violated  error    source.doc.sops.errors  handlers/user.go:40      and here
  passed    warning  source.doc.sops.tests   handlers/user_test.go:3  TestUser covers it

gates and rule files
  failed  error                             test: exit 1
  edited  warning  .hornbook/sops/tests.md  the rule is edited

reviewers disagree
  - tests: one says passed, one violated

notes
  - unknown key 'mood'

feedback
  | Wrap both errors.
  | Say which operation failed.

next
  The developer works on it again, with the feedback.
""")


def test_words_name_each_problem_and_each_rule_without_an_answer() -> None:
    assert words.render(INVALID) == snapshot("""\
invalid: 2 rules, 2 not judged, 2 problems with the review
  change aaaaaaaaaaaa..bbbbbbbbbbbb

problems with the review
  - missing_sop source.doc.sops.tests: The review has no entry: answer every rule.
  - unparsable: No JSON object: print the review and nothing else.

rules
  not judged  error    source.doc.sops.errors
  not judged  warning  source.doc.sops.tests

next
  The change was not judged: a new review is needed, or a person looks at it.
""")


def test_every_route_and_outcome_has_words() -> None:
    told = {words.what_next(replace(REJECTED, route=route)) for route in (*Route, None)}
    assert len(told) == len(Route) + 1
    assert words.what_next(replace(APPROVED, findings=())) == "The change may go on."
    assert words.headline(Judgement(Ruling.APPROVED, None, None)) == (
        "approved: no rule binds this change"
    )


# Schemas


@pytest.mark.parametrize("judgement", EXAMPLES, ids=lambda each: each.outcome)
def test_the_json_answer_is_valid_by_the_shipped_schema(judgement: Judgement) -> None:
    schema = json.loads(schema_text(ANSWER))
    Draft202012Validator.check_schema(schema)
    answer = json.loads(msgspec.json.encode(judgement))
    Draft202012Validator(schema).validate(answer)
    assert schema["properties"].keys() == answer.keys()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("problem", ReviewProblem), ("finding", Finding), ("rule", JudgedRule), ("pattern", LearnedPattern)],
)  # fmt: skip
def test_the_shipped_schema_has_the_keys_of_the_answer(name: str, kind: type) -> None:
    definition = json.loads(schema_text(ANSWER))["$defs"][name]
    assert list(definition["properties"]) == definition["required"]
    assert definition["required"] == [each.name for each in fields(kind)]


def test_an_answer_that_approves_with_a_problem_is_refused() -> None:
    answer = json.loads(msgspec.json.encode(replace(APPROVED, problems=INVALID.problems)))
    assert not Draft202012Validator(json.loads(schema_text(ANSWER))).is_valid(answer)


def review() -> dict[str, object]:
    citation = {"path": "a.go", "start": 3, "end": 4, "quote": "fmt.Errorf("}
    entry = {
        "sop_id": ERRORS.id,
        "status": "passed",
        "evidence": "a.go:3-4 wraps it",
        "violations": [],
        "citations": [citation],
        "search": None,
        "excused": [],
    }
    sql = {**entry, "sop_id": SQL.id, "search": {"pattern": "SELECT", "paths": ["*.go"]}}
    return {
        "verdict": "approved",
        "rejection_type": None,
        "sop_review": [entry, sql],
        "confidence": 0.9,
        "feedback": "",
        "patterns": [{"name": "Wrap", "pattern": "errors are wrapped", "applies_to": "*.go"}],
    }


def objects(schema: object) -> list[dict[str, Any]]:
    """Every object of a schema that describes objects."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    below = [found for each in schema.values() for found in objects(each)]
    return [schema, *below] if schema.get("type") == "object" else below


@given(st.sets(st.text(st.characters(codec="utf-8"), min_size=1), max_size=4))
def test_the_schema_of_a_review_fits_constrained_decoding(sop_ids: set[str]) -> None:
    schema = review_schema(sop_ids)
    Draft202012Validator.check_schema(schema)
    assert schema == review_schema(sorted(sop_ids, reverse=True))
    for each in objects(schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])


def test_the_schema_of_a_review_takes_its_rules_and_no_other() -> None:
    whole = Draft202012Validator(review_schema([SQL.id, ERRORS.id]))
    whole.validate(review())
    assert not Draft202012Validator(review_schema([SQL.id, TESTS.id])).is_valid(review())
    assert not Draft202012Validator(review_schema([SQL.id])).is_valid(review())
    assert not Draft202012Validator(review_schema([])).is_valid(review())
    Draft202012Validator(review_schema([])).validate({**review(), "sop_review": []})
    Draft202012Validator(json.loads(schema_text(REVIEW))).validate(review())


@pytest.mark.parametrize(
    ("key", "value"),
    [("verdict", "maybe"), ("rejection_type", "lazy"), ("confidence", "high"), ("mood", "good"), ("patterns", None)],
)  # fmt: skip
def test_the_schema_of_a_review_refuses_what_is_no_review(key: str, value: object) -> None:
    assert not Draft202012Validator(review_schema([SQL.id, ERRORS.id])).is_valid(
        {**review(), key: value}
    )


def test_a_warning_reaches_every_format_and_fails_nothing() -> None:
    said = [each.message for each in WARNED.warnings]
    text = words.render(WARNED)
    assert text.startswith("approved: ")
    assert "2 warnings" in text.partition("\n")[0]
    notes = json.loads(sarif.render(WARNED, version="1.0"))["runs"][0]["invocations"][0]
    told = notes["toolExecutionNotifications"]
    assert [(each["descriptor"]["id"], each["level"]) for each in told] == [
        ("hornbook/unbound_gates", "warning"),
        ("hornbook/outside_change", "warning"),
    ]
    assert told[1]["associatedRule"] == {"id": TESTS.id}
    assert github.annotations(WARNED).count("::warning title=unbound_gates::") == 1
    report = junit.render(WARNED)
    assert 'failures="0" errors="0"' in report
    for rendered in (text, github.annotations(WARNED), report, github.summary(WARNED)):
        assert all(each in rendered for each in said) or "&#" in rendered
    summary = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), github.summary(WARNED))
    assert all(each in summary for each in said)
    assert [each["code"] for each in json.loads(msgspec.json.encode(WARNED))["warnings"]] == [
        "unbound_gates",
        "outside_change",
    ]
