"""A small repository with rules, a gate and a plan, and what came of carrying the plan out."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hornbook.plans.events import Event, read_lines
from tests.kit.git import git
from tests.kit.workspaces import write
from tests.model.served import Page, Recorder

SLUG = "add-tax"
SOPS = ".hornbook/sources/docs/sops"
RULES = {
    "naming": """\
---
applies_to: "**/*.py"
severity: error
---
# Naming

Functions MUST have names that say what they return.
""",
    "money": """\
---
applies_to: "shop/**"
severity: warning
---
# Money

Amounts SHOULD be whole cents. Floating point numbers lose cents when they are added up.
""",
    "tests": """\
---
applies_to: "tests/**"
severity: info
---
# Tests

The name of a test MAY be a whole sentence that says what holds.
""",
    "pages": """\
---
applies_to: "docs/**"
severity: error
---
# Pages

Every page of the documentation MUST be linked from the index of the documentation.
""",
}
BOUND = ("source.doc.sops.money", "source.doc.sops.naming", "source.doc.sops.tests")
"""The rules that bind the files of the first task: all but the one for pages."""

GATES = """\
gates:
  additional:
    - {name: tests, command: python3 -m unittest discover -s tests -t .}
"""
PLAN = """\
# Plan: Add tax

## Situation
`shop/price.py` computes prices without tax.

## Mission
Prices with tax.

Success criteria:
- the tests pass (gate: tests)

## Execution
1. Add a function for the tax
   - Files: `shop/tax.py` (new), `tests/test_tax.py` (new)
   - Criteria: the tax of 100 is 19
2. Use it in the price
   - Files: `shop/price.py`
   - Criteria: the price of 100 is 238
   - Depends on: 1

## Constraints
- IN: shop/**, tests/**
- DO NOT TOUCH: shop/__init__.py

## Coordination
None.
"""
SCRIPT = """\
developer:
  - task: "1"
    do:
      - write:
          path: shop/tax.py
          text: |
            def tax_in_cents(cents):
                return cents * 19 // 100
      - write:
          path: tests/test_tax.py
          text: |
            import unittest

            from shop.tax import tax_in_cents


            class Tax(unittest.TestCase):
                def test_the_tax_of_100_is_19(self):
                    self.assertEqual(tax_in_cents(100), 19)
    answer: I added the function and its test.
"""
FILES = {
    **{f"{SOPS}/{name}.md": text for name, text in RULES.items()},
    "plan.md": PLAN,
    "shop/__init__.py": "",
    "shop/price.py": "def price_in_cents(cents):\n    return cents * 2\n",
    "tests/__init__.py": "",
    "tests/test_price.py": """\
import unittest

from shop.price import price_in_cents


class Price(unittest.TestCase):
    def test_the_price_is_twice_the_cost(self):
        self.assertEqual(price_in_cents(1), 2)
""",
}
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Reader"), ("EMAIL", "reader@example.org"))
}
OUTSIDE = ("HORNBOOK_ROOT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True)
class Said:
    """What a command of the page printed, and how it ended."""

    command: str
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Story:
    """A plan that was carried out: the repository, what the model was sent, and what is on record."""

    root: Path
    head: str
    recorder: Recorder
    said: tuple[Said, ...]

    @property
    def executed(self) -> Said:
        """What `execute` said."""
        (found,) = [each for each in self.said if each.command.startswith("hornbook execute")]
        return found

    @property
    def log(self) -> list[Event]:
        """The plan's events, as exported."""
        text = (self.root / ".hornbook/plans" / SLUG / "events.jsonl").read_text("utf-8")
        events, fault = read_lines(text)
        assert fault is None, fault
        return events

    def of(self, *kinds: str) -> list[Event]:
        """The events of some kinds, in order."""
        return [event for event in self.log if event.kind in kinds]

    def told(self, action: str | None = None) -> list[dict[str, Any]]:
        """What agents told while they worked with the model; each cost tokens."""
        found = [event.data["told"] for event in self.of("agent.told")]
        return [
            each
            for each in found
            if each.get("tokens") and (action is None or each["action"] == action)
        ]

    def hornbook(self, *arguments: str) -> Said:
        """What a command says here."""
        return run(self.root, shlex.join(("hornbook", *arguments)))

    def answer(self, *arguments: str) -> dict[str, Any]:
        """The JSON document that a command prints."""
        found: dict[str, Any] = json.loads(self.hornbook(*arguments, "--json").out)
        return found


def run(root: Path, command: str) -> Said:
    """What a command of the page says, in the repository."""
    hornbook = f"{shlex.quote(sys.executable)} -m hornbook"
    real = command.replace("hornbook ", f"{hornbook} ", 1) if command.startswith("hornbook ") else command  # fmt: skip
    outside = {name for each in OUTSIDE for name in (each, each.lower())}
    environment = {key: value for key, value in os.environ.items() if key not in outside}
    done = subprocess.run(
        ["bash", "-c", real],
        cwd=root,
        env={**environment, "COLUMNS": "200", **IDENTITY},
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    return Said(command, done.returncode, done.stdout, done.stderr)


def carried_out(root: Path, page: Page, recorder: Recorder, agent: str) -> Story:
    """The story of a reader who follows the page, with the recorder in the server's place."""
    config = page.config.replace("http://127.0.0.1:8080/v1", recorder.server.url)
    assert config.count(recorder.server.url) == 2
    git(root, "init", "-q", "-b", "main")
    write(
        root, {**FILES, ".hornbook/config.yaml": config + GATES, ".hornbook/scripted.yaml": SCRIPT}
    )
    git(root, "add", "--all")
    git(root, "commit", "-qm", "Begin")
    said = []
    for line in page.commands:
        command = line.replace("--agent embedded", f"--agent {agent}")
        told = run(root, command)
        expected = {0, 1} if command.startswith("hornbook execute") else {0}
        assert told.code in expected, told
        said.append(told)
    return Story(root, git(root, "rev-parse", "HEAD"), recorder, tuple(said))
