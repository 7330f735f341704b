"""What a rule asks for is shown, what it names is spoken of, and one line speaks for itself alone."""

import pytest

from hornbook.review.evidence.presence import demands, missing, naming, weakened
from hornbook.review.evidence.proof import blocks, kind_of_line, unseen_twin
from tests.kit.growth import in_proportion
from tests.kit.review_worlds import World


def world(base: dict[str, str], head: dict[str, str]) -> World:
    return World("one", {"rules": {}, "base": base, "bad": head})


@pytest.mark.parametrize(
    ("rule", "about", "codes", "files"),
    [
        ("Each handler MUST call `audit.record()`.", (), ("audit.record()",), ()),
        ("`DELETE` statements MUST have a `WHERE`.", ("DELETE",), ("WHERE",), ()),
        ("A new route MUST be described in `openapi.yaml`.", (), (), ("openapi.yaml",)),
        ("Levels MUST be `warning` or higher.", (), (), ()),
        ("Errors MUST be wrapped, as in `fmt.Errorf(x)`.", (), (), ()),
        ("Every commit MUST pass: run `make check` first.", (), (), ()),
        ("Las claves deben guardarse con `bcrypt`.", (), ("bcrypt",), ()),
    ],
)
def test_what_a_sentence_asks_for_stands_behind_its_asking_word(
    rule: str, about: tuple[str, ...], codes: tuple[str, ...], files: tuple[str, ...]
) -> None:
    (found,) = demands(rule)
    assert (found.about, found.codes, found.files) == (about, codes, files)


@pytest.mark.parametrize("rule", ["Never use `eval`.", "`x` MUST NOT be used.", "See `a.py`."])
def test_what_forbids_or_tells_asks_for_nothing(rule: str) -> None:
    assert demands(rule) == ()


@pytest.mark.parametrize(
    ("rule", "files", "lost"),
    [
        (
            "Handlers MUST call `audit.record()`.",
            {"a.py": "def h():\n    go()\n"},
            "`audit.record()`",
        ),
        ("Handlers MUST call `audit.record()`.", {"a.py": "def h():\n    audit.record(1)\n"}, ""),
        ("Handlers count in `requests_total`, always.", {"a.go": "requestsTotal.Inc()\n"}, ""),
        ("`requests` MUST be given a `timeout`.", {"a.py": "x = 1\n"}, ""),
        ("`requests` MUST be given a `timeout`.", {"a.py": "requests.get(u)\n"}, "`timeout`"),
        ("Changes MUST have an entry in `CHANGES.md`.", {"a.py": "x = 1\n"}, "`CHANGES.md`"),
        ("Changes MUST have an entry in `CHANGES.md`.", {"CHANGES.md": "x\n"}, ""),
        ("New code MUST have a test.", {"a.py": "x = 1\n"}, "a test"),
        ("New code MUST have a test.", {"a.py": "x = 1\n", "tests/test_a.py": "x\n"}, ""),
        ("Scripts MUST hold `set -e` and `trap`.", {"a.sh": "set -e\n"}, "`trap`"),
        ("Scripts MUST hold `set -e` or `trap`.", {"a.sh": "set -e\n"}, ""),
    ],
)
def test_what_is_asked_for_has_to_be_there(rule: str, files: dict[str, str], lost: str) -> None:
    reviewed = world({}, files).case("bad").reviewed
    added = {line for path in reviewed.files for line in reviewed.added(path)}
    assert missing(rule, added, set(), reviewed) == lost


@pytest.mark.parametrize(
    ("rule", "code", "named"),
    [
        ("È vietato usare `eval`.", "eval(t)", ["eval"]),
        ("`Time.now` ignores the zone; use `Time.current`.", "Time.now", ["Time.now"]),
        ("`Time.now` ignores the zone; use `Time.current`.", "Time.current", []),
        ("Handlers MUST call `check()`.", "check()", []),
        ("Nothing else is `unsafe`.", "# unsafe\nx = 'an unsafe one'", []),
    ],
)
def test_code_that_a_rule_names_has_to_be_spoken_of(rule: str, code: str, named: list[str]) -> None:
    reviewed = world({}, {"a.py": code}).case("bad").reviewed
    assert [each for each, _ in naming(rule, reviewed.added("a.py"), reviewed)] == named


KEEPS = "Handlers MUST check the caller."
CHECK = "check_caller(request)\n"


@pytest.mark.parametrize(
    ("rule", "before", "after", "gone"),
    [
        (KEEPS, {"a.py": CHECK}, {"a.py": "go()\n"}, True),
        (KEEPS, {"a.py": CHECK}, {"a.py": "check_caller(request, 1)\n"}, False),
        (KEEPS, {"a.py": CHECK}, {"a.py": "go()\n", "b.py": CHECK}, False),
        (KEEPS, {"a.py": "x = 1\n"}, {"a.py": "y = 2\n"}, False),
        (
            "Fields are deprecated before they are removed.",
            {"a.py": "x = 1\n"},
            {"a.py": "\n"},
            True,
        ),
    ],
)
def test_a_line_that_a_rule_speaks_of_is_gone_if_nothing_follows_it(
    rule: str, before: dict[str, str], after: dict[str, str], *, gone: bool
) -> None:
    reviewed = world(before, after).case("bad").reviewed
    assert (weakened(rule, ["a.py"], reviewed) is not None) is gone


def test_blocks_are_told_by_blanks_and_indentation_in_every_language() -> None:
    code = (
        "import a\n\n\ndef f():\n    x()\n\n    y()\n\n\nint g()\n{\n    z();\n}\ndef h\n  w\nend\n"
    )
    reviewed = world({}, {"a.txt": code}).case("bad").reviewed
    assert list(blocks(reviewed, "a.txt")) == [[1], [4, 5, 7], [10, 11, 12, 13], [14, 15, 16]]


@pytest.mark.parametrize(
    ("line", "twin"),
    [
        ("def is_owner(user):", "def allowed(user):"),
        ('    "zod": "3.22.4",', '    "dayjs": "^1.11",'),
        ("    private final Map<String> a = b;", "    private List c = d;"),
        ("      - uses: a/checkout@1", "      - uses: b/setup@2"),
        ('  <input id="a">', '  <input name="b">'),
        ("  string id = 1;", "  string mail = 2;"),
    ],
)
def test_lines_that_look_alike_are_of_one_kind(line: str, twin: str) -> None:
    assert kind_of_line(line)
    assert kind_of_line(line) == kind_of_line(twin)


@pytest.mark.parametrize(
    "line", ["return x", "x = 1", "if a:", "}", "", "const a = b;", "await f()"]
)
def test_what_every_function_has_is_of_no_kind(line: str) -> None:
    assert kind_of_line(line) == ""


def test_one_good_line_does_not_speak_for_its_likes() -> None:
    code = "def is_a():\n    return 1\n\n\ndef b():\n    return 2\n"
    reviewed = world({}, {"a.py": code}).case("bad").reviewed
    added = reviewed.added("a.py")
    assert unseen_twin([("a.py", 1)], added, {("a.py", 1)}, reviewed) == "a.py:5"
    assert unseen_twin([("a.py", 1)], added, {("a.py", 1), ("a.py", 5)}, reviewed) == ""


@pytest.mark.parametrize("piece", ["must `x` ", "every file or ", "public static ", "a.b:", "- "])
def test_the_time_for_a_sentence_and_a_line_grows_with_its_length(piece: str) -> None:
    def read(text: str) -> None:
        demands.__wrapped__(text)
        kind_of_line(text)

    in_proportion(read, piece * (40_000 // len(piece)))
