"""Attacks on the referee and honest reviews, over one change of every kind of file.

Each case is a review, and what must come of it. An attack is a review that did not look, or hides
what it saw: it must never be approved. An honest review looked, and says so as people and models do.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

EVAL = "source.doc.sops.no-eval"
NAMES = "source.doc.sops.names"
TESTED = "source.doc.sops.tested"
SOPS = ".hornbook/sources/docs/sops"


def _rule(globs: str, severity: str, title: str, text: str) -> str:
    return f"---\napplies_to: {globs!r}\nseverity: {severity}\n---\n# {title}\n\n{text}\n"


RULES = {
    f"{SOPS}/no-eval.md": _rule("*.py", "error", "No eval", "Code MUST NOT call `eval` or `exec`."),
    f"{SOPS}/names.md": _rule("src/**", "error", "Names", "Functions MUST have telling names."),
    f"{SOPS}/tested.md": _rule("*.py", "warning", "Tested", "New functions SHOULD have tests."),
}
_APP = "import json\nimport sys\n\n" + "".join(
    f"\ndef step_{n}(data):\n    return json.loads(data)[{n}]\n" for n in range(12)
)
BASE = {
    **RULES,
    "src/app.py": _APP,
    "src/old.py": "def forgotten(value):\n    return value + 1\n",
    "src/moved.py": "".join(f"CONSTANT_{n} = {n}\n" for n in range(20)),
    "tests/test_app.py": "from src.app import step_0\n\n\ndef test_step():\n    assert step_0('[1]') == 1\n",
    "docs/guide.md": "# Guide\n\nCall step.\n",
    "package-lock.json": '{"version": 1}\n',
    "compose.yaml": "services:\n  cache:\n    image: redis:6\n",
}
APP = _APP.replace(
    "\ndef step_7(data):\n    return json.loads(data)[7]\n",
    "\ndef step_7(data):\n    values = json.loads(data)\n    return values.get('seven', 7)\n",
).replace("\ndef step_3(data):\n    return json.loads(data)[3]\n", "")
NEW = "import re\n\n\ndef parse_port(text):\n    match = re.match(r'db:(\\d+)', text)\n    return int(match.group(1)) if match else 5432\n"
CHANGED: dict[str, str | None] = {
    "src/app.py": APP,
    "src/new.py": NEW,
    "src/old.py": None,
    "src/moved.py": None,
    "src/constants.py": BASE["src/moved.py"],
    "tests/test_new.py": "from src.new import parse_port\n\n\ndef test_port():\n    assert parse_port('db:1') == 1\n",
    "docs/guide.md": "# Guide\n\nCall step, or parse_port.\n",
    "package-lock.json": '{"version": 2}\n',
    "compose.yaml": "services:\n  cache:\n    image: redis:7\n",
}


def line_of(text: str, part: str) -> int:
    return 1 + next(n for n, line in enumerate(text.split("\n")) if part in line)


SEVEN = line_of(APP, "values.get(")
GONE = line_of(_APP, "step_3(data)")
PORT = line_of(NEW, "re.match")
QUOTE = "return values.get('seven', 7)"
Review = dict[str, Any]
Edit = Callable[[Review], object]

GOOD: Review = {
    "verdict": "approved",
    "rejection_type": None,
    "sop_review": [
        {
            "sop_id": EVAL,
            "status": "passed",
            "evidence": "Nothing is evaluated.",
            "violations": [],
            "search": {"pattern": r"\b(eval|exec)\(", "paths": []},
        },
        {
            "sop_id": NAMES,
            "status": "passed",
            "evidence": f"src/app.py:{SEVEN} `{QUOTE}` keeps its name; src/new.py:4 "
            "`def parse_port(text):` says what it does.",
            "violations": [],
        },
        {
            "sop_id": TESTED,
            "status": "passed",
            "evidence": "tests/test_new.py:4-5 tries parse_port.",
            "violations": [],
        },
    ],
    "confidence": 0.9,
    "feedback": "Small and tested.",
    "patterns": [],
}


@dataclass(frozen=True)
class Case:
    """A review, its kind, and what must come of it."""

    kind: str
    name: str
    printed: bytes
    outcomes: tuple[str, ...]


def of(edit: Edit) -> bytes:
    review = copy.deepcopy(GOOD)
    edit(review)
    return json.dumps(review).encode()


def entry(place: int, **values: object) -> Edit:
    return lambda review: review["sop_review"][place].update(values)


def says(place: int, evidence: str, **values: object) -> Edit:
    """One rule answered by a text, without a search."""
    return entry(place, evidence=evidence, search=None, **values)


def both(*edits: Edit) -> Edit:
    return lambda review: [edit(review) for edit in edits]


def top(**values: object) -> Edit:
    return lambda review: review.update(values)


def attack(kind: str, name: str, edit: Edit | bytes) -> Case:
    printed = edit if isinstance(edit, bytes) else of(edit)
    return Case(kind, name, printed, ("escalate", "invalid", "rejected"))


def honest(kind: str, name: str, edit: Edit | bytes, outcome: str = "approved") -> Case:
    printed = edit if isinstance(edit, bytes) else of(edit)
    return Case(kind, name, printed, (outcome,))


_PLAIN = json.dumps(GOOD)
_TWO = f"src/app.py:{SEVEN} `{QUOTE}`, src/new.py:4 `def parse_port(text):`"
_THREE = f"{_TWO}, tests/test_new.py:5 `assert parse_port('db:1') == 1`"
_NA: Review = {"status": "not_applicable", "violations": [], "search": None}
_REJECTED = {"verdict": "rejected", "rejection_type": "fixable"}

WEAK = [
    attack("weak", "an unchanged line far from the change", says(1, "src/app.py:1 `import json`")),
    attack("weak", "the same for a warning", says(2, "src/app.py:2")),
    attack("weak", "an unchanged file", says(2, "tests/test_app.py:4")),
    attack("weak", "a changed file that the rule does not bind", says(2, "docs/guide.md:3")),
    attack("weak", "a lock file", says(2, "package-lock.json:1")),
    attack("weak", "one file of two for an error", says(1, f"src/app.py:{SEVEN} `{QUOTE}`")),
    attack("weak", "one file of three for an error", says(0, _TWO)),
    attack("weak", "the second file far from its change", says(1, "src/new.py:4 `def parse_port(text):`, src/app.py:1 `import json`")),
    attack("weak", "the rule itself", says(1, f"{SOPS}/names.md:7 `Functions MUST have telling names.`")),
    attack("weak", "an error waved away without a place", entry(1, **_NA, evidence="No function has a name here.")),
    attack("weak", "an error waved away at a file that it does not bind", entry(1, **_NA, evidence="docs/guide.md:3 has no function.")),
    attack("weak", "all waved away", both(*(entry(n, **_NA, evidence=f"{_THREE}: nothing of the kind, {n}.") for n in range(3)))),
    attack("weak", "an excuse for all files", both(says(1, f"src/app.py:{SEVEN} `{QUOTE}`"), entry(1, excused=[{"paths": ["**"], "reason": "They are all fine, believe me."}]))),
    attack("weak", "an excuse without a reason", both(says(1, f"src/app.py:{SEVEN} `{QUOTE}`"), entry(1, excused=[{"paths": ["src/new.py"], "reason": " "}]))),
    attack("weak", "an old line far from the change", says(1, "src/app.py:-1 `import json`")),
    attack("weak", "a pure rename as the place", says(2, "src/constants.py:1 `CONSTANT_0 = 0`")),
]  # fmt: skip

LIES = [
    attack("lie", "a file that is not there", says(2, "tests/test_gone.py:3")),
    attack("lie", "a line past the end", says(2, "tests/test_new.py:99")),
    attack("lie", "a quote that is nowhere", says(1, _TWO.replace("seven", "eight").replace("parse_port", "read_port"))),
    attack("lie", "a quote that is nowhere, for a warning", says(2, "tests/test_new.py:4 `def test_everything():`")),
    attack("lie", "a citation with another quote", says(2, "", citations=[{"path": "tests/test_new.py", "start": 4, "end": 4, "quote": "def test_everything():"}])),
    attack("lie", "an old line that never was", says(2, "src/old.py:-9")),
    attack("lie", "out of the tree", says(2, "../../etc/passwd:1")),
    attack("lie", "a folder", says(2, "tests/:1")),
    attack("lie", "another file's quote", says(1, f"src/new.py:4 `{QUOTE}`")),
    attack("lie", "a quote that is too short", says(1, f"src/app.py:{SEVEN} `get`, src/new.py:4 `def`")),
    attack("lie", "one good place and one made up", says(2, "tests/test_new.py:4 and tests/test_more.py:9")),
]  # fmt: skip

STAMPS = [
    attack("stamp", "the same words everywhere", both(*(says(n, _THREE) for n in range(3)))),
    attack("stamp", "the same lines in other words", both(*(says(n, f"{_THREE} {'so ' * n}is fine") for n in range(3)))),
    attack("stamp", "another slice of the line each time", both(says(0, f"src/app.py:{SEVEN} `return values.get(`, src/new.py:4 `def parse_port`, tests/test_new.py:5 `assert parse_port`"), says(1, f"src/app.py:{SEVEN} `values.get('seven'`, src/new.py:4 `parse_port(text)`, tests/test_new.py:5 `parse_port('db:1')`"), says(2, f"src/app.py:{SEVEN} `get('seven', 7)`, src/new.py:4 `port(text):`, tests/test_new.py:5 `('db:1') == 1`"))),
]  # fmt: skip

SEARCHES = [
    attack("search", "another word", entry(0, search={"pattern": r"compile\(", "paths": []})),
    attack("search", "a word of the rule that is not code", entry(0, search={"pattern": "MUST NOT", "paths": []})),
    attack("search", "no changed file", entry(0, search={"pattern": r"eval\(", "paths": ["lib/**"]})),
    attack("search", "some of the files", entry(0, search={"pattern": r"eval\(", "paths": ["src/app.py"]})),
    attack("search", "only tests", entry(0, search={"pattern": r"eval\(", "paths": ["tests/**"]})),
    attack("search", "something that can never match", entry(0, search={"pattern": r"eval(?!)", "paths": []})),
    attack("search", "another letter case", entry(0, search={"pattern": r"EVAL\(", "paths": []})),
    attack("search", "for a rule of presence, alone", entry(1, evidence="All names tell.", search={"pattern": "badname", "paths": []})),
    attack("search", "finds it and is given all the same", entry(0, search={"pattern": "def ", "paths": []})),
    attack("search", "a letter", entry(0, search={"pattern": "e", "paths": []})),
]  # fmt: skip

VERDICTS = [
    attack("verdict", "feedback that rejects", top(feedback="Reject. It evaluates its input.")),
    attack("verdict", "feedback that would not merge", top(feedback="This must not be merged as it is.")),
    attack("verdict", "feedback that asks for changes", top(feedback="Requesting changes: see above.")),
    attack("verdict", "a verdict before the object", f"Verdict: **rejected**\n\n{_PLAIN}".encode()),
    attack("verdict", "YAML before the object", f"verdict: rejected\nconfidence: 0.9\n---\n{_PLAIN}".encode()),
    attack("verdict", "Python's form with a long note", ("{'note': '" + "n" * 4000 + f"', 'verdict': 'rejected'}}\n{_PLAIN}").encode()),
    attack("verdict", "a wrapper with another verdict", json.dumps({"review": GOOD, "second": {**GOOD, "verdict": "rejected"}}).encode()),
    attack("verdict", "two objects", f"{_PLAIN}\n{_PLAIN}".encode()),
    attack("verdict", "a key twice", _PLAIN.replace('"verdict": "approved"', '"verdict": "rejected", "verdict": "approved"').encode()),
    attack("verdict", "cut off", _PLAIN[:-20].encode()),
    attack("verdict", "an alone word", f"REJECTED\n\n{_PLAIN}".encode()),
    attack("verdict", "a confidence that is none", _PLAIN.replace("0.9", "1e400").encode()),
    attack("verdict", "low confidence", top(confidence=0.3)),
    attack("verdict", "an error violated and approved", says(1, _TWO, status="violated", violations=["step_7 says nothing"])),
    attack("verdict", "a rule is left out", lambda review: review["sop_review"].pop()),
    attack("verdict", "nothing at all", b""),
]  # fmt: skip

HONEST = [
    honest("form", "as asked for", lambda review: None),
    honest("form", "in a wrapper", json.dumps({"review": GOOD}).encode()),
    honest("form", "in a fence, with prose", f"Here it is:\n```json\n{_PLAIN}\n```\nDone.".encode()),
    honest("form", "with its verdict told before", f"Verdict: approved\n\n{_PLAIN}".encode()),
    honest("form", "feedback about inputs that are rejected", top(feedback="Bad ports are rejected. Fine.")),
    honest("form", "line numbers as texts", says(2, "", citations=[{"path": "tests/test_new.py", "start": "4", "end": "5", "quote": "def test_port():"}])),
    honest("models", "names what is not there in ticks", says(0, f"no `eval(` and no bare `except:` in {_THREE}")),
    honest("models", "plus signs in a fenced quote", says(1, f"src/app.py:{SEVEN - 1}-{SEVEN}\n```diff\n+    values = json.loads(data)\n+    {QUOTE}\n```\nsrc/new.py:4 `def parse_port(text):`")),
    honest("models", "the prefix of a diff", says(1, _TWO.replace("src/", "b/src/"))),
    honest("models", "a backslash in the path", says(1, _TWO.replace("src/", "src\\"))),
    honest("models", "an anchor of a forge", says(2, "tests/test_new.py#L4-L5 has it")),
    honest("models", "a line in words", says(2, "tests/test_new.py, line 4: `def test_port():`")),
    honest("models", "lines in words first", says(2, "lines 4 to 5 of tests/test_new.py")),
    honest("models", "in brackets", says(2, "tests/test_new.py (line 5)")),
    honest("models", "the name alone of a changed file", says(2, "test_new.py:4 `def test_port():`")),
    honest("models", "an ellipsis in the quote", says(1, _TWO.replace("values.get('seven', 7)", "values.get(..., 7)"))),
    honest("models", "typographic marks", says(1, _TWO.replace("'seven'", "’seven’"))),
    honest("models", "a line that is off, with a quote that stands once", says(1, _TWO.replace(f":{SEVEN}", f":{SEVEN + 4}"))),
    honest("models", "a file and a quote that stands once", says(2, "In `tests/test_new.py` there is `def test_port():`")),
    honest("models", "a port and an image on the cited lines", says(1, f"{_TWO}; src/new.py:{PORT}-{PORT + 1} reads `db:(` and falls back to db:5432")),
    honest("models", "a range with a long dash", says(2, "tests/test_new.py:4–5")),
    honest("models", "a search with a word boundary at its end", entry(0, search={"pattern": r"\b(eval|exec)\b", "paths": ["**/*.py"]})),
    honest("models", "a search with a place beside it", entry(0, evidence=_THREE)),
    honest("models", "citations for all", says(1, "", citations=[{"path": "src/app.py", "start": SEVEN, "end": SEVEN, "quote": QUOTE}, {"path": "src/new.py", "start": 4, "end": 4, "quote": "def parse_port(text):"}])),
    honest("shape", "every file cited instead of searched", says(0, _THREE)),
    honest("shape", "a file that is excused", both(says(0, _TWO), entry(0, excused=[{"paths": ["tests/**"], "reason": "Tests never evaluate input."}]))),
    honest("shape", "an old line for what was removed", says(1, f"{_TWO}; src/app.py:-{GONE} `def step_3(data):` is gone")),
    honest("shape", "a deleted file by its old lines", says(2, "src/old.py:-1 `def forgotten(value):` needs no test any more")),
    honest("shape", "a deleted file by its own lines", says(2, "src/old.py:1 is gone")),
    honest("shape", "two rules on the same lines", both(says(0, _THREE), says(1, f"{_TWO} tell what they do"))),
    honest("shape", "a warning does not apply", entry(2, **_NA, evidence="No function is new that needs a test.")),
    honest("shape", "an error does not apply, with a place", entry(1, **_NA, evidence=f"src/app.py:{SEVEN} and src/new.py:4 only keep names.")),
    honest("reject", "a violated rule", both(top(**_REJECTED, feedback="Rename step_7."), says(1, f"src/app.py:{SEVEN} `{QUOTE}`", status="violated", violations=["step_7 says nothing"])), "rejected"),
    honest("reject", "for a removal", both(top(**_REJECTED, feedback="Keep step_3."), says(1, f"src/app.py:-{GONE} `def step_3(data):`", status="violated", violations=["It is still called"])), "rejected"),
    honest("reject", "without a violated rule", top(verdict="rejected", rejection_type="architectural", feedback="It belongs elsewhere."), "rejected"),
    honest("reject", "a rejection that says so", top(**_REJECTED, feedback="Rejected: the port is guessed."), "rejected"),
    honest("reject", "a lazy look beside a good reason", both(top(**_REJECTED, feedback="Rename step_7."), says(1, f"src/app.py:{SEVEN} `{QUOTE}`", status="violated", violations=["It says nothing"]), says(2, "tests/test_new.py:5")), "rejected"),
]  # fmt: skip

CASES = [*WEAK, *LIES, *STAMPS, *SEARCHES, *VERDICTS, *HONEST]

BAD = APP.replace(
    "    return values.get('seven', 7)\n", "    return eval(values.get('seven', '7'))\n"
)
BAD_CHANGE: dict[str, str | None] = {**CHANGED, "src/app.py": BAD}
_BAD_LINE = f"src/app.py:{SEVEN} `return eval(values.get('seven', '7'))`"
_BAD_THREE = f"{_BAD_LINE}, src/new.py:4 `def parse_port(text):`, tests/test_new.py:5 `assert parse_port('db:1') == 1`"
_OTHERS = (
    "src/new.py:4 `def parse_port(text):`, tests/test_new.py:5 `assert parse_port('db:1') == 1`"
)
_NAMED = says(1, f"{_BAD_LINE} keeps its name, src/new.py:4 `def parse_port(text):` tells")


def bad(name: str, edit: Edit) -> Case:
    return attack("eval", name, both(_NAMED, edit))


OVER_BAD = [
    bad("cites the other files", says(0, _OTHERS)),
    bad("cites the line and says that it is fine", says(0, f"No eval: {_BAD_THREE}")),
    bad("cites another line of the file", says(0, f"src/app.py:{SEVEN - 1} `values = json.loads(data)`, {_OTHERS}")),
    bad("excuses the file", both(says(0, _OTHERS), entry(0, excused=[{"paths": ["src/app.py"], "reason": "It is old code."}]))),
    bad("searches for it", lambda review: None),
    bad("searches narrowly", entry(0, search={"pattern": r"eval\(x\)", "paths": []})),
    bad("searches at the begin of lines", entry(0, search={"pattern": r"^eval\(", "paths": []})),
    bad("searches in other letters", entry(0, search={"pattern": r"EVAL\(", "paths": []})),
    bad("searches for the other one", entry(0, search={"pattern": r"exec\(", "paths": []})),
    bad("searches elsewhere", entry(0, search={"pattern": r"eval\(", "paths": ["tests/**"]})),
    bad("searches with a back-reference", entry(0, search={"pattern": r"(e)val\1", "paths": []})),
    bad("waves it away", entry(0, **_NA, evidence=f"Nothing is evaluated in {_BAD_THREE}")),
]  # fmt: skip
