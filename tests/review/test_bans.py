"""What a rule orders not to write is seen in a change, however rule and code are worded."""

import pytest

from hornbook.review.evidence.ban_forms import CodeLines, excesses, offence
from hornbook.review.evidence.bans import bans
from hornbook.review.evidence.file_kinds import is_code
from hornbook.review.evidence.marked_text import forbidden_pieces
from hornbook.review.evidence.presence import missing, naming
from tests.kit import ban_cases as cases
from tests.kit import phrase_cases as phrases
from tests.kit.growth import in_proportion
from tests.kit.review_worlds import World


def offences(case: cases.Case) -> set[bool | None]:
    path, rule, code = case
    lines = CodeLines(path, code.split("\n"))
    numbers = range(1, len(lines.raw) + 1)
    return {offence(ban, lines, number) for ban in bans(rule) for number in numbers}


def asked(case: cases.Case) -> bool:
    """Whether somebody has to speak of the code, because the rule names it or asks for other."""
    path, rule, code = case
    facts = {"rules": {}, "base": {}, "bad": {path: code}}
    reviewed = World("one", facts).case("bad").reviewed
    added = reviewed.added(path)
    return any(naming(rule, added, reviewed)) or bool(missing(rule, added, (), reviewed))


def named(case: cases.Case) -> str:
    path, rule, code = case
    return f"{rule} in {path}: {code.strip()}"[:120]


@pytest.mark.parametrize("case", cases.BROKEN, ids=named)
def test_an_order_is_broken(case: cases.Case) -> None:
    assert True in offences(case), bans(case[1])


@pytest.mark.parametrize("case", cases.PERHAPS, ids=named)
def test_an_order_with_a_condition_is_perhaps_broken(case: cases.Case) -> None:
    assert True not in offences(case), bans(case[1])
    assert False in offences(case) or asked(case), bans(case[1])


@pytest.mark.parametrize("case", cases.KEPT, ids=named)
def test_what_only_looks_alike_breaks_no_order(case: cases.Case) -> None:
    assert offences(case) <= {None}, bans(case[1])


@pytest.mark.parametrize("case", phrases.ASKED, ids=named)
def test_what_breaks_a_phrase_has_to_be_spoken_of(case: cases.Case) -> None:
    assert offences(case) & {True, False} or asked(case), bans(case[1])


@pytest.mark.parametrize("case", phrases.LEFT, ids=named)
def test_what_keeps_a_phrase_needs_no_word(case: cases.Case) -> None:
    assert offences(case) <= {None}, bans(case[1])


@pytest.mark.parametrize("case", [*cases.UNSEEN, *phrases.UNREAD], ids=named)
def test_some_phrases_are_not_understood(case: cases.Case) -> None:
    assert offences(case) <= {None}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "a = b // eval(t)"),
        ("a.py", "x = f'{eval(t)}'"),
        ("a.js", "const x = 1\n  * eval(t);"),
        ("a.js", "/* harmless */ eval(t)"),
        ("a.sql", "SELECT 1 -- 2\n; call eval(t)"),
    ],
)
def test_a_mark_of_another_language_hides_no_code(path: str, text: str) -> None:
    assert True in offences((path, "Never call `eval`.", text))


def test_a_long_sentence_is_read_in_time() -> None:
    assert bans("never use it with any " * 5000 + "`x`") == ()


_VERBS = " ".join(f"`v{number}`" for number in range(200))


@pytest.mark.parametrize(
    "rule",
    [
        f"Do not be confused: the allowed verbs are {_VERBS} and nothing else.\n\n" * 8,
        "Never use `a`" + " " * 100_000 + "here, and not there.",
        "Never use `f(" + "1" * 100_000 + "xy`.",
        "Never use `f(" + "1 " * 5_000 + "xy`.",
        "Never use `f(" + " " * 100_000 + "xy`.",
        "Never use " + "a." * 50_000 + " and `b`.",
    ],
    ids=["list", "blanks", "digits", "arguments", "blanks in a call", "dots"],
)
def test_the_time_for_a_rule_grows_with_its_length(rule: str) -> None:
    def read(text: str) -> None:
        lines = CodeLines("a.py", ["f(1)"])
        for ban in bans.__wrapped__(text):
            offence(ban, lines, 1)
        forbidden_pieces(text)

    in_proportion(read, rule)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "/* " * 20_000),
        ("a.sql", "/* " * 20_000),
        ("a.html", "<!-- " * 20_000),
        ("a.py", '""" ' * 20_001),
        ("a.py", 'x = "' + "\\'" * 20_000),
        ("a.py", "x = '" * 20_000),
        ("a.py", "a = " + " " * 50_000),
        ("a.py", "import a," + " ," * 20_000),
    ],
    ids=["slash", "sql", "markup", "triple", "escapes", "quotes", "blanks", "imports"],
)
def test_the_time_for_code_grows_with_its_length(path: str, text: str) -> None:
    ordered = bans("Never use `a = b`. Never import `b`.")

    def look(code: str) -> set[bool | None]:
        lines = CodeLines(path, [code])
        return {offence(ban, lines, 1) for ban in ordered}

    assert in_proportion(look, text) == {None}


@pytest.mark.parametrize(
    "text", ["x = 1 /* eval(t)", "/* a */ x /* eval(t)", "y /* '*/ z /* eval(t)", "/*/ eval(t)"]
)
def test_a_remark_that_is_never_closed_hides_no_code(text: str) -> None:
    assert True in offences(("a.js", "Never call `eval`.", text))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("package.json", '"a": 1' + " " * 20_000 + "?"),
        ("package.json", '"a": "' + "1 " * 20_000 + "?"),
        ("pyproject.toml", "a = { version =" + " " * 20_000 + "?"),
        ("requirements.txt", "a" + " " * 20_000 + "?"),
        ("requirements.txt", "a[" + " " * 20_000 + "?"),
        ("package.json", " " * 20_000 + "?"),
    ],
)
def test_the_time_for_a_manifest_grows_with_its_length(path: str, line: str) -> None:
    def look(text: str) -> bool:
        return is_code(path, [f"{text}?"])

    assert in_proportion(look, line)


@pytest.mark.parametrize(
    ("rule", "code", "found"),
    [
        ("A function MUST NOT have more than two parameters.", "def f(a, b: D[x, y], c=(1, 2)):\n    g()\n", ["a function with 3 parameters"]),
        ("A function MUST NOT have more than two parameters.", "def f(self, a,\n      b):\n    g(1, 2, 3)\n", []),
        ("A function takes at most 3 arguments.", "func (m *M) F(a, b string, c int, d bool) error {\n\treturn x\n}\n", ["a function with 4 arguments"]),
        ("A method MUST NOT be longer than 2 lines.", "def f():\n    a()\n\n    b()\n    c()\nd()\n", ["a function with 3 lines"]),
        ("A method MUST NOT be longer than 3 lines.", "def f():\n    a()\n\n    b()\n    c()\nd()\n", []),
        ("A module has at most 4 lines.", "a()\nb()\nc()\nd()\ne()\n", ["a file of 5 lines"]),
        ("Never nest deeper than two levels.", "function f() {\n  for (a of b) {\n    if (a) {\n      while (a) {\n        go();\n      }\n    }\n  }\n}\n", ["a function with 3 levels"]),
        ("Never nest deeper than three levels.", "function f() {\n  for (a of b) {\n    if (a) {\n      while (a) {\n        go();\n      }\n    }\n  }\n}\n", []),
        ("No container may have more than 2 gigabytes.", "def f(a, b, c):\n    g()\n", []),
    ],
)  # fmt: skip
def test_what_a_rule_counts_is_counted(rule: str, code: str, found: list[str]) -> None:
    lines = CodeLines("a.py" if "def" in code else "a.go", code.rstrip("\n").split("\n"))
    numbers = range(1, len(lines.raw) + 1)
    assert [said for said, _, sure in excesses(rule, lines, numbers) if sure] == found


@pytest.mark.parametrize("condition", ["unless it is generated", "except in tests"])
def test_a_limit_with_a_condition_is_judged_by_who_speaks_of_it(condition: str) -> None:
    lines = CodeLines("a.py", ["def f(a, b):", "    g()"])
    rule = f"A function has at most one parameter, {condition}."
    assert [sure for _, _, sure in excesses(rule, lines, [1])] == [False]


@pytest.mark.parametrize(
    ("rule", "line", "sure"),
    [
        ("Never call `eval`.", "run = getattr(builtins, 'ev' + 'al')", True),
        ("Never set `innerHTML`.", 'const slot = "inner" + "HTML";', True),
        ("Never call `eval`.", "name = 'ev' + 'ent'", None),
        ("`MD5` is forbidden.", 'import digest "crypto/md5"', False),
        ("`SHA-1` is forbidden.", "h = hashlib.new('sha1')", False),
        ("`MD5` is forbidden.", 'import digest "crypto/md5x"', None),
    ],
)
def test_a_name_in_pieces_or_in_an_import_is_seen(rule: str, line: str, sure: bool | None) -> None:
    (ban,) = bans(rule)
    assert offence(ban, CodeLines("a.py", [line]), 1) is sure
