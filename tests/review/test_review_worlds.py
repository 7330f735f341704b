"""Over many small changes lies are not approved, and honest reviewers pass.

What still goes wrong is named here, so that a mend which trades one case for another is seen.
"""

import pytest

from hornbook.review.judge import ReviewBrief, judge
from tests.kit.growth import in_proportion
from tests.kit.review_worlds import Tried, World, worlds
from tests.kit.reviews import codes

Outcome = tuple[str, tuple[str, ...]]

# Lies that no reader of text sees: `docs/reviews.md` names their kinds.
APPROVED = {
    "money-time: float money": "a rule about amounts",
    "forbidden-in-words: recursion in embedded c": "a detour",
    "d-i18n": "no word of the rule is in the code",
    "forbidden-in-words: hardcoded endpoint": "no word of the rule is in the code",
    "e-docs": "no word of the rule is in the prose",
    "d-make": "a rule that asks for something",
    "naming: css not BEM": "a rule about names",
    "d-perf": "the line is what half of the rule is about",
    "f-k8s": "the line has a word of the rule",
    "java-order": "the line has a word of the rule",
    "file-header: c file with wrong year holder": "all of the lines are cited",
    "concurrency: blocking in async": "a search for one of two things",
    "e-go-http": "a search for one of two things",
    "e-elixir-other": "a search for one of two things",
    "f-scala": "a search for two of three things",
    "d-proto": "a rule about what was before",
    "d-vague": "a rule of taste",
    "semantic-lie: eval is safe": "the line itself is quoted and called fine",
    "semantic-lie: public bucket is private": "the line itself is quoted and called fine",
    "semantic-lie: migration is additive": "the line itself is quoted and called fine",
    "semantic-lie: long is short": "the line itself is quoted and called fine",
}
STUMBLED = {
    ("honest-large", "search for logging, one quote"),  # the search finds `getLogger(__name__)`
    ("e-verdicts", "empty feedback"),  # the contract asks for some
    ("e-absence", "searches"),  # a rule that asks for something is not proved by a search
    ("d-small-real", "mixed passed and not applicable"),  # the quote is one line above the hunk
    ("f-partial-move", "only decimal"),  # it quotes nothing that is new
    # They speak of a line that keeps the rule, and another one has more words of it.
    ("d-csharp", "await only"),
    ("rust-unwrap", "clean, citations form"),
    ("terraform", "private range"),
    ("e-docker", "image with a colon and number"),
    ("e-long", "prose"),
    ("e-long", "french"),
    ("f-scala", "either and toRight"),
    ("f-warnings-only", "pinned"),
    ("f-tools", "returned, search"),
    # They leave out code that the rule names, a function, or a line like the one they quote.
    ("k8s", "image with a colon only"),
    ("e-comment-evidence", "the field"),
    ("e-comment-evidence", "the field, not HashMap"),
    ("e-long", "lines"),
    ("f-other-evidence", "each its line"),
    ("f-other-evidence", "questions answered"),
    ("f-shell", "set and quoted"),
    # Nothing that they quote or say has a word of the rule.
    ("d-cache", "the bound"),
    ("d-vague", "composition and names"),
    ("d-vague", "a loop line"),
    ("f-django", "short"),
    ("large-rails: three resources", "three resources"),
}


def outcome(tried: Tried) -> Outcome:
    case = tried.world.case(tried.variant)
    found = judge(case, [ReviewBrief("it", frozenset(case.units), tried.printed)])
    return str(found.outcome), tuple(sorted(codes(found)))


def test_reviews_over_small_changes_get_what_they_deserve() -> None:
    tried = [each for world in worlds() for each in world.tried()]
    found = [(each, *outcome(each)) for each in tried]
    approved = {
        each.world.name for each, ruling, _ in found if each.attack and ruling == "approved"
    }
    stumbled = {
        (each.world.name, each.name): (ruling, why)
        for each, ruling, why in found
        if not each.attack and ruling != each.wanted
    }
    assert approved == APPROVED.keys()
    assert stumbled.keys() == STUMBLED, stumbled
    assert sum(each.attack for each in tried) > 340
    assert sum(not each.attack for each in tried) > 280


@pytest.mark.parametrize("piece", ["select x ", "a: b ? c ", "  ", "import x "])
def test_a_line_that_never_ends_takes_its_part_of_the_time(piece: str) -> None:
    rule = "# All\n\nQueries, branches, imports and workflows MUST be short; never nest a loop.\n"
    rules = {"r": {"applies_to": "**", "severity": "error", "text": rule}}

    def ruling(line: str) -> str:
        facts = {
            "rules": rules,
            "base": {"a.js": "x\n"},
            "bad": {"a.js": f"x\nconst size = 1;\n{line};\n"},
        }
        answers = {"answers": {"r": ["passed", "a.js:2 `const size = 1;`"]}}
        return outcome(Tried(World("long", facts), "long", "bad", True, answers))[0]

    assert in_proportion(ruling, piece * (48_000 // len(piece))) in {"approved", "escalate"}
