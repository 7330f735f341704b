"""A repository with a plan of two tasks, an agent that carries them out, and our command over it."""

import subprocess
import sys
from pathlib import Path

from hornbook import Workspace
from tests.kit.commands import run
from tests.kit.git import start

CONFIG = """\
gates:
  additional:
    - {name: there, command: test -f shop/price.py}
"""
RULE = """\
---
applies_to: "**/*.py"
severity: error
---
# Naming

Functions MUST have names that say what they return.
"""
PLAN = """\
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
   - Depends on: 1

## Constraints
- IN: shop/**, tests/**
- DO NOT TOUCH: shop/secret.py

## Coordination
None.
"""
FILES = {
    ".hornbook/config.yaml": CONFIG,
    ".hornbook/sources/docs/sops/naming.md": RULE,
    "shop/price.py": "def price(n):\n    return n * 2\n",
    "shop/secret.py": "KEY = 1\n",
    "tests/test_price.py": "def test_price():\n    assert True\n",
}


def with_the_tax_plan(root: Path, **more: str) -> Path:
    """A repository with a committed plan of two tasks, and the files that a test adds."""
    start(root, {**FILES, **more})
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().commit("Add tax", PLAN)
        work.plan_book().tasks("add-tax")
    return root


def command(root: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "hornbook", "--root", str(root), *arguments]


def hornbook(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run(root, "--root", str(root), *arguments)


AGENT = """\
import json, pathlib, re, sys

prompt = sys.stdin.read()
if "You review a change" in prompt:
    added = r"^\\+\\+\\+ b/(\\S+\\.py)$.*?^\\+( *(?:def|return) [^\\n]*)$"
    found = re.findall(added, prompt, re.M | re.S)
    entry = {
        "sop_id": "source.doc.sops.naming",
        "status": "passed",
        "evidence": "; ".join(f"{path}:1 `{line}`" for path, line in found),
        "violations": [],
    }
    print(json.dumps({"verdict": "approved", "rejection_type": None, "sop_review": [entry],
                      "confidence": 0.9, "feedback": "fine"}))
elif not pathlib.Path("shop/tax.py").exists():
    pathlib.Path("shop/tax.py").write_text("def tax(n):\\n    return n * 19 // 100\\n")
    pathlib.Path("tests/test_tax.py").write_text("def test_tax():\\n    assert True\\n")
    print("added tax")
else:
    pathlib.Path("shop/price.py").write_text(
        "from shop.tax import tax\\n\\n\\ndef price(n):\\n    return n * 2 + tax(0)\\n"
    )
    print("used it")
"""
