"""A small shop with rules and a plan, served until Ctrl-C: `python -m tests.demo --port 8765`.

Beside the server a plan is carried out by the agent without a model: its first work is rejected and
mended, a later task waits for a person, and the last one goes on for as long as you look.
"""

import argparse
import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.demo_history import days_ago, make_history, run_git

SOURCES = Path(__file__).parents[1] / "sources"
QUERY = (
    '{ entities(filter: { predicatePrefix: "source.doc.sops" }) '
    "{ id triples { predicate object } } }"
)
FILE = "handlers/user_test.go"
PATIENCE = 30.0
FIRST_LINES = 12


def _written(name: str, code: str, test: str) -> list[dict[str, dict[str, str]]]:
    """The operations that write a module of the shop and its test."""
    files = {f"shop/{name}.py": code, f"tests/test_{name}.py": test}
    return [{"write": {"path": path, "text": text}} for path, text in files.items()]


def _developed(
    task: str, attempt: int, work: list[dict[str, dict[str, str]]], cost: float
) -> dict[str, object]:
    """What a developer does at an attempt, prints about it, and says that it cost."""
    paths = [each["write"]["path"] for each in work]
    told = [f"writing {path}" for path in paths]
    return {"task": task, "attempt": attempt, "do": work, "prints": told, "cost": cost}


FILES = {
    "AGENTS.md": "# Shop\n\n- Prices MUST be whole cents.\n- Every module says what it is for.\n",
    ".cursor/rules/legacy.mdc": (
        "---\ndescription: The old shop\nglobs: legacy/**\n---\nNothing new goes in here.\n"
    ),
    ".github/instructions/web.instructions.md": (
        '---\napplyTo: "/web/**"\n---\nPages MUST work without scripts.\n'
    ),
    ".hornbook/config.yaml": (
        "reserve: 8000\ngates:\n  additional:\n    - {name: prices, command: test -f shop/price.py}\n"
    ),
    "handlers/user.go": (
        "package handlers\n\n// Name is how the shop greets a user.\n"
        'func Name(first, last string) string {\n\treturn first + " " + last\n}\n'
    ),
    "shop/price.py": (
        '"""Prices in cents."""\n\n\ndef price(pieces: int, cents: int) -> int:\n'
        '    """What some pieces cost."""\n    return pieces * cents\n'
    ),
    "shop/order.py": (
        '"""Orders."""\n\nfrom shop.price import price\n\n\n'
        "def total(lines: list[tuple[int, int]]) -> int:\n"
        '    """What an order costs."""\n    return sum(price(*line) for line in lines)\n'
    ),
    "tests/test_price.py": (
        "from shop.price import price\n\n\n"
        "def test_three_pieces_cost_three_times_as_much() -> None:\n    assert price(3, 5) == 15\n"
    ),
    "web/cart.ts": "export function count(items: string[]): number {\n  return items.length;\n}\n",
}
SWALLOWED = (
    '"""Discounts in percent."""\n\n\ndef discounted(cents: int, percent: str) -> int:\n'
    "    try:\n        return cents - cents * int(percent) // 100\n"
    "    except Exception:\n        return cents\n"
)
MENDED = (
    '"""Discounts in percent."""\n\n\ndef discounted(cents: int, percent: int) -> int:\n'
    '    """What is left of a price; raises ValueError for what is no percentage."""\n'
    "    if not 0 <= percent <= 100:\n"
    '        raise ValueError(f"{percent} is no percentage: give 0 to 100.")\n'
    "    return cents - cents * percent // 100\n"
)
TEST = (
    "from shop.discount import discounted\n\n\n"
    "def test_a_tenth_is_taken_off() -> None:\n    assert discounted(100, 10) == 90\n"
)
RECEIPT = (
    '"""Receipts."""\n\n\ndef receipt(cents: int) -> str:\n'
    '    """A price as people read it."""\n    return f"{cents // 100}.{cents % 100:02}"\n'
)
TEST_OF_RECEIPT = (
    "from shop.receipt import receipt\n\n\n"
    'def test_cents_have_two_digits() -> None:\n    assert receipt(105) == "1.05"\n'
)
GIFT = (
    '"""Gifts at half the price."""\n\n\ndef gift(cents: int) -> int:\n'
    '    """What a gift costs."""\n    return cents // 2\n'
)
TEST_OF_GIFT = (
    "from shop.gift import gift\n\n\n"
    "def test_a_gift_is_half_price() -> None:\n    assert gift(100) == 50\n"
)
SCRIPT = {
    "developer": [
        _developed("1", 1, _written("discount", SWALLOWED, TEST), 0.041),
        _developed("1", 2, _written("discount", MENDED, TEST), 0.037),
        _developed("2", 1, _written("receipt", RECEIPT, TEST_OF_RECEIPT), 0.029),
        _developed("3", 1, _written("gift", GIFT, TEST_OF_GIFT), 0.033),
        {"task": "3", "hang": True, "prints": ["reading shop/gift.py", "half a cent: up or down?"]},
    ],
    "reviewer": [
        {
            "task": "1",
            "attempt": 1,
            "verdict": "fixable",
            "violated": ["source.doc.sops.python-errors"],
            "feedback": "A wrong percentage is swallowed: raise an error that names it.",
            "cost": 0.062,
        },
        {"task": "2", "confidence": 0.5, "cost": 0.058},
        {
            "task": "3",
            "attempt": 1,
            "verdict": "fixable",
            "violated": ["source.doc.sops.agents-agents"],
            "feedback": "Half a cent is lost with odd prices: round up, and say so.",
            "cost": 0.055,
        },
        {"cost": 0.06},
    ],
}
PLAN = """\
# Plan: Discounts

## Situation
`shop/price.py` computes prices, and nothing takes a discount off them.

## Mission
Orders with discounts, and receipts that show them.

Success criteria:
- prices are still there (gate: prices)

## Execution
1. Take a discount off a price
   - Files: `shop/discount.py` (new), `tests/test_discount.py` (new)
   - Criteria: ten percent off 100 cents are 90
2. Print a receipt
   - Files: `shop/receipt.py` (new), `tests/test_receipt.py` (new)
   - Criteria: 105 cents are shown as 1.05
3. Sell gifts at half the price
   - Files: `shop/gift.py` (new), `tests/test_gift.py` (new)
   - Criteria: a gift of 100 cents costs 50

## Constraints
- IN: shop/**, tests/**
- DO NOT TOUCH: web/**

## Coordination
None.
"""


def make_workspace(root: Path) -> None:
    """A repository with a little history: the shipped rules, rules of other tools, and a plan."""
    target = root / ".hornbook" / "sources" / "docs" / "sops"
    target.mkdir(parents=True)
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "config", "user.name", "Demo")
    run_git(root, "config", "user.email", "demo@example.org")
    for source in SOURCES.glob("examples/*/sops/*.md"):
        shutil.copyfile(source, target / source.name)
    subprocess.run(hornbook(root, "init", "--gates", "none"), check=True, capture_output=True)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "The rules of the shop", at=days_ago(40))
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        run_git(root, "add", "-A")
        run_git(root, "commit", "-qm", f"Add {path}", at=days_ago(35))
    make_history(root)
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    script = json.dumps(SCRIPT)  # which is YAML, too
    (root / ".hornbook" / "scripted.yaml").write_text(script, encoding="utf-8")
    (root / "shop" / "price.py").write_text(
        FILES["shop/price.py"].replace("some pieces", "a number of pieces"), encoding="utf-8"
    )
    plan = root / ".git" / "discounts.md"
    plan.write_text(PLAN, encoding="utf-8")
    committed = hornbook(root, "plan", "Discounts", "--from", str(plan))
    subprocess.run(committed, check=True, capture_output=True)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "Say what a price is, and plan discounts")


def hornbook(root: Path, *arguments: str) -> list[str]:
    """The command line that runs Hornbook on a workspace."""
    return [sys.executable, "-m", "hornbook", "--root", str(root), *arguments]


def refuse_taken(port: int) -> None:
    """Stop with a remedy if something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            sys.exit(f"port {port} is taken: name another one, as in `make demo PORT={port + 1}`.")


@contextmanager
def served(root: Path, port: int) -> Iterator[str]:
    """The address of a server over the workspace, which is stopped in the end."""
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(hornbook(root, "serve", "--port", str(port)))
    try:
        _wait_until_it_answers(server, address)
        yield address
    finally:
        if server.poll() is None:
            server.terminate()
        try:
            server.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextmanager
def carried_out(root: Path) -> Iterator[None]:
    """Have the plan worked on beside the server; whatever is not done ends with it."""
    quiet = subprocess.DEVNULL
    command = hornbook(root, "execute", "discounts", "--agent", "scripted")
    work = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    try:
        yield
    finally:
        work.terminate()
        work.wait()


def _wait_until_it_answers(server: "subprocess.Popen[bytes]", address: str) -> None:
    while server.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"{address}/healthz", timeout=PATIENCE):
            return
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=0.1)
    sys.exit(f"the server ended with exit code {server.returncode} before it answered.")


def ask(address: str) -> str:
    """The answer to the first documented query, over HTTP."""
    request = urllib.request.Request(
        f"{address}/graphql",
        data=json.dumps({"query": QUERY}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.dumps(json.load(answer), indent=2)


def introduce(root: Path, address: str) -> None:
    """Say where to look, what to ask, and what `why` answers."""
    body = shlex.quote(json.dumps({"query": QUERY}))
    header = "'content-type: application/json'"
    print(f"\nConsole: {address}/\n")
    print(f"  which rules bind a file:  {address}/files/shop/price.py")
    print(f"  what a plan is doing:     {address}/plans")
    print(f"  what is wrong with rules: {address}/doctor")
    print(
        f"\nTo answer what waits there: .venv/bin/hornbook --root {root} login --print --url {address}\n"
    )
    print(f"For agents, over MCP: {address}/mcp\n")
    print(f"Ask in GraphQL, here or on {address}/graphql:\n")
    print(f"  curl -s {address}/graphql -H {header} -d {body}\n")
    print(
        f"Which rules bind a file:\n\n  .venv/bin/hornbook --root {root} why {FILE}\n", flush=True
    )
    subprocess.run(hornbook(root, "why", FILE), check=True)


def run(port: int, *, once: bool) -> None:
    """Make the workspace, serve it, and stay until Ctrl-C, or ask once and end."""
    refuse_taken(port)
    with tempfile.TemporaryDirectory(prefix="hornbook-demo-") as folder:
        root = Path(folder).resolve() / "shop"
        root.mkdir()
        make_workspace(root)
        subprocess.run(hornbook(root, "ingest"), check=True)
        with served(root, port) as address:
            introduce(root, address)
            if once:
                print("\n".join(ask(address).splitlines()[:FIRST_LINES]))
                return
            with carried_out(root):
                print("A plan is being carried out now. Ctrl-C stops the demo.", flush=True)
                signal.pause()


def main() -> None:
    """Read the command line; a stop by signal is the normal end."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="the port to serve on")
    parser.add_argument("--once", action="store_true", help="ask one query, print it, end")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    try:
        run(given.port, once=given.once)
    except KeyboardInterrupt:
        print("\nstopped", flush=True)


if __name__ == "__main__":
    main()
