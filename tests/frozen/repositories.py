"""The files of the repositories whose answers are frozen: rules, sources, plans, reviews."""

import json

SOPS = ".hornbook/sources/docs/sops"
ERRORS = "source.doc.sops.error-handling"

CONFIG = """\
reserve: 6000
gates:
  tests: warn
  additional:
    - {name: there, command: test -f app/price.py, required: true}
    - {name: words, command: "grep -q package handlers/user.go", timeout: 20}
"""
RULES = {
    f"{SOPS}/error-handling.md": """\
---
category: sop
applies_to: "*.go"
severity: error
---

# Error Handling

All errors must include context about what operation failed.

## Requirements
1. Wrap errors with `fmt.Errorf("operation: %w", err)`
2. Include relevant identifiers
""",
    f"{SOPS}/test-coverage.md": """\
---
category: sop
applies_to: ["**/*_test.go", "handlers/**", "!handlers/generated/**"]
severity: warning
---

# Test Coverage

New functions SHOULD have tests.
""",
    f"{SOPS}/naming.md": """\
---
applies_to: ["app/**/*.py"]
severity: error
---
# Naming

Functions MUST have names that say what they return.

| kind | form |
|---|---|
| function | snake_case |

```python
def price_with_tax(net: int) -> int: ...
```
""",
    "AGENTS.md": "# For agents\n\nRun the tests before you say that you are done.\n\n- Keep it small.\n",
    "app/AGENTS.md": "# The app\n\nPrices are whole cents, never floats.\n",
    "CLAUDE.md": "# Memory\n\nRead @docs/style.md first.\n\nAnswer in English.\n",
    ".cursor/rules/go.mdc": "---\ndescription: Go style\nglobs: handlers/**/*.go, *.go\nalwaysApply: false\n---\n\nUse table tests.\n",
    ".cursor/rules/always.mdc": "---\nalwaysApply: true\n---\nNever commit a secret.\n",
    ".github/instructions/python.instructions.md": "---\napplyTo: '**/*.py'\n---\nPrefer dataclasses to dictionaries.\n",
    ".github/copilot-instructions.md": "Write short functions.\n",
    "docs/adr/0001-whole-cents.md": "# 1. Whole cents\n\nDate: 2026-01-02\n\n## Status\n\nSuperseded by [2](0002-decimals.md)\n\n## Decision\n\nPrices are whole cents.\n",
    "docs/adr/0002-decimals.md": "# 2. Decimals\n\n## Status\n\nAccepted\n\n## Context\n\nTax has fractions.\n\n## Decision\n\nPrices are decimals.\n",
    "docs/style.md": "# Style\n\nPlain words.\n",
}
SOURCES = {
    ".hornbook/config.yaml": CONFIG,
    "README.md": "# Shop\n\nIt sells.\n",
    "go.mod": "module shop\n\ngo 1.22\n",
    "handlers/user.go": "package handlers\n\n// User answers who somebody is.\nfunc User(id string) string {\n\treturn id\n}\n",
    "app/__init__.py": "",
    "app/price.py": '"""Prices."""\n\nfrom app.tax import tax\n\n\nclass Cart:\n    """What somebody buys."""\n\n    def total(self) -> int:\n        return price(1)\n\n\ndef price(net: int) -> int:\n    return net + tax(net)\n',
    "app/tax.py": "def tax(net: int) -> int:\n    return net * 19 // 100\n",
    "tests/test_price.py": "from app.price import price\n\n\ndef test_price() -> None:\n    assert price(100) == 119\n",
}
CHANGED = {
    "handlers/user.go": 'package handlers\n\nimport "fmt"\n\n// User answers who somebody is.\nfunc User(id string) (string, error) {\n\tif id == "" {\n\t\treturn "", fmt.Errorf("user %q: %w", id, errEmpty)\n\t}\n\treturn id, nil\n}\n',
    "handlers/user_test.go": 'package handlers\n\nfunc TestUser(t *testing.T) {\n\tif got, _ := User("a"); got != "a" {\n\t\tt.Fatal(got)\n\t}\n}\n',
    "app/tax.py": "def tax(net: int, rate: int = 19) -> int:\n    return net * rate // 100\n",
}
PLAN = """\
# Plan: any

## Situation

`app/price.py` computes prices with one rate only.

## Mission

Prices with two rates.

Success criteria:

- there is a second rate (gate: there)
- the words are plain (human)

## Execution

A table of rates.

1. Add a table of rates
   - Files: app/rates.py (new), tests/test_rates.py (new)
   - Criteria: there are two rates
2. Use the table in `app/tax.py`
   - Files: app/tax.py
   - Criteria: tax takes its rate from the table
   - Depends on: 1
3. Tell the rate to users
   - Files: handlers/user.go

## Constraints

- IN: app/**, tests/**, handlers/**
- OUT: app/generated/**
- DO NOT TOUCH: handlers/legacy.go

## Coordination

None.
"""
UNFIT = """\
# Plan: any

## Situation

Nothing is known of `app/nowhere.py`.

## Mission

## Execution

1. Do it
   - Files: docs/**
   - Depends on: 7

## Constraints

- IN: app/**
"""


def _entry(sop: str, status: str, evidence: str, *violations: str) -> dict[str, object]:
    return {"sop_id": sop, "status": status, "evidence": evidence, "violations": list(violations)}


_PASSED = [
    _entry(ERRORS, "passed", 'handlers/user.go:8 wraps it: `fmt.Errorf("user %q: %w", id, errEmpty)`; handlers/user_test.go:5 `t.Fatal(got)`'),
    _entry("source.doc.sops.naming", "passed", "app/tax.py:1 says `def tax(net: int, rate: int = 19) -> int:`"),
    _entry("source.doc.sops.test-coverage", "passed", "handlers/user_test.go:3 says `func TestUser(t *testing.T) {`"),
]  # fmt: skip


_EVERYWHERE = (
    "handlers/user.go:{0}, handlers/user_test.go:{1}, app/tax.py:1 `def tax(net: int, rate` for {2}"
)


def review(ids: list[str], **changed: object) -> str:
    """A review that answers these rules, the known ones with evidence that resolves."""
    known = {str(each["sop_id"]): each for each in _PASSED}
    own = {
        "source.doc.sops.agents-app-agents": "app/tax.py:2 has `return net * rate // 100`, whole cents",
        "source.doc.sops.copilot-python": "app/tax.py:1-2 has no dictionary",
    }
    entries = [
        known.get(sop)
        or _entry(
            sop, "passed", own.get(sop, _EVERYWHERE.format(place % 7 + 4, place % 5 + 3, sop))
        )
        for place, sop in enumerate(ids)
    ]
    whole: dict[str, object] = {
        "verdict": "approved",
        "rejection_type": None,
        "sop_review": entries,
        "confidence": 0.9,
        "feedback": "Small and tested.",
        "patterns": [
            {
                "name": "Errors name the id",
                "pattern": "Wrap errors with the id that they are about.",
                "applies_to": "handlers/**",
            }
        ],
    }
    return json.dumps({**whole, **changed}, indent=1) + "\n"


def rejected(ids: list[str]) -> str:
    """The same review, in which the rule on errors is violated."""
    good = json.loads(review(ids))
    for entry in good["sop_review"]:
        if entry["sop_id"] == ERRORS:
            entry["status"] = "violated"
            entry["violations"] = ["handlers/user.go:8 does not say the operation"]
    return json.dumps({**good, "verdict": "rejected", "rejection_type": "fixable", "patterns": []})


TAX_SCRIPT = """\
reviewer:
  - {task: "1", attempt: 1, verdict: fixable, violated: [source.doc.sops.naming], feedback: Name it better.}
  - {task: "2", confidence: 0.4}
planner:
  - {answer: PLANNED}
"""
TAX = {
    ".hornbook/config.yaml": "engine:\n  agent: scripted\ngates:\n  additional:\n    - {name: there, command: test -f shop/price.py}\n",
    f"{SOPS}/naming.md": '---\napplies_to: "**/*.py"\nseverity: error\n---\n# Naming\n\nFunctions MUST have names that say what they return.\n',
    "shop/price.py": "def price(n):\n    return n * 2\n",
    "shop/secret.py": "KEY = 1\n",
    "tests/test_price.py": "def test_price():\n    assert True\n",
}
TAX_PLAN = """\
# Plan: Add tax

## Situation
`shop/price.py` computes prices without tax.

## Mission
Prices with tax.

Success criteria:
- it is there (gate: there)

## Execution
1. Add a tax function
   - Files: `shop/tax.py` (new), `tests/test_tax.py` (new)
   - Criteria: tax of 100 is 19
2. Use it in price
   - Files: `shop/price.py`
   - Criteria: price has tax

## Constraints
- IN: shop/**, tests/**
- DO NOT TOUCH: shop/secret.py

## Coordination
None.
"""
TRACK = {
    "old/docs/tracks/ACTIVE_TRACK": "T-1\n",
    "old/docs/tracks/T-1/plan.md": "# Track: Rates\n\n## Goal\n\nTwo rates.\n\n## Tasks\n\n- [x] Look around\n- [ ] Add a table\n",
    "old/docs/tracks/T-1/decisions.md": "# Decisions\n\n- 2026-01-01: A table, because it is simple.\n",
}
BAD = {
    f"{SOPS}/bad-yaml.md": "---\napplies_to: [unclosed\n---\n# Bad\n\nText.\n",
    f"{SOPS}/bad-glob.md": '---\napplies_to: ["src/[z-a].py", "/abs", "a/../b"]\nseverity: fatal\ncolour: red\n---\n# Bad globs\n\nText.\n',
    f"{SOPS}/no-scope.md": "---\nseverity: error\n---\n# Everywhere\n\nAlways.\n",
    f"{SOPS}/empty.md": "",
    f"{SOPS}/twice.md": "---\nseverity: info\nseverity: error\n---\n# Twice\n",
    **{
        f"{SOPS}/{name}.md": f"---\napplies_to: '**'\nseverity: error\n---\n# {name.title()}\n\n"
        + "".join(f"{n}. Statement {n} of the {name} rule MUST be looked at by itself.\n" for n in range(160))
        for name in ("large", "long")
    },
    ".cursor/rules/odd.mdc": "---\nglobs:\n  - 7\n---\nOdd.\n",
    "src/a.py": "def a() -> int:\n    return 1\n",
    "src/broken.py": "def (:\n",
}  # fmt: skip
