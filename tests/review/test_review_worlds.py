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
    "amounts": "a rule about amounts",
    "hide-getattr": "a detour",
    "e-elixir-other": "a detour",
    "d-i18n": "no word of the rule is in the code",
    "e-docs": "no word of the rule is in the prose",
    "d-make": "a rule that asks for something",
    "f-presence": "a rule that asks for something",
    "d-perf": "the line is what half of the rule is about",
    "e-renamed": "the line is what half of the rule is about",
    "e-sql": "the line is what half of the rule is about",
    "e-c": "the line is what half of the rule is about",
    "e-long": "the line has a word of the rule",
    "f-k8s": "the line has a word of the rule",
    "f-shell": "the line is what half of the rule is about",
    "e-generated": "a search for one of two things",
    "f-scala": "a search for two of three things",
    "d-proto": "a rule about what was before",
    "d-vague": "a rule of taste",
}
STUMBLED = {
    ("honest-large", "search for logging, one quote"),  # the search finds `getLogger(__name__)`
    ("e-verdicts", "empty feedback"),  # the contract asks for some
    ("e-absence", "searches"),  # a rule that asks for something is not proved by a search
    # They speak of a line that keeps the rule, and another one has more words of it.
    ("d-csharp", "await only"),
    ("rust-unwrap", "clean, citations form"),
    ("docker", "from and user"),
    ("terraform", "private range"),
    ("e-docker", "image with a colon and number"),
    ("e-long", "prose"),
    ("e-long", "french"),
    ("f-scala", "either and toRight"),
    ("f-warnings-only", "pinned"),
    # Their search is for one sentence of the rule, and lines are about another.
    ("honest-go", "search only for a named prohibition"),
    ("f-node", "search for console"),
    ("f-tools", "returned, search"),
    # Nothing that they quote or say has a word of the rule.
    ("d-cache", "the bound"),
    ("d-vague", "composition and names"),
    ("d-vague", "a loop line"),
    ("f-django", "short"),
    ("d-small-real", "mixed passed and not applicable"),  # the quote is one line above the hunk
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
    assert sum(each.attack for each in tried) > 250
    assert sum(not each.attack for each in tried) > 230


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
