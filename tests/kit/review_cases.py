"""Reviews of one real change: a good one, every single defect, combinations, and attacks."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ERRORS = "source.doc.sops.error-handling"
COVERAGE = "source.doc.sops.test-coverage"
PRINTS = "source.doc.sops.no-prints"

RULES = {
    ".hornbook/sources/docs/sops/error-handling.md": """\
---
applies_to: "handlers/user.go"
severity: error
---
# Error Handling

Errors MUST say what failed.
""",
    ".hornbook/sources/docs/sops/test-coverage.md": """\
---
applies_to: "handlers/**"
severity: warning
---
# Test Coverage

New functions SHOULD have tests.
""",
    ".hornbook/sources/docs/sops/no-prints.md": """\
---
applies_to: "**/*.go"
severity: error
---
# No Prints

Handlers MUST NOT call `fmt.Print` or `fmt.Println`.
""",
}

USER = """\
package handlers

import "fmt"

func Load(id string) error {
\tif err := read(id); err != nil {
\t\treturn fmt.Errorf("load user %s: %w", id, err)
\t}
\treturn nil
}
"""
USER_TEST = """\
package handlers

func TestLoad(t *testing.T) {
\tif Load("x") == nil { t.Fatal("no error") }
}
"""
CHANGED = {
    "handlers/user.go": USER,
    "handlers/user_test.go": USER_TEST,
    "handlers/notes about it.md": "# Notes\n\nOne `odd` line.\n",
    "logo.bin": "\0\1\2\n",
}

QUOTE = 'return fmt.Errorf("load user %s: %w", id, err)'
GOOD: dict[str, Any] = {
    "verdict": "approved",
    "rejection_type": None,
    "sop_review": [
        {
            "sop_id": ERRORS,
            "status": "passed",
            "evidence": f"handlers/user.go:7 wraps the cause: `{QUOTE}`",
            "violations": [],
        },
        {
            "sop_id": COVERAGE,
            "status": "passed",
            "evidence": "TestLoad covers the failing path, handlers/user_test.go:3-5.",
            "violations": [],
        },
        {
            "sop_id": PRINTS,
            "status": "passed",
            "evidence": "Nothing prints.",
            "violations": [],
            "search": {"pattern": r"fmt\.Print", "paths": ["**/*.go"]},
        },
    ],
    "confidence": 0.85,
    "feedback": "Small and tested.",
    "patterns": [],
}


@dataclass(frozen=True)
class Case:
    """A review, the outcome it must get, and exactly these problem codes."""

    name: str
    printed: bytes
    outcome: str
    codes: frozenset[str] = frozenset()
    rejection_type: str | None = None


def _edited(edit: Callable[[dict[str, Any]], object]) -> bytes:
    review = copy.deepcopy(GOOD)
    edit(review)
    return json.dumps(review, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _rule(place: int, **values: object) -> Callable[[dict[str, Any]], object]:
    return lambda review: review["sop_review"][place].update(values)


def _set(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda review: review.update(values)


def _all(*edits: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda review: [edit(review) for edit in edits]


def _case(name: str, edit: Callable[[dict[str, Any]], object], outcome: str, *codes: str) -> Case:
    return Case(name, _edited(edit), outcome, frozenset(codes))


def _reject(kind: object, **rest: object) -> Callable[[dict[str, Any]], object]:
    return _set(verdict="rejected", rejection_type=kind, **rest)


def _keep(review: dict[str, Any]) -> None:
    """Change nothing."""


_VIOLATED = {
    "status": "violated",
    "evidence": f"handlers/user.go:7 `{QUOTE}`",
    "violations": ["The id is missing"],
}
_PLAIN = json.dumps(GOOD)
_CITED = {
    "evidence": "",
    "citations": [{"path": "handlers/user.go", "start": 7, "end": 7, "quote": QUOTE}],
}

ACCEPTED = [
    _case("good", _keep, "approved"),
    _case("good, confidence as text", _set(confidence="0.9"), "approved"),
    _case(
        "good, quote spaced otherwise",
        _rule(0, evidence=f"handlers/user.go:6-8 `{QUOTE.replace(' ', '  ')}`"),
        "approved",
    ),
    _case("good, citations instead of text", _rule(0, **_CITED), "approved"),
    _case(
        "good, place in backticks",
        _rule(0, evidence=f"`handlers/user.go:7`: `{QUOTE}`"),
        "approved",
    ),
    _case(
        "good, file in backticks",
        _rule(0, evidence=f"`handlers/user.go`:7 has `{QUOTE}`"),
        "approved",
    ),
    _case(
        "good, line and column",
        _rule(0, evidence=f"handlers/user.go:7:3 has `{QUOTE}`"),
        "approved",
    ),
    _case("good, leading dot slash", _rule(1, evidence="./handlers/user_test.go:3"), "approved"),
    _case(
        "good, path with spaces",
        _rule(1, evidence="see handlers/notes about it.md:3, `odd`"),
        "approved",
    ),
    _case(
        "good, quote with a backtick inside",
        _rule(1, evidence="handlers/notes about it.md:3 ``One `odd` line.``"),
        "approved",
    ),
    _case(
        "good, a fenced quote over lines",
        _rule(
            0,
            evidence=f"handlers/user.go:6-7\n```go\n\tif err := read(id); err != nil {{\n\t\t{QUOTE}\n```",
        ),
        "approved",
    ),
    _case(
        "good, one rule does not apply",
        _rule(1, status="not_applicable", evidence="No new function."),
        "approved",
    ),
    _case("good, unknown keys", _all(_set(thoughts="hm"), _rule(0, sure=True)), "approved"),
    _case(
        "good, patterns",
        _set(patterns=[{"name": "Wrap", "pattern": "wrap errors", "applies_to": "*.go"}]),
        "approved",
    ),
    _case(
        "good, a port is no place",
        _rule(1, evidence="handlers/user_test.go:3 runs against localhost:8080"),
        "approved",
    ),
    _case(
        "good, a range with a long dash",
        _rule(0, evidence=f"handlers/user.go:5–8 `{QUOTE}`"),
        "approved",
    ),
    _case(
        "good, several lines of a file",
        _rule(0, evidence=f"handlers/user.go:3,5-8 `{QUOTE}`"),
        "approved",
    ),
    _case(
        "good, a citation with a leading dot slash and no end",
        _rule(
            0,
            evidence="",
            citations=[{"path": "./handlers/user.go", "start": 7, "end": None, "quote": QUOTE}],
        ),
        "approved",
    ),
    _case(
        "good, a search that would match only across files",
        _rule(2, search={"pattern": r"fmt[\s\S]*TestLoad|fmt\.Print", "paths": ["**/*.go"]}),
        "approved",
    ),
    _case("good, confidence on the line", _set(confidence=0.7), "approved"),
    _case("good, confidence one as a whole number", _set(confidence=1), "approved"),
    _case(
        "violated warning may be approved",
        _rule(1, status="violated", violations=["No test for Save"]),
        "approved",
    ),
    Case("fenced", f"```json\n{_PLAIN}\n```".encode(), "approved"),
    Case(
        "prose around it",
        f"I looked at {{everything}}, map[string]struct{{}} too.\n{_PLAIN}\nDone {{}}.".encode(),
        "approved",
    ),
    Case("byte order mark", b"\xef\xbb\xbf" + _PLAIN.encode(), "approved"),
    Case("UTF-16 as a shell redirects it", _PLAIN.encode("utf-16"), "approved"),
]

REJECTED = [
    Case(
        "rejected, fixable",
        _edited(_all(_reject("fixable"), _rule(0, **_VIOLATED))),
        "rejected",
        rejection_type="fixable",
    ),
    Case(
        "rejected, misscoped", _edited(_reject("misscoped")), "rejected", rejection_type="misscoped"
    ),
    Case(
        "rejected, architectural",
        _edited(_reject("architectural")),
        "rejected",
        rejection_type="architectural",
    ),
    Case("rejected, too big", _edited(_reject("too_big")), "rejected", rejection_type="too_big"),
]

ESCALATED = [
    _case("low confidence", _set(confidence=0.69), "escalate", "low_confidence"),
    _case("no confidence at all", _set(confidence=0), "escalate", "low_confidence"),
    _case(
        "a rejection with low confidence",
        _reject("fixable", confidence=0.2),
        "escalate",
        "low_confidence",
    ),
    _case(
        "nothing applies",
        _all(
            *(
                _rule(
                    n,
                    status="not_applicable",
                    evidence="Only names changed: handlers/user.go:7, handlers/user_test.go:3.",
                    search=None,
                )
                for n in range(3)
            )
        ),
        "escalate",
        "all_not_applicable",
    ),
    _case(
        "a place beside the change",
        _rule(1, evidence="README.md:1"),
        "escalate",
        "beside_the_change",
    ),
    _case(
        "a violation beside the change",
        _rule(1, evidence="README.md:1", status="violated", violations=["No test for Save"]),
        "escalate",
        "beside_the_change",
    ),
    _case(
        "a true quote that has nothing to do with the rule",
        _rule(0, evidence="handlers/user.go:1 `package handlers`"),
        "escalate",
        "beside_the_rule",
    ),
    _case(
        "one file of two",
        _rule(2, evidence=f"handlers/user.go:7 `{QUOTE}`", search=None),
        "escalate",
        "uncovered_files",
    ),
    _case(
        "feedback with another verdict",
        _set(feedback="This must not be merged."),
        "escalate",
        "contradicting_verdict",
    ),
    _case(
        "a search for something else",
        _rule(
            2,
            evidence=f'handlers/user.go:7 `{QUOTE}`, handlers/user_test.go:4 `t.Fatal("no error")`',
            search={"pattern": "zebra", "paths": []},
        ),
        "escalate",
        "unrelated_search",
    ),
]

DEFECTS = [
    _case("a rule is missing", lambda r: r["sop_review"].pop(0), "invalid", "missing_sop"),
    _case("no rule is answered", _set(sop_review=[]), "invalid", "missing_sop"),
    _case(
        "an unknown rule",
        lambda r: r["sop_review"].append(
            {
                **GOOD["sop_review"][0],
                "sop_id": "source.doc.sops.made-up",
                "evidence": "handlers/user.go:1 `package handlers`",
            }
        ),
        "invalid",
        "unknown_sop",
    ),
    _case(
        "a rule's id shortened",
        _rule(0, sop_id="error-handling"),
        "invalid",
        "missing_sop",
        "unknown_sop",
    ),
    _case(
        "a rule's id with a look-alike letter",
        _rule(0, sop_id=ERRORS.replace("e", "е")),
        "invalid",
        "missing_sop",
        "unknown_sop",
    ),
    _case(
        "a rule's id with a blank",
        _rule(0, sop_id=ERRORS + " "),
        "invalid",
        "missing_sop",
        "unknown_sop",
    ),
    _case(
        "a rule twice",
        lambda r: r["sop_review"].append(dict(GOOD["sop_review"][0])),
        "invalid",
        "duplicate_sop",
    ),
    _case(
        "a rule twice, passed and violated",
        lambda r: r["sop_review"].append(
            {"sop_id": ERRORS, **_VIOLATED, "evidence": "handlers/user.go:6 `if err := read(id)`"}
        ),
        "invalid",
        "duplicate_sop",
        "violated_but_approved",
    ),
    _case("blank evidence", _rule(0, evidence="  \n"), "invalid", "no_evidence"),
    _case(
        "no evidence key", lambda r: r["sop_review"][0].pop("evidence"), "invalid", "no_evidence"
    ),
    _case("invisible evidence", _rule(0, evidence="\u200b\u2060\u00ad"), "invalid", "no_evidence"),
    _case(
        "not applicable without a reason",
        _rule(1, status="not_applicable", evidence=""),
        "invalid",
        "no_evidence",
    ),
    _case(
        "the source documents' own sample",
        _rule(0, evidence="Error wrapping uses fmt.Errorf with %w at lines 45, 67, 89"),
        "invalid",
        "unresolved_evidence",
    ),
    _case("words only", _rule(1, evidence="Checked thoroughly."), "invalid", "unresolved_evidence"),
    _case(
        "a file that is not there",
        _rule(1, evidence="handlers/gone.go:3"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a look-alike path",
        _rule(1, evidence="handlеrs/user.go:3"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "one good place and one invented",
        _rule(1, evidence="handlers/user_test.go:3 and handlers/gone_test.go:1"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a line past the end",
        _rule(1, evidence="handlers/user_test.go:6"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "line zero", _rule(1, evidence="handlers/user_test.go:0"), "invalid", "unresolved_evidence"
    ),
    _case(
        "a span that ends past the end",
        _rule(1, evidence="handlers/user_test.go:1-999999999"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a span backwards",
        _rule(1, evidence="handlers/user_test.go:5-3"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "out of the tree", _rule(1, evidence="../../etc/passwd:1"), "invalid", "unresolved_evidence"
    ),
    _case("an absolute path", _rule(1, evidence="/etc/passwd:1"), "invalid", "unresolved_evidence"),
    _case(
        "through a parent folder",
        _rule(1, evidence="handlers/../handlers/user.go:1"),
        "invalid",
        "unresolved_evidence",
    ),
    _case("a binary file", _rule(1, evidence="logo.bin:1"), "escalate", "beside_the_change"),
    _case("a folder", _rule(1, evidence="handlers/:1"), "invalid", "unresolved_evidence"),
    _case(
        "a file of git's own", _rule(1, evidence=".git/config:1"), "invalid", "unresolved_evidence"
    ),
    _case(
        "an error rule without a quote",
        _rule(0, evidence="handlers/user.go:7 wraps the cause"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "an error rule with a short quote",
        _rule(0, evidence="handlers/user.go:7 `return`"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a quote padded with blanks",
        _rule(0, evidence="handlers/user.go:7 `return         `"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a quote that is not there",
        _rule(0, evidence="handlers/user.go:7 `return errors.Wrap(err)`"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a quote of another file",
        _rule(0, evidence="handlers/user.go:7 `func TestLoad(t *testing.T)`"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a quote in other letters",
        _rule(0, evidence=f"handlers/user.go:7 `{QUOTE.upper()}`"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a quote with a look-alike letter",
        _rule(0, evidence=f"handlers/user.go:7 `{QUOTE.replace('e', 'е')}`"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a warning's false quote",
        _rule(1, evidence="handlers/user_test.go:3 `TestSave`"),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a citation with a false quote",
        _rule(
            0,
            evidence="",
            citations=[
                {"path": "handlers/user.go", "start": 7, "end": 7, "quote": "panic(err) everywhere"}
            ],
        ),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a citation of a missing file",
        _rule(
            0, evidence="", citations=[{"path": "gone.go", "start": 1, "end": 1, "quote": QUOTE}]
        ),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a search that finds it",
        _rule(2, search={"pattern": "fmt", "paths": ["**/*.go"]}),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a search over no changed file",
        _rule(2, search={"pattern": "fmt", "paths": ["cmd/**"]}),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a search that is no expression",
        _rule(2, search={"pattern": "fmt(", "paths": []}),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a search with nothing in it",
        _rule(2, search={"pattern": " ", "paths": []}),
        "invalid",
        "unresolved_evidence",
    ),
    _case(
        "a violation proved by a search",
        _rule(2, status="violated", violations=["prints"]),
        "invalid",
        "unresolved_evidence",
        "violated_but_approved",
    ),
    _case(
        "the same evidence everywhere",
        _all(
            *(
                _rule(
                    n,
                    evidence=f"handlers/user.go:7 `{QUOTE}`, handlers/user_test.go:3 `func TestLoad(t *testing.T)`",
                    search=None,
                )
                for n in range(3)
            )
        ),
        "invalid",
        "rubber_stamp",
    ),
    _case(
        "the same evidence with the rule's name in it",
        _all(
            *(
                _rule(
                    n,
                    evidence=f"{i} is kept, handlers/user.go:7 `{QUOTE}`, handlers/user_test.go:3 `func TestLoad(t *testing.T)`",
                    search=None,
                )
                for n, i in enumerate((ERRORS, COVERAGE, PRINTS))
            )
        ),
        "invalid",
        "rubber_stamp",
    ),
    _case(
        "the same evidence, one rule waved away",
        _all(
            _rule(1, evidence="It says nothing of this change.", status="not_applicable"),
            *(
                _rule(
                    n,
                    evidence=f"handlers/user.go:7 `{QUOTE}`, handlers/user_test.go:3 `func TestLoad(t *testing.T)`",
                    search=None,
                )
                for n in (0, 2)
            ),
        ),
        "invalid",
        "rubber_stamp",
    ),
    _case(
        "an error rule violated and approved",
        _rule(0, **_VIOLATED),
        "invalid",
        "violated_but_approved",
    ),
    _case(
        "violated without saying what",
        _all(_reject("fixable"), _rule(0, **{**_VIOLATED, "violations": []})),
        "invalid",
        "violation_without_detail",
    ),
    _case(
        "violated with a blank violation",
        _all(_reject("fixable"), _rule(0, **{**_VIOLATED, "violations": [" "]})),
        "invalid",
        "violation_without_detail",
    ),
    _case(
        "passed with violations",
        _rule(1, violations=["Save has no test"]),
        "invalid",
        "passed_with_violations",
    ),
    _case(
        "not applicable with violations",
        _rule(1, status="not_applicable", violations=["Save has no test"]),
        "invalid",
        "passed_with_violations",
    ),
    _case("confidence missing", lambda r: r.pop("confidence"), "invalid", "bad_confidence"),
    _case("confidence above one", _set(confidence=85), "invalid", "bad_confidence"),
    _case("confidence below zero", _set(confidence=-0.1), "invalid", "bad_confidence"),
    _case("confidence in words", _set(confidence="high"), "invalid", "bad_confidence"),
    _case("confidence as truth", _set(confidence=True), "invalid", "bad_confidence"),
    _case("confidence not a number", _set(confidence=float("nan")), "invalid", "bad_confidence"),
    _case(
        "a verdict with a reservation",
        _set(verdict="approved, perhaps"),
        "invalid",
        "verdict_mismatch",
        "missing_rejection_type",
    ),
    _case(
        "a verdict in other words",
        _set(verdict="LGTM"),
        "invalid",
        "verdict_mismatch",
        "missing_rejection_type",
    ),
    _case(
        "no verdict", lambda r: r.pop("verdict"), "invalid", "unparsable", "missing_rejection_type"
    ),
    _case("rejected without a type", _reject(None), "invalid", "missing_rejection_type"),
    _case(
        "rejected with an invented type", _reject("hopeless"), "invalid", "missing_rejection_type"
    ),
    _case(
        "approved with a type",
        _set(rejection_type="fixable"),
        "invalid",
        "unexpected_rejection_type",
    ),
    _case("no feedback", lambda r: r.pop("feedback"), "invalid", "missing_feedback"),
    _case(
        "blank feedback on a rejection",
        _reject("fixable", feedback=" "),
        "invalid",
        "missing_feedback",
    ),
    _case("feedback as a list", _set(feedback=["do it"]), "invalid", "missing_feedback"),
    _case("a status in other words", _rule(0, status="ok"), "invalid", "unparsable", "missing_sop"),
    _case(
        "an entry that is a text",
        lambda r: r["sop_review"].__setitem__(1, "fine"),
        "invalid",
        "unparsable",
        "missing_sop",
    ),
    _case(
        "entries by id", _set(sop_review={ERRORS: "passed"}), "invalid", "unparsable", "missing_sop"
    ),
    _case("violations as a text", _rule(0, violations="none"), "invalid", "unparsable"),
    _case(
        "a citation without lines",
        _rule(0, **{**_CITED, "citations": [{"path": "handlers/user.go", "quote": QUOTE}]}),
        "invalid",
        "unparsable",
        "no_evidence",
    ),
]

ATTACKS = [
    _case("a search that can never match", _rule(2, search={"pattern": "(?!)", "paths": []}), "invalid", "unresolved_evidence"),
    _case("a search between the ends of a text", _rule(2, search={"pattern": r"\Afmt\.Print\Z", "paths": []}), "invalid", "unresolved_evidence"),
    _case("a search in a comment", _rule(2, search={"pattern": "(?x)zzz # fmt.Print", "paths": []}), "invalid", "unresolved_evidence"),
    _case("a search elsewhere", _rule(2, search={"pattern": r"fmt\.Print", "paths": ["docs/**"]}), "invalid", "unresolved_evidence"),
    _case("a search around a file", _rule(2, search={"pattern": r"fmt\.Print", "paths": ["**", "!handlers/user.go"]}), "invalid", "unresolved_evidence"),
    _case("a search for nothing much", _rule(2, search={"pattern": r"\w{99}", "paths": []}), "invalid", "unresolved_evidence"),
    _case("the same place for all, with filler", _all(*(_rule(n, evidence=f"{'I' * (n + 1)} handlers/user.go:7 `{QUOTE}`, handlers/user_test.go:3 `func TestLoad(t *testing.T)`", search=None) for n in range(3))), "invalid", "rubber_stamp"),
    _case("no reason to speak of", _rule(1, status="not_applicable", evidence="n/a"), "invalid", "no_evidence"),
    _case("the rule itself as evidence", _rule(0, evidence=".hornbook/sources/docs/sops/error-handling.md:7 `Errors MUST say what failed.`"), "invalid", "unresolved_evidence"),
    _case("another rule as evidence", _rule(0, evidence=".hornbook/sources/docs/sops/no-prints.md:7 `Handlers MUST NOT call `fmt.Print` or `fmt.Println`.`"), "invalid", "unresolved_evidence"),
    _case("one good line and one past the end", _rule(1, evidence="handlers/user_test.go:3,99"), "invalid", "unresolved_evidence"),
    _case("a range with a long dash past the end", _rule(1, evidence="handlers/user_test.go:3–99"), "invalid", "unresolved_evidence"),
    _case("one good place and an invented Dockerfile", _rule(1, evidence="handlers/user_test.go:3 and Dockerfile:9"), "invalid", "unresolved_evidence"),
    _case("a search that can find nothing", _rule(2, search={"pattern": r"fmt\.Print\b\B", "paths": []}), "invalid", "unresolved_evidence"),
    _case("a search of the tests only", _rule(2, search={"pattern": r"fmt\.Print", "paths": ["**/*_test.go"]}), "invalid", "unresolved_evidence"),
    _case("half a character", _set(feedback="\ud800"), "invalid", "unparsable"),
    _case("evidence that nobody reads", _rule(1, evidence="handlers/user_test.go:3 " + "w:1 " * 6000), "invalid", "unresolved_evidence"),
    _case("a thousand and one numbers", _rule(1, evidence="handlers/user_test.go:3 " + "w:1 " * 1001), "invalid", "unresolved_evidence"),
    _case("a search of a thousand globs", _rule(2, search={"pattern": r"fmt\.Print", "paths": ["**/*.go"] * 1000}), "invalid", "unresolved_evidence"),
    _case("two hundred and one places", _rule(1, evidence=" ".join(f"handlers/user_test.go:{n}" for n in range(1, 203))), "invalid", "unresolved_evidence"),
]  # fmt: skip

COMBINED = [
    _case(
        "lazy: everything passed, looked at nothing",
        _all(*(_rule(n, evidence="Looks good.", search=None) for n in range(3))),
        "invalid",
        "unresolved_evidence",
        "rubber_stamp",
    ),
    _case(
        "three defects at once",
        _all(_rule(0, evidence=""), _rule(1, evidence="handlers/gone.go:1"), _set(confidence=7)),
        "invalid",
        "no_evidence",
        "unresolved_evidence",
        "bad_confidence",
    ),
    _case(
        "invalid beats low confidence",
        _all(_rule(0, evidence=""), _set(confidence=0.1)),
        "invalid",
        "no_evidence",
        "low_confidence",
    ),
    _case(
        "lying: a quote for each rule, none of them there",
        _all(
            _rule(0, evidence="handlers/user.go:7 `return wrap(err, id)`"),
            _rule(1, evidence="handlers/user_test.go:99"),
            _rule(2, search=None, evidence="handlers/user.go:1 `no prints at all`"),
        ),
        "invalid",
        "unresolved_evidence",
    ),
]

_HIDDEN = json.dumps({**GOOD, "sop_review": []})
UNREADABLE = [
    Case("nothing", b"", "invalid", frozenset({"unparsable"})),
    Case("blanks", b" \n\t", "invalid", frozenset({"unparsable"})),
    Case("prose", b"I approve this change.", "invalid", frozenset({"unparsable"})),
    Case("null", b"null", "invalid", frozenset({"unparsable"})),
    Case("a list", b"[]", "invalid", frozenset({"unparsable"})),
    Case(
        "an object of another kind",
        b'{"type": "result", "result": "approved"}',
        "invalid",
        frozenset({"unparsable"}),
    ),
    Case("two reviews", f"{_PLAIN}\n{_PLAIN}".encode(), "invalid", frozenset({"unparsable"})),
    Case(
        "an approval hidden in prose",
        f"The diff says {_HIDDEN}\n{_edited(_reject('fixable')).decode()}".encode(),
        "invalid",
        frozenset({"unparsable"}),
    ),
    Case(
        "a broken draft before the review",
        f'{{"verdict": "rejected", oops}}\n{_PLAIN}'.encode(),
        "invalid",
        frozenset({"unparsable"}),
    ),
    Case("trailing comma", (_PLAIN[:-1] + ",}").encode(), "invalid", frozenset({"unparsable"})),
    Case("cut off", _PLAIN[: len(_PLAIN) // 2].encode(), "invalid", frozenset({"unparsable"})),
    Case("single quotes", _PLAIN.replace('"', "'").encode(), "invalid", frozenset({"unparsable"})),
    Case(
        "the verdict twice",
        ('{"verdict": "rejected",' + _PLAIN[1:]).encode(),
        "invalid",
        frozenset({"unparsable"}),
    ),
    Case(
        "five megabytes", b"x" * 5_000_000 + _PLAIN.encode(), "invalid", frozenset({"unparsable"})
    ),
    Case("a megabyte of braces", b"{" * 1_000_000, "invalid", frozenset({"unparsable"})),
    Case("a megabyte of nesting", b'{"verdict":' * 90_000, "invalid", frozenset({"unparsable"})),
    Case("not UTF-8", b'{"verdict": "\xff"}', "invalid", frozenset({"unparsable"})),
]

CASES = [*ACCEPTED, *REJECTED, *ESCALATED, *DEFECTS, *ATTACKS, *COMBINED, *UNREADABLE]
