"""Judgements of every outcome, to be written in every format."""

from dataclasses import replace

from hornbook.review.judgement import (
    Finding,
    JudgedRule,
    Judgement,
    RejectionType,
    ReviewProblem,
    Route,
    Ruling,
)

BASE, HEAD = "a" * 40, "b" * 40
ERRORS = JudgedRule("source.doc.sops.errors", "error", "r1", "Errors", ".hornbook/sops/errors.md")
TESTS = JudgedRule("source.doc.sops.tests", "warning", "r2", "Tests", ".hornbook/sops/tests.md")
SQL = JudgedRule("source.doc.sops.sql", "info", "r3", "SQL", ".hornbook/sops/sql.md")
APPROVED = Judgement(
    Ruling.APPROVED,
    None,
    None,
    findings=(
        Finding(ERRORS.id, "error", "passed", "handlers/user.go", 12, "`fmt.Errorf` wraps it"),
        Finding(TESTS.id, "warning", "violated", "handlers/user.go", 30, "Delete has no test"),
        Finding(SQL.id, "info", "not_applicable", None, None, "no SQL in this change"),
    ),
    explanation=("Every rule is answered, with evidence that resolves.",),
    rules=(ERRORS, TESTS, SQL),
    base=BASE,
    head=HEAD,
)
WARNED = replace(
    APPROVED,
    warnings=(
        ReviewProblem("unbound_gates", None, "The gate results name no tree: give others."),
        ReviewProblem("outside_change", TESTS.id, "its evidence a.go:3 is not of the change."),
    ),
)
REJECTED = Judgement(
    Ruling.REJECTED,
    RejectionType.FIXABLE,
    Route.DEVELOPER,
    findings=(
        Finding(ERRORS.id, "error", "violated", "handlers/user.go", 12, "the error is bare"),
        Finding(ERRORS.id, "error", "violated", "handlers/user.go", 40, "and here"),
        Finding(TESTS.id, "warning", "passed", "handlers/user_test.go", 3, "TestUser covers it"),
        Finding("", "error", "failed", None, None, "test: exit 1"),
        Finding("", "warning", "edited", ".hornbook/sops/tests.md", None, "the rule is edited"),
    ),
    explanation=("errors (error) is violated.", "1 required gate failed."),
    feedback="Wrap both errors.\nSay which operation failed.",
    disagreements=("tests: one says passed, one violated",),
    notes=("unknown key 'mood'",),
    rules=(ERRORS, TESTS),
    base=BASE,
    head=HEAD,
)
INVALID = Judgement(
    Ruling.INVALID,
    None,
    Route.HUMAN,
    problems=(
        ReviewProblem("missing_sop", TESTS.id, "The review has no entry: answer every rule."),
        ReviewProblem("unparsable", None, "No JSON object: print the review and nothing else."),
    ),
    rules=(ERRORS, TESTS),
    base=BASE,
    head=HEAD,
)
ESCALATE = replace(
    APPROVED,
    outcome=Ruling.ESCALATE,
    route=Route.HUMAN,
    problems=(ReviewProblem("low_confidence", None, "0.6 is below 0.7: a person decides."),),
)
