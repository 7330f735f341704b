"""The past of the demo's shop: a month of changes, and how reviewers judged them."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hornbook import Workspace
from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Packet
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview

LONG = (
    '---\napplyTo: "/billing/**"\n---\n# Bookkeeping\n\nInvoices MUST follow every one of these:\n\n'
    + "".join(
        f"- Account {number}: what is booked there MUST name its voucher, its day and its tax code, "
        f"and MUST be undone by a counter-entry, never by deleting line {number}.\n"
        for number in range(1, 260)
    )
)
RULES = {
    ".github/instructions/billing.instructions.md": LONG,
    "docs/decisions/0001-whole-cents.md": (
        "# 1. Prices are whole cents\n\n## Status\n\nAccepted\n\n## Context\n\nFloats lost cents in "
        "March.\n\n## Decision\n\nEvery price is an integer of cents.\n"
    ),
    "docs/decisions/0002-pages-without-scripts.md": (
        "# 2. Pages work without scripts\n\n## Status\n\nAccepted\n\n## Decision\n\nThe cart is a "
        "form; scripts only make it quicker.\n"
    ),
}


@dataclass(frozen=True)
class PastChange:
    """A commit so many days ago; with a verdict somebody reviewed it, `violated` is a rule."""

    days: int
    subject: str
    files: Mapping[str, str]
    reviewer: str = ""
    violated: str = ""
    feedback: str = "Small, and every rule was looked at."


_ORDER = (
    '"""Orders."""\n\nfrom shop.price import price\n\n\n'
    "def total(lines: list[tuple[int, int]]) -> int:\n"
    '    """What an order costs."""\n'
)
CHANGES = (
    PastChange(
        27,
        "Count the pieces of a cart",
        {
            "web/cart.ts": (
                "export function count(items: string[]): number {\n  return items.length;\n}\n\n"
                "export function isEmpty(items: string[]): boolean {\n  return count(items) === 0;\n}\n"
            )
        },
        "small-model",
    ),
    PastChange(
        20,
        "Skip lines that cannot be priced",
        {
            "shop/order.py": _ORDER
            + "    try:\n        return sum(price(*line) for line in lines)\n"
            "    except Exception:\n        return 0\n"
        },
        "large-model",
        "source.doc.sops.python-errors",
        "An order that cannot be priced must not cost nothing: say which line is wrong.",
    ),
    PastChange(
        19,
        "Say which line of an order is wrong",
        {
            "shop/order.py": _ORDER + "    for number, line in enumerate(lines, 1):\n"
            "        if line[0] < 1:\n"
            '            raise ValueError(f"line {number} has {line[0]} pieces: give one or more.")\n'
            "    return sum(price(*line) for line in lines)\n"
        },
        "large-model",
    ),
    PastChange(
        12,
        "Greet users by their first name",
        {
            "handlers/user.go": (
                "package handlers\n\n// Name is how the shop greets a user.\n"
                'func Name(first, last string) string {\n\tif first == "" {\n\t\treturn last\n\t}\n'
                "\treturn first\n}\n"
            )
        },
        "small-model",
        "source.doc.sops.test-coverage",
        "The new branch has no test.",
    ),
    PastChange(
        4,
        "Print invoices",
        {
            "billing/invoice.py": '"""Invoices."""\n\n\ndef invoice(cents: int) -> str:\n    return str(cents)\n'
        },
    ),
)


def make_history(root: Path) -> None:
    """Commit the past changes of the shop, and record the reviews that they had."""
    _commit(root, PastChange(30, "Say how we book, and why cents", RULES))
    for past in CHANGES:
        base = run_git(root, "rev-parse", "HEAD")
        before = "".join((root / path).read_text() for path in past.files if (root / path).exists())
        _commit(root, past)
        if past.reviewer:
            _review(root, f"{base}..{run_git(root, 'rev-parse', 'HEAD')}", past, before)


def _commit(root: Path, past: PastChange) -> None:
    for path, text in past.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    run_git(root, "add", "--", *past.files)
    run_git(root, "commit", "-qm", past.subject, at=days_ago(past.days))


def days_ago(days: int) -> datetime:
    """A moment so many days before now."""
    return datetime.now(UTC) - timedelta(days=days)


def _review(root: Path, span: str, past: PastChange, before: str) -> None:
    with Workspace.open(root) as work:
        packet = work.review_packet(diff=span)
        facts = receipt(packet.context, packet.made_for)
        printed = [PrintedReview(past.reviewer, _printed(packet, past, before))]
        judged = work.check_review(printed, [facts], diff=span)
        expected = "rejected" if past.violated else "approved"
        if judged.outcome != expected:
            raise AssertionError(f"{past.subject}: {judged.outcome} {judged.problems}")
        work.record_receipt(facts)
        at = days_ago(past.days) + timedelta(minutes=20)
        work.record_review(JudgedReview(judged, printed, [facts]), at=at)


def _printed(packet: Packet, past: PastChange, before: str) -> bytes:
    """A review that answers each rule with another line that the change added, and has seen all."""
    entries = []
    (path,) = past.files
    lines = past.files[path].splitlines()
    added = [n for n, text in enumerate(lines, 1) if text not in before and len(text.strip()) > 7]
    for number, rule in enumerate(packet.context.answer_ids):
        line = added[number % len(added)]
        wrong = rule == past.violated
        entries.append(
            {
                "sop_id": rule,
                "status": "violated" if wrong else "passed",
                "evidence": f"By {rule.rpartition('.')[2]} {path}:{line} is {'wrong' if wrong else 'right'}: "
                f"`{lines[line - 1].strip()}`; looked at {path}:{added[0]}-{len(lines)}",
                "violations": [past.feedback] if wrong else [],
            }
        )
    review = {
        "verdict": "rejected" if past.violated else "approved",
        "rejection_type": "fixable" if past.violated else None,
        "sop_review": entries,
        "confidence": 0.9,
        "feedback": past.feedback,
        "patterns": [],
    }
    return json.dumps(review).encode()


def run_git(root: Path, *arguments: str, at: datetime | None = None) -> str:
    """What git prints in the repository of the demo; `at` is when it seems to be now."""
    moment = (
        {} if at is None else {f"GIT_{who}_DATE": at.isoformat() for who in ("AUTHOR", "COMMITTER")}
    )
    done = subprocess.run(
        ("git", "-C", str(root), *arguments),
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **moment},
    )
    return done.stdout.strip()
