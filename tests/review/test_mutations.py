"""Mutations of a good review: no defect is ever approved, no other layout changes the outcome."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any  # reviews are JSON

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.review.check import briefs, recompute_case
from hornbook.review.judge import Case, judge
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from tests.kit import review_cases as cases
from tests.kit.git import commit, start
from tests.kit.reviews import AT, Receipt, prepared

Review = dict[str, Any]
Defect = Callable[[Review], object]
IDS = (cases.ERRORS, cases.COVERAGE, cases.PRINTS)
LINES = {path: text.split("\n")[:-1] for path, text in cases.CHANGED.items() if "\0" not in text}
JUDGED: dict[str, tuple[Receipt, Case]] = {}


@pytest.fixture(scope="module", autouse=True)
def _judged(tmp_path_factory: pytest.TempPathFactory) -> None:
    root: Path = tmp_path_factory.mktemp("mutations")
    start(root, {**cases.RULES, "README.md": "# It\n"})
    commit(root, cases.CHANGED)
    (facts,) = prepared(root)
    JUDGED["it"] = facts, recompute_case(root, [facts], today=AT.date())


def verdict(*printed: bytes) -> Judgement:
    facts, case = JUDGED["it"]
    reviews = [PrintedReview(f"review {number}", each) for number, each in enumerate(printed, 1)]
    return judge(case, list(briefs(reviews, [facts], case.rules)))


def dumped(review: Review) -> bytes:
    return json.dumps(review, ensure_ascii=False).encode("utf-8", "surrogatepass")


def entry(place: int, **values: object) -> Defect:
    return lambda review: review["sop_review"][place].update(values)


def top(**values: object) -> Defect:
    return lambda review: review.update(values)


places = st.integers(0, 2)
texts = st.text(max_size=30)
visible = st.text("abcdefgh ", min_size=1).filter(str.strip)
no_type = ("", "null", "none", "n/a")  # Said beside an approval, these are no type.
values = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=2)
unsure = st.floats(max_value=0.7, exclude_max=True) | st.floats(min_value=1, exclude_min=True)
quoted = st.text("abcdefghij(){}", min_size=8).filter(
    lambda quote: not any(quote in "".join(text.split()) for text in cases.CHANGED.values())
)
far = st.tuples(st.sampled_from(sorted(LINES)), st.integers(0, 10**9)).filter(
    lambda place: not 1 <= place[1] <= len(LINES[place[0]])
)
absent = st.from_regex(r"[a-z]{1,8}/[a-z]{1,8}\.go:[1-9]", fullmatch=True).filter(
    lambda place: place.rpartition(":")[0] not in LINES
)
found = st.sampled_from(["fmt", "handlers", r"err", r"return\s", r"id string", "TestLoad|nope"])
impossible = st.sampled_from(["fmt", "Print", "TODO"]).flatmap(
    lambda word: st.sampled_from(
        [
            rf"{word}\b\B",
            rf"{word}x^y",
            rf"(?!){word}",
            rf"{word}$x",
            rf"\A{word}\Z",
            rf"{word}(?=z)a",
        ]
    )
)

DEFECTS: st.SearchStrategy[Defect] = st.one_of(
    places.map(lambda n: lambda review: review["sop_review"].pop(n)),
    places.map(lambda n: lambda review: review["sop_review"].append(review["sop_review"][n])),
    st.builds(lambda n, name: entry(n, sop_id=name), places, texts.filter(lambda t: t not in IDS)),
    st.builds(lambda n, name: entry(n, sop_id=IDS[n] + name), places, st.text(min_size=1)),
    st.builds(lambda n, value: entry(n, status=value), places, values),
    st.builds(lambda text: entry(0, evidence=text), texts),
    st.builds(lambda text: entry(1, evidence=text), texts),
    st.builds(lambda place: entry(1, evidence=f"{place[0]}:{place[1]}"), far),
    st.builds(lambda place: entry(1, evidence=f"see {place}"), absent),
    st.builds(lambda place: entry(1, evidence=f"handlers/user_test.go:3 and {place}"), absent),
    st.builds(lambda quote: entry(0, evidence=f"handlers/user.go:7 `{quote}`"), quoted),
    st.builds(lambda quote: entry(1, evidence=f"handlers/user_test.go:3 `{quote}`"), quoted),
    st.builds(lambda size: entry(0, evidence=f"handlers/user.go:7 `{cases.QUOTE[:size]}`"), st.integers(0, 7)),
    st.builds(lambda n, said: entry(n, violations=[said]), places, visible),
    st.builds(lambda n: entry(n, status="violated", violations=[]), places),
    st.builds(
        lambda said: entry(0, status="violated", violations=[said]), visible
    ),
    st.builds(lambda pattern: entry(2, search={"pattern": pattern, "paths": []}), found | impossible),
    st.builds(lambda paths: entry(2, search={"pattern": "fmt.Print", "paths": paths}), st.just(["docs/**"]) | st.just(["**/user.go"]) | st.just(["nope/**"])),
    st.builds(lambda value: top(verdict=value), values.filter(lambda v: v != "approved")),
    st.builds(lambda value: top(rejection_type=value), values.filter(lambda v: v is not None and str(v).strip().lower() not in no_type)),
    st.builds(lambda value: top(confidence=value), unsure | texts | st.none() | st.booleans()),
    st.builds(lambda value: top(feedback=value), st.text(" \n\t\u200b\ufeff") | st.integers() | st.none()),
    st.builds(lambda value: top(sop_review=value), values),
    st.sampled_from(["verdict", "sop_review", "confidence", "feedback"]).map(lambda key: lambda review: review.pop(key)),
)  # fmt: skip


@given(DEFECTS)
def test_a_review_with_one_defect_is_never_approved(defect: Defect) -> None:
    review = copy.deepcopy(cases.GOOD)
    defect(review)
    outcome = verdict(dumped(review))
    assert outcome.outcome != "approved", review
    assert all(problem.message for problem in outcome.problems)


@given(st.integers(0, len(dumped(cases.GOOD)) - 1))
def test_a_review_that_was_cut_off_is_never_approved(size: int) -> None:
    assert verdict(dumped(cases.GOOD)[:size]).outcome == "invalid"


prose = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=40)
LAYOUTS: st.SearchStrategy[Callable[[Review], bytes]] = st.one_of(
    st.builds(
        lambda indent, ascii_only, ends: (
            lambda review: (
                json.dumps(review, indent=indent, ensure_ascii=ascii_only)
                .replace("\n", ends)
                .encode()
            )
        ),
        st.none() | st.integers(0, 9),
        st.booleans(),
        st.sampled_from(["\n", "\r\n"]),
    ),
    st.builds(
        lambda order: lambda review: dumped({key: review[key] for key in order}),
        st.permutations(sorted(cases.GOOD)),
    ),
    st.builds(
        lambda order: (
            lambda review: dumped(
                {**review, "sop_review": [review["sop_review"][n] for n in order]}
            )
        ),
        st.permutations(range(3)),
    ),
    st.builds(
        lambda before, after: (
            lambda review: f"{before}\n".encode() + dumped(review) + f"\n{after}".encode()
        ),
        prose,
        prose,
    ),
    st.builds(
        lambda fence: lambda review: fence.encode() + b"\n" + dumped(review) + b"\n```\n",
        st.sampled_from(["```", "```json", "Here it is:\n```JSON"]),
    ),
    st.builds(
        lambda encoding: lambda review: json.dumps(review).encode(encoding),
        st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    ),
    st.builds(
        lambda key, value: lambda review: dumped({**review, key: value}),
        texts.filter(lambda key: key not in cases.GOOD),
        values,
    ),
    st.builds(
        lambda blanks: (
            lambda review: dumped(
                json.loads(re.sub(r"Errorf\(", f"Errorf ({blanks}", dumped(review).decode()))
            )
        ),
        st.text(" ", max_size=5),
    ),
)


@given(LAYOUTS)
def test_the_layout_of_a_review_changes_nothing(layout: Callable[[Review], bytes]) -> None:
    outcome = verdict(layout(copy.deepcopy(cases.GOOD)))
    assert outcome.outcome == "approved", outcome.problems
    rejected = json.loads(cases.REJECTED[0].printed)
    assert verdict(layout(rejected)).outcome == "rejected"


@given(
    st.lists(st.sampled_from([*cases.CASES[:25], *cases.REJECTED, *cases.ESCALATED]), max_size=3)
)
def test_more_reviews_never_make_a_change_better(more: list[cases.Case]) -> None:
    ranks = ["approved", "rejected", "escalate", "invalid"]
    alone = [verdict(case.printed).outcome for case in more]
    together = verdict(cases.CASES[0].printed, *(case.printed for case in more)).outcome
    assert ranks.index(together) >= max(map(ranks.index, alone), default=0)
