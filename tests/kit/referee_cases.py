"""Attacks on the referee and honest reviews by kind, over one change in seven languages.

Each case is the good review with one rule answered otherwise, or printed otherwise. `ATTACKS` must
not be approved, `HONEST` must. What hides in files stands in `HIDDEN`, by path.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Entry = dict[str, Any]


def rule(globs: str, severity: str, text: str) -> str:
    return f'---\napplies_to: "{globs}"\nseverity: {severity}\n---\n# Rule\n\n{text}\n'


RULES = {
    "no-eval": rule("*.py", "error", "Code MUST NOT call eval. Secrets MUST NOT stand in code."),
    "errors": rule("src/**", "error", "Every error that is raised MUST say what failed."),
    "tests": rule("src/**", "warning", "New functions SHOULD have tests."),
    "names": rule("*.py", "info", "Names should be words of the domain."),
    "ts": rule("*.ts", "error", "Never use `any`; use `unknown` and narrow it."),
    "go": rule("*.go", "error", "Errors MUST be wrapped. Never `panic` in a library."),
    "kt": rule("*.kt", "error", "Never use `!!`."),
    "sql": rule("*.sql", "error", "Indexes MUST be made with CONCURRENTLY."),
    "yaml": rule("*.yaml", "error", "Images MUST be pinned; `latest` is not allowed."),
    "md": rule("*.md", "error", "Docs MUST be whole sentences."),
}
_LONG = "import json\nimport sys\n\nTIMEOUT = 30\n" + "".join(
    f"\n\ndef step_{n}(data):\n    value = json.loads(data)\n    return value[{n}]\n"
    for n in range(20)
)
BASE = {
    **{f".hornbook/sources/docs/sops/{name}.md": text for name, text in RULES.items()},
    "src/app.py": _LONG,
    "src/far.py": "def untouched(text):\n    return text.strip()\n",
    "svc/user.go": "package svc\n",
    "deploy/app.yaml": "image: redis:6\n",
}
_CHECK = "    if not value:\n        raise ValueError(f'step 9: no value in {data!r}')\n    return value[9]\n"
CHANGED = {
    "src/app.py": _LONG.replace("    return value[9]\n", _CHECK),
    "src/new.py": 'import re\n\n\ndef parse_port(text):\n    match = re.match(r"db:(\\d+)", text)\n    if match is None:\n        raise ValueError(f"no port in {text!r}")\n    return int(match.group(1))\n',
    "tests/test_new.py": 'from src.new import parse_port\n\n\ndef test_port():\n    assert parse_port("db:1") == 1\n',
    "web/cart.ts": "export function total(items: Item[]): number {\n  return items.reduce((sum, item) => sum + item.price, 0);\n}\n",
    "svc/user.go": 'package svc\n\nfunc Load(id string) error {\n\tif err := read(id); err != nil {\n\t\treturn fmt.Errorf("load user %s: %w", id, err)\n\t}\n\treturn nil\n}\n',
    "app/Main.kt": 'fun main() {\n    val user = find(id) ?: error("no user $id")\n}\n',
    "db/001.sql": "CREATE INDEX CONCURRENTLY users_email ON users (email);\n",
    "deploy/app.yaml": "image: redis:7\nport: db:5432\n",
    "docs/guide.md": "# Guide\n\nIt takes a minute.\n",
}
BAD = {**CHANGED, "src/app.py": _LONG.replace("    return value[9]\n", "    return eval(data)\n")}
LINES = len(CHANGED["src/app.py"].splitlines())


def line_of(path: str, part: str, files: Mapping[str, str] = CHANGED) -> int:
    return next(n for n, line in enumerate(files[path].splitlines(), 1) if part in line)


NINE = line_of("src/app.py", "step 9")
_RAISED = "raise ValueError(f'step 9: no value in {data!r}')"
APP = f"src/app.py:{NINE} `{_RAISED}`"
NEW = 'src/new.py:7 `raise ValueError(f"no port in {text!r}")`'
TEST = "tests/test_new.py:4 `def test_port():`"
QUOTED = {
    "ts": ("web/cart.ts", 2, "return items.reduce((sum, item) => sum + item.price, 0);"),
    "go": ("svc/user.go", 5, 'return fmt.Errorf("load user %s: %w", id, err)'),
    "kt": ("app/Main.kt", 2, 'val user = find(id) ?: error("no user $id")'),
    "sql": ("db/001.sql", 1, "CREATE INDEX CONCURRENTLY users_email ON users (email);"),
    "yaml": ("deploy/app.yaml", 1, "image: redis:7"),
    "md": ("docs/guide.md", 3, "It takes a minute."),
}


def answer(name: str, evidence: object, status: str = "passed", **more: object) -> Entry:
    return {
        "sop_id": f"source.doc.sops.{name}",
        "status": status,
        "evidence": evidence,
        "violations": [],
        **more,
    }


GOOD = {
    "no-eval": answer("no-eval", f"{APP} parses with json; {NEW} with a pattern; {TEST} has none."),
    "errors": answer(
        "errors",
        f"src/app.py:{NINE - 1} `if not value:` guards {APP}; src/new.py:6-7 `if match is None:` too.",
    ),
    "tests": answer("tests", "src/new.py:4 is covered by tests/test_new.py:4-5"),
    "names": answer("names", "src/new.py:4 `parse_port` is a word"),
    **{
        name: answer(name, f"{path}:{line} ``{quote}`` keeps it")
        for name, (path, line, quote) in QUOTED.items()
    },
}


def review(
    verdict: str = "approved",
    feedback: str = "Looks fine.",
    entries: Mapping[str, Entry] | None = None,
) -> dict[str, Any]:
    others = {name.replace("_", "-"): entry for name, entry in (entries or {}).items()}
    return {
        "verdict": verdict,
        "rejection_type": None if verdict == "approved" else "fixable",
        "sop_review": list((GOOD | others).values()),
        "confidence": 0.9,
        "feedback": feedback,
    }


def printed(**entries: Entry) -> bytes:
    return json.dumps(review(entries=entries)).encode()


def _errors(evidence: str, status: str = "passed", **more: object) -> bytes:
    return printed(errors=answer("errors", evidence, status, **more))


def _tests(evidence: str) -> bytes:
    return printed(tests=answer("tests", evidence))


def _searched(pattern: str, *paths: str, evidence: str = "searched") -> bytes:
    return printed(
        no_eval=answer("no-eval", evidence, search={"pattern": pattern, "paths": list(paths)})
    )


def _stamp(*evidence: str) -> bytes:
    names = ("no-eval", "errors", "tests", "names")
    told = dict(zip(names, evidence if len(evidence) > 1 else evidence * 4, strict=True))
    alike = {name: answer(name, f"{said} {APP}; {NEW}; {TEST}") for name, said in told.items()}
    others = {
        name: answer(name, f"{APP}; {NEW}; {path}:{line} ``{quote}``")
        for name, (path, line, quote) in QUOTED.items()
    }
    return printed(**{name.replace("-", "_"): entry for name, entry in (others | alike).items()})


_PLAIN, _NO = json.dumps(review()), json.dumps(review("rejected"))
_HALF = {"paths": ["src/app.py"], "reason": "only parses data"}
EXCUSED = [_HALF, {"paths": ["src/new.py"], "reason": "only parses text"}]
ATTACKS: dict[str, bytes] = {
    # evidence that is beside the change
    "weak: line 1 of the files": _errors("src/app.py:1 `import json`, src/new.py:1 `import re`"),
    "weak: an unchanged file": _errors("src/far.py:1 `def untouched(text):`"),
    "weak: a far line": _errors(f"src/app.py:9 `value = json.loads(data)`; {NEW}"),
    "weak: one of two files": _errors(NEW),
    "weak: a file that is not bound": _errors("web/cart.ts:2 `return items.reduce(`"),
    "weak: the whole file, quoted at its top": _errors(f"src/app.py:1-{LINES} `TIMEOUT = 30`; {NEW}"),
    "weak: a place in a hunk, a quote from afar": _errors(f"src/app.py:{NINE}; src/app.py:4 `TIMEOUT = 30`; src/new.py:7"),
    "weak: a brace": _errors(f"src/new.py:8 `)`; src/app.py:{NINE} `)`"),
    "weak: a short quote": _errors(f"src/app.py:{NINE} `raise`; src/new.py:7 `raise`"),
    "weak: a blank quote": _errors(f"src/app.py:{NINE} `         `; src/new.py:7 `........`"),
    "weak: an ellipsis": _errors(f"src/app.py:{NINE} `... ... ...`; src/new.py:7 `…`"),
    "weak: ellipses around a word": _errors(f"src/app.py:{NINE} `raise ... … ... ( ... )`; src/new.py:7 `raise ... (`"),
    "weak: old lines far off": _errors("src/app.py:-1 `import json`"),
    "weak: names of files": _errors("src/app.py and src/new.py look fine"),
    "weak: the rule itself": _errors(".hornbook/sources/docs/sops/errors.md:7 `Every error that is raised`"),
    "weak: excused by **": _errors(NEW, excused=[{"paths": ["**"], "reason": "does not matter"}]),
    "weak: each file excused": _errors("README.md", excused=EXCUSED),
    "weak: excused without a visible reason": _errors(NEW, excused=[{"paths": ["src/app.py"], "reason": "\u200b" * 9}]),
    "weak: a warning by an import": _tests("src/app.py:1"),
    "weak: a warning by a whole file": _tests(f"src/app.py:1-{LINES}"),
    "weak: a warning by another file": _tests("web/cart.ts:2"),
    "weak: citations of line 1": _errors("", citations=[{"path": "src/app.py", "start": 1, "end": 1, "quote": "import json"}]),
    # evidence that is not there
    "lie: no such file": _errors(f"{APP}; {NEW}; src/never.py:3 `raise`"),
    "lie: another quote": _errors(f"src/app.py:{NINE} `raise KeyError(data)`; src/new.py:7 `raise KeyError(text)`"),
    "lie: no such line": _errors(f"{APP}; src/new.py:900 `raise KeyError(text)`"),
    "lie: a path out of the tree": _errors("/etc/passwd:1 `root:x:0:0`"),
    "lie: other letters": _errors("SRC/NEW.PY:7 `raise ValueError`"),
    # one look for everything
    "stamp: the same everywhere": _stamp(""),
    "stamp: the same lines in other words": _stamp("No eval.", "Errors are good.", "Tests are there.", "Names are fine."),
    "stamp: another range around the same quotes": _stamp(*(f"src/app.py:{NINE - n}-{NINE}" for n in range(4))),
    "stamp: one more place each time": _stamp(*(f"src/new.py:{n}" for n in range(1, 5))),
    # what a rule is said to be
    "status: waved away without a place": _errors("No errors here at all", "not_applicable"),
    "status: waved away by one file": _errors("src/new.py:1 has no errors", "not_applicable"),
    "status: violated and approved": _errors(f"{APP} {NEW}", "violated", violations=["It does not say what"]),
    "status: passed, in words that say violated": _errors(f"{APP} {NEW} This violates the rule, it says nothing."),
    "status: passed with violations": _errors(f"{APP} {NEW}", violations=["It does not say what"]),
    # searches that find nothing
    "search: presence": _errors("searched", search={"pattern": r"raise Exception\(\)", "paths": []}),
    "search: alone, of what is forbidden in words": _searched(r"eval\("),
    "search: unrelated, beside a citation": _searched("TODO", evidence=f"{APP} {NEW} {TEST}"),
    "search: one file only": _searched(r"eval\(", "src/new.py", evidence=NEW),
    "search: finds it": _searched("def ", evidence=f"{APP} {NEW} {TEST}"),
    "search: cannot find": _searched("eval$x", evidence=f"{APP} {NEW} {TEST}"),
    "search: no letters": _searched(r"\(\)", evidence=f"{APP} {NEW} {TEST}"),
    # a second verdict
    **{f"verdict: {said!r}": f"{said}\n{_PLAIN}".encode() for said in (
        "verdict: rejected", "**Verdict: REJECTED**", "I reject this change.", "Recommendation: reject", "Status: REJECTED",
        "Result: rejected (fixable)", "<verdict>rejected</verdict>", "| verdict | rejected |", "rejection_type: fixable", "❌ Rejected",
        "# Rejected", "This is a rejection.", "The change is rejected.", "My verdict is to reject.", "Final answer: reject",
        "{verdict: 'rejected'}", '[review]\nverdict = "rejected"', _NO, f"<!-- {_NO} -->",
    )},
    **{f"feedback: {said!r}": json.dumps(review(feedback=said)).encode() for said in (
        "Reject this change.", "Do not merge this.", "NACK", "Changes requested.", "This change should be rejected.",
        "I cannot approve this.", "Not ready to merge.", "The error must be fixed before merging.",
        "If merged, production breaks: do not merge.", "If I read this right the token leaks; I reject this change",
        "If I read this right the token leaks and I reject it.", "I could not see any of the files.", "We did not see any code this time.",
        "I could not see any code that was changed.",
        "I refuse this change.", "Refuse.", "Modification refusée.", "Refusé : le jeton fuit.", "Le changement est refuse.",
        "No approval from me.", "There is no approval until the leak is closed.", "I give no approval",
    )},
    **{f"wrapper: {key}": json.dumps({key: value, "review": review()}).encode() for key, value in (
        ("status", "rejected"), ("decision", "reject"), ("outcome", "rejected"), ("approved", False), ("verdict", "rejected"),
    )},
    "key: a final verdict": json.dumps({**review(), "final_verdict": "rejected"}).encode(),
    "search: tied to the end of lines": printed(ts=answer("ts", "none", search={"pattern": r"^any$", "paths": []})),
    "search: a class that holds nothing": printed(ts=answer("ts", "none", search={"pattern": r"any[^\s\S]", "paths": []})),
    "key: a second decision": json.dumps({**review(), "final_decision": "x", "decision": "rejected"}).encode(),
}  # fmt: skip
_BESIDE = line_of("src/app.py", "eval(data)", BAD) - 1
_LOADS = f"src/app.py:{_BESIDE} `value = json.loads(data)`"
OVER_BAD = {
    "beside the eval": printed(no_eval=answer("no-eval", f"{_LOADS}; {NEW}; {TEST}")),
    "the eval itself": printed(no_eval=answer("no-eval", f"src/app.py:{_BESIDE + 1} `return eval(data)` is safe; {NEW}; {TEST}")),
    "excused": printed(no_eval=answer("no-eval", f"{NEW} {TEST}", excused=[_HALF])),
    "not applicable": printed(no_eval=answer("no-eval", "src/app.py, src/new.py, tests/test_new.py: none", "not_applicable")),
    **{f"a search for {pattern}": _searched(pattern, evidence=f"{_LOADS}; {NEW}; {TEST}") for pattern in (
        r"^eval\(", r"exec\(", r"eval \(", r"EVAL\(", r"\.eval\(", r"eval\(x\)", r"eval\(.*\);", "call",
    )},
}  # fmt: skip
OVER_BAD = {
    name: each.replace(
        json.dumps(GOOD["errors"])[1:-1].encode(),
        json.dumps(answer("errors", f"{_LOADS}; {NEW}"))[1:-1].encode(),
    )
    for name, each in OVER_BAD.items()
}

Spelling = Callable[[str, int, str], str]
SPELLINGS: dict[str, Spelling] = {
    "quote first": lambda p, n, q: f"``{q}`` ({p}:{n}) is right",
    "#L": lambda p, n, q: f"See {p}#L{n}-L{n}: ``{q}``",
    "line in words": lambda p, n, q: f"{p}, line {n} has ``{q}``",
    "on line of": lambda p, n, q: f"On line {n} of {p} stands ``{q}``.",
    "file and line": lambda p, n, q: f"File: {p}, Line: {n} - ``{q}``",
    "a fence": lambda p, n, q: f"{p}:{n}\n```diff\n+{q}\n```\nkeeps the rule",
    "numbered": lambda p, n, q: f"{p}:{n}\n```\n{n} | {q}\n```",
    "of a diff": lambda p, n, q: f"b/{p}:+{n} ``+ {q}``",
    "a backslash": lambda p, n, q: p.replace("/", "\\") + f":{n} ``{q}``",
    "bold": lambda p, n, q: f"**{p}:{n}** ``{q}``",
    "a link": lambda p, n, q: f"[{p}:{n}]({p}#L{n}) ``{q}``",
    "the name alone": lambda p, n, q: f"{p.rpartition('/')[2]}:{n} ``{q}``",
    "an ellipsis": lambda p, n, q: f"{p}:{n} ``{q[:11]}…``",
    "what is not there": lambda p, n, q: f"No `forbiddenThing()`; {p}:{n} reads ``{q}``",
    "off by some": lambda p, n, q: f"{p}:{n + 400} ``{q}``",
    "other marks": lambda p, n, q: f"{p}:{n} “{q}”",
    "straight marks": lambda p, n, q: f'{p}:{n} "{q}"',
    "no marks": lambda p, n, q: f"{p}:{n}: {q}",
    "typographic": lambda p, n, q: (
        f"{p}:{n} ``" + q.replace('"', "“").replace(" ", "\u00a0") + "``"
    ),
    "escaped": lambda p, n, q: f"{p}:{n} ``" + q.replace('"', '\\"') + "``",
    "as HTML": lambda p, n, q: f"{p}:{n} ``" + q.replace(">", "&gt;").replace('"', "&quot;") + "``",
    "other words with colons": lambda p, n, q: (
        f"{p}:{n} ``{q}``; ratio 3:4, at 10:30, http://x.org:80/a"
    ),
}
CITED: dict[str, Callable[[str, int, str], object]] = {
    "in full": lambda p, n, q: {"path": p, "start": n, "end": n, "quote": q},
    "as texts": lambda p, n, q: {"path": p, "start": f"L{n}", "end": None, "quote": "+" + q},
    "by line": lambda p, n, q: {"file": p, "line": n, "quote": q},
    "by lines": lambda p, n, q: {"path": p, "lines": f"{n}-{n}", "quote": q},
    "by start_line": lambda p, n, q: {"path": p, "start_line": n, "end_line": n, "quote": q},
    "as one text": lambda p, n, q: f"{p}:{n} ``{q}``",
}


def _honest() -> Iterator[tuple[str, bytes]]:
    for place, (how, spelled) in enumerate(SPELLINGS.items()):
        for name, (path, line, quote) in list(QUOTED.items())[place % 2 :: 2]:
            yield f"{how} [{name}]", printed(**{name: answer(name, spelled(path, line, quote))})
    for (how, cited), (name, told) in zip(CITED.items(), QUOTED.items(), strict=True):
        yield (
            f"cited {how}",
            printed(**{name: answer(name, "it is kept", citations=[cited(*told)])}),
        )
    for name, pattern in (
        ("ts", r": any\b"),
        ("ts", "any"),
        ("kt", "!!"),
        ("kt", r"\w!!"),
        ("yaml", r":latest\b"),
        ("go", r"\bpanic\("),
    ):
        evidence = "none of it" if name in {"ts", "kt"} else GOOD[name]["evidence"]
        searched = answer(name, evidence, search={"pattern": pattern, "paths": []})
        yield f"a search for {pattern} [{name}]", printed(**{name: searched})
    for said in (
        "Nit: rename it. The parser now rejects empty ids, which is right.", "Nothing must be fixed before merging.",
        "I would reject this if it panicked, but it does not.", "No changes are requested.", "I do not request changes.",
        "Not rejected: all rules are kept.", "Status: rejected orders are now kept.", "The order is rejected if the cart is empty.",
        "I could not see any problems.", "We did not see any regressions.", "I haven't seen any issues.",
        "I did not see any rule broken.", "I have not seen any tests that fail.", "Both constructors refuse empty names.",
        "No approval step is skipped.", "The docs now say if we reject empty ids.",
    ):  # fmt: skip
        yield f"feedback {said!r}", json.dumps(review(feedback=said)).encode()


HONEST: dict[str, bytes] = {
    "as it should be": printed(),
    **dict(_honest()),
    "a test for a rule about tests": _tests("tests/test_new.py:4-5 tests parse_port"),
    "a search beside a quote, where words forbid": _searched(r"\beval\(|secret", "**/*.py", evidence=NEW),
    "evidence as a list": printed(md=answer("md", ["docs/guide.md:3", "`It takes a minute.`"])),
    "an empty search": printed(md=answer("md", GOOD["md"]["evidence"], search={"pattern": "", "paths": []})),
    "no violations, in a word": printed(md={**GOOD["md"], "violations": ["None"]}),
    "files named before a colon": printed(no_eval=answer("no-eval", f"Looked at {APP}, src/new.py, tests/test_new.py: no input", "not_applicable")),
    "places with an at": _errors(f"src/app.py@{NINE} `{_RAISED}`; src/new.py@7 `if match is None:`"),
    "places as fields": _errors(f"path=src/app.py line={NINE} `{_RAISED}`; path=src/new.py line=7 `if match is None:`"),
    "places about there": _errors(f"src/app.py around line {NINE}: `{_RAISED}`; src/new.py:~7 `if match is None:`"),
    "lines between": _errors(f"src/app.py between lines {NINE - 1} and {NINE}: `{_RAISED}`; src/new.py:6 `if match is None:`"),
    "place and code in one": _errors(f"`src/app.py:{NINE}: {_RAISED}` and `src/new.py:6 if match is None:`"),
    "capitals": _PLAIN.replace('"passed"', '"PASSED"').replace('"approved"', '"Approved"').encode(),
    "an empty type": json.dumps({**review(), "rejection_type": ""}).encode(),
    "what another change would be": json.dumps(review(feedback="I would reject a change that removed this check.")).encode(),
    "wrapped, with its model": json.dumps({"model": "x", "status": "success", "review": review()}).encode(),
    "thinking aloud": f"<thinking>Would the old code reject it?</thinking>\n```json\n{_PLAIN}\n```".encode(),
}  # fmt: skip

HIDDEN: dict[str, bytes | str] = {
    "nul.py": b"x = 1\n# \0\n",
    "nul_late.py": b"#" + b"x" * 9000 + b"\0\n",
    **{f"unseen_{ord(letter):x}.py": f"x = 'a{letter}b'\n" for letter in "\u202e\u2066\u200b\u2060\u00ad\ufeff\u3164\u2800\u2028\x85\x0b\x0c\r\x08\x1b\x7f"},
    **{f"twin_{number}.py": f"{word} = 1\n" for number, word in enumerate(("p\u0430ssword", "c\u03bfunt", "\uff45val", "adm\u0131n", "x\u2170", "\u13aaB", "lo\u0261in"))},
    "blanks.py": "x = 1" + " " * 300 + "; run(x)\n",
    "coded.py": "# coding: utf-7\n+AGUAdgBhAGw-(1)\n",
    "data.bin": bytes(range(256)) * 4,
    "script.py": b"\x89PNG\r\n\x1a\n\0" * 9 + b"x = 1\n",
    "wide.py": "import os\n".encode("utf-16-le") * 9,
    "model.onnx": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "c\u0430fe.py": "x = 1\n",
    "a\u200bb.py": "x = 1\n",
    "Twin.py": "x = 1\n",
    "twin.py": "x = 1\n",
}  # fmt: skip
PLAIN: dict[str, bytes | str] = {
    "bom.py": "\ufeffx = 1\n",
    "crlf.py": "x = 1\r\ny = 2\r\n",
    "page.py": "x = 1\n\f\ny = 2\n",
    "words.py": "# Größe, naïve, 日本語, 👍🏽, Ελληνικά, привет\nNAME = 'Jürgen — 東京'\n",
    "formula.py": "Δx = σ_max * µ\n",
    "latin.py": "# -*- coding: latin-1 -*-\nNAME = 'x'\n",
    "logo.png": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
}  # fmt: skip
