"""Canaries: a planted violation that a reviewer must find, and what a review of one is worth."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.context.receipt import receipt
from hornbook.errors import UsageError
from hornbook.review.canary import Canary
from hornbook.review.canary_files import keep
from hornbook.review.canary_files import planted as look_up
from hornbook.review.canary_packet import CanaryPacket
from hornbook.review.canary_plant import plants
from hornbook.review.evidence.marked_text import forbidden_pieces
from hornbook.review.printed_review import PrintedReview
from hornbook.rules.code.parsing import first_error, grammar_of, parse
from hornbook.settings.places import Places
from tests.kit import review_cases as cases
from tests.kit.commands import expect
from tests.kit.git import commit, git, start
from tests.kit.reviews import Receipt, check, codes

GO = "package it\n\nfunc Load(id string) error {\n\treturn read(id)\n}\n"
PYTHON = 'def load(name):\n    """Load it."""\n    found = read(name)\n    return found\n'
SCRIPT = "export const load = (name) => {\n  const found = read(name);\n  return found;\n};\n"
RUST = "fn load(name: &str) -> u8 {\n    let found = read(name);\n    found\n}\n"
JAVA = "class It {\n    int load() {\n        return 1;\n    }\n}\n"

PLANTED = [
    ("a.py", PYTHON, "Code MUST NOT call `eval`.", '    eval("value")'),
    ("a.py", PYTHON, "No `except:` without a type.", "    except:"),
    ("a.py", PYTHON, "Never use `print()`.", '    print("value")'),
    ("a.py", PYTHON, "Do not leave `TODO` behind.", "    # TODO: later"),
    ("a.py", PYTHON, "Avoid `global`.", "    global held"),
    ("a.py", PYTHON, "Bad:\n\n```python\n# bad\nos.system(command)  # never\n```", "    os.system(command)"),
    ("a.go", GO, "Handlers MUST NOT call `fmt.Println`.", '\tfmt.Println("value")'),
    ("a.js", SCRIPT, "Do not use `var`.", "  var held = 1;"),
    ("a.ts", SCRIPT.replace("(name)", "(name: string)", 1), "Never use `any`.", "  const held: any = null;"),
    ("a.rs", RUST, "Never call `panic!`.", '    panic!("value");'),
    ("A.java", JAVA, "Code must not call `System.exit`.", '        System.exit("value");'),
]  # fmt: skip
NOT_PLANTED = [
    ("a.py", PYTHON, "Errors MUST say what failed."),
    ("a.py", PYTHON, "Never raise `ValueError`."),
    ("a.py", PYTHON, "Do not use `config.yaml`."),
    ("a.py", PYTHON, "Bad:\n\n```go\nfmt.Println(1)\n```"),
    ("a.py", "LIMIT = 1\n", "Code MUST NOT call `eval`."),
    ("a.py", "def broken(:\n    pass\n", "Code MUST NOT call `eval`."),
    ("a.py", PYTHON.replace("read(", "eval("), "Code MUST NOT call `eval`."),
    ("a.sh", "load() {\n  read name\n}\n", "Scripts MUST NOT call `eval`."),
]


@pytest.mark.parametrize(("path", "text", "rule", "line"), PLANTED)
def test_a_plant_is_a_statement_of_the_files_language(
    path: str, text: str, rule: str, line: str
) -> None:
    for seed in range(4):
        (plant,) = plants(forbidden_pieces(rule), path, text.encode(), (), seed)
        lines = plant.data.decode().splitlines()
        assert line in plant.text.splitlines()
        assert "bad" not in plant.text
        assert "never" not in plant.text
        added = plant.text.splitlines()
        assert lines[plant.line - 1 : plant.line - 1 + len(added)] == added
        del lines[plant.line - 1 : plant.line - 1 + len(added)]
        assert lines == text.splitlines()
        grammar = grammar_of(path)
        tree = parse(grammar, plant.data) if grammar is not None else None
        assert tree is not None
        assert first_error(tree) is None


@pytest.mark.parametrize(("path", "text", "rule"), NOT_PLANTED)
def test_what_cannot_be_violated_there_is_not_planted(path: str, text: str, rule: str) -> None:
    assert not list(plants(forbidden_pieces(rule), path, text.encode(), (), 0))


def test_a_plant_stands_in_a_function_that_the_change_touches() -> None:
    text = PYTHON * 20
    for seed in range(8):
        (plant,) = plants(
            forbidden_pieces("Never use `print()`."), "a.py", text.encode(), [(41, 44)], seed
        )
        assert 41 <= plant.line <= 44


def test_lines_end_as_those_around_them() -> None:
    text = PYTHON.replace("\n", "\r\n").encode()
    (plant,) = plants(forbidden_pieces("Never use `print()`."), "a.py", text, (), 0)
    assert b'    print("value")\r\n' in plant.data
    assert plant.data.count(b"\n") == plant.data.count(b"\r\n")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same commits each time, so that the same is planted."""
    folder = tmp_path_factory.mktemp("repo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_AUTHOR_DATE", "2026-03-01T12:00:00Z")
        patch.setenv("GIT_COMMITTER_DATE", "2026-03-01T12:00:00Z")
        start(folder, {**cases.RULES, "README.md": "# It\n"})
        commit(folder, cases.CHANGED)
    return folder


@pytest.fixture(scope="module")
def made(root: Path) -> CanaryPacket:
    with Workspace.open(root) as work:
        return work.review_canary("main..work")


@pytest.fixture(scope="module")
def planted(made: CanaryPacket) -> Canary:
    assert made.canary is not None
    return made.canary


@pytest.fixture(scope="module")
def facts(made: CanaryPacket) -> Receipt:
    assert made.packet is not None
    return receipt(made.packet.context, made.packet.made_for)


def test_only_the_rule_that_shows_what_it_forbids_is_eligible(
    made: CanaryPacket, planted: Canary
) -> None:
    assert (made.units, made.eligible) == (3, 1)
    assert planted.unit == cases.PRINTS
    assert planted.path in {"handlers/user.go", "handlers/user_test.go"}
    assert planted.text.strip() in {'fmt.Print("value")', 'fmt.Println("value")'}


def test_the_packet_is_of_ordinary_shape(
    root: Path, made: CanaryPacket, planted: Canary, facts: Receipt
) -> None:
    assert made.packet is not None
    with Workspace.open(root) as work:
        ordinary = work.review_packet(diff="main..work")
    prompt, other = made.packet.context.text or "", ordinary.context.text or ""
    assert facts.keys() == receipt(ordinary.context, ordinary.made_for).keys()
    assert f"+{planted.text}" in prompt
    assert planted.id not in prompt
    assert "canary" not in prompt.lower()
    # A line more may bring one more head of a hunk.
    lines, usual = (
        sum(not line.startswith("@@") for line in each.splitlines()) for each in (prompt, other)
    )
    assert abs(lines - usual) <= 1


def test_the_commit_is_like_head_and_nothing_else_moves(root: Path, facts: Receipt) -> None:
    head = str(facts["head"])
    form = "--format=%P%n%an%n%ae%n%aI%n%cI%n%B"
    assert git(root, "log", "-1", form, head) == git(root, "log", "-1", form, "work")
    assert git(root, "diff", "--stat", "--name-only", "work", head).split() != []
    assert git(root, "branch", "-a", "--contains", head) == ""
    assert git(root, "status", "--porcelain", "--", ":!.hornbook/.gitignore") == ""


def test_what_was_planted_is_kept_for_its_owner_alone(root: Path, planted: Canary) -> None:
    (path,) = (root / ".hornbook/canaries").glob("*.json")
    assert json.loads(path.read_bytes()).keys() == {
        "id",
        "unit",
        "path",
        "line",
        "text",
        "receipt_sha256",
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert git(root, "check-ignore", str(path)).strip() == str(path)
    assert planted.receipt_sha256.startswith(path.stem)


def test_the_same_change_gives_the_same_canary(root: Path, planted: Canary) -> None:
    with Workspace.open(root) as work:
        assert work.review_canary("main..work").canary == planted
        named = work.review_canary("main..work", rule=cases.PRINTS).canary
    assert named is not None
    assert named.unit == cases.PRINTS


def test_a_rule_that_does_not_bind_is_refused_by_name(root: Path) -> None:
    with (
        Workspace.open(root) as work,
        pytest.raises(UsageError, match=r"name one of those that do \(.*no-prints"),
    ):
        work.review_canary("main..work", rule="source.doc.sops.other")


def _review(planted: Canary, place: str, **top: object) -> bytes:
    review: dict[str, Any] = copy.deepcopy(cases.GOOD)
    review |= {"verdict": "rejected", "rejection_type": "fixable", "feedback": "It prints.", **top}
    (entry,) = [each for each in review["sop_review"] if each["sop_id"] == planted.unit]
    del entry["search"]
    entry |= {"status": "violated", "evidence": place, "violations": ["It prints"]}
    for each in review["sop_review"]:
        if each["sop_id"] == cases.ERRORS:
            each["evidence"] = f"handlers/user.go wraps the cause: `{cases.QUOTE}`"
    return json.dumps(review).encode()


def _at(planted: Canary, first: int, last: int | None = None) -> str:
    lines = f"{first}" + (f"-{last}" if last is not None else "")
    return f"{planted.path}:{lines} `{planted.text.strip()}`"


def test_a_review_that_cites_the_plant_found_it(
    root: Path, planted: Canary, facts: Receipt
) -> None:
    for place in (_at(planted, planted.line), _at(planted, planted.line - 1, planted.line + 1)):
        found = check(root, [facts], _review(planted, place))
        assert found.canary is not None
        assert (found.canary.id, found.canary.found) == (planted.id, True)
        assert str(found.outcome) == "rejected", found.problems
        assert any("approves nothing" in said for said in found.explanation)


def test_a_review_that_misses_the_plant_goes_to_a_person(
    root: Path, planted: Canary, facts: Receipt
) -> None:
    passing = _review(planted, "", verdict="approved", rejection_type=None)
    review = json.loads(passing)
    (entry,) = [each for each in review["sop_review"] if each["sop_id"] == planted.unit]
    entry |= {
        "status": "passed",
        "violations": [],
        "evidence": "handlers/user.go:5 `func Load(id string) error {`, "
        "handlers/user_test.go:3 `func TestLoad(t *testing.T) {`",
    }
    found = check(root, [facts], json.dumps(review).encode())
    assert found.canary is not None
    assert not found.canary.found
    assert str(found.outcome) == "escalate", found.problems
    assert "missed_canary" in codes(found)


def test_half_of_the_file_around_it_is_no_citation(
    root: Path, planted: Canary, facts: Receipt
) -> None:
    whole = _at(planted, 1, len(cases.CHANGED[planted.path].splitlines()))
    if planted.path.endswith("_test.go"):
        pytest.skip("the file is as short as the lines around the plant")
    assert "missed_canary" in codes(check(root, [facts], _review(planted, whole)))


def test_of_several_reviews_each_must_find_it(root: Path, planted: Canary, facts: Receipt) -> None:
    seen = _review(planted, _at(planted, planted.line))
    found = check(root, [facts], seen, b"{}")
    assert found.canary is not None
    assert not found.canary.found
    (said,) = [each.message for each in found.problems if each.code == "missed_canary"]
    assert said.startswith("review 2: ")


def test_a_canary_approves_no_change_whatever_is_said_to_be_meant(
    root: Path, planted: Canary, facts: Receipt
) -> None:
    with Workspace.open(root) as work:
        seen = [PrintedReview("it", _review(planted, _at(planted, planted.line)))]
        found = work.check_review(seen, [facts], diff="main..work")
        assert found.canary is not None
        assert found.canary.found
        assert str(found.outcome) != "approved"
        ordinary = work.check_review([PrintedReview("it", json.dumps(cases.GOOD).encode())], [])
    assert ordinary.canary is None


def test_an_unreadable_plant_is_an_error_that_names_the_file(
    tmp_path: Path, planted: Canary, facts: Receipt
) -> None:
    places = Places(tmp_path)
    path = keep(places, planted)
    path.write_text("{")
    with pytest.raises(UsageError, match=path.name):
        look_up(places, [facts])


def test_the_command_prints_the_canary_and_writes_the_packet(root: Path, tmp_path: Path) -> None:
    packet = tmp_path / "packet"
    asked = ("review", "canary", "--diff", "main..work", "--json", "--output", str(packet))
    said = json.loads(expect(root, *asked).stdout)
    assert said.keys() == {"canary", "eligible", "packet"}
    assert (said["eligible"], said["packet"]) == (1, str(packet))
    written = {each.name for each in packet.iterdir()}
    assert written == {"prompt.md", "receipt.json", "review.schema.json"}
    nothing = expect(root, *asked, "--rule", cases.ERRORS, code=1)
    assert json.loads(nothing.stdout) == {"canary": None, "eligible": 0, "packet": None}


def test_a_packet_that_cannot_be_whole_says_why(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, ".hornbook/config.yaml": "reserve: 100\n"})
    commit(tmp_path, cases.CHANGED)
    asked = ("review", "canary", "--diff", "main..work", "--json", "--output", "packet")
    refused = expect(tmp_path, *asked, code=1)
    assert json.loads(refused.stdout) == {"canary": None, "eligible": 1, "packet": None}
    assert "the packet cannot be whole" in refused.stderr
    assert not (tmp_path / "packet").exists()
    assert not (tmp_path / ".hornbook/canaries").exists()
