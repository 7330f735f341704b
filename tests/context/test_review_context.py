"""All or nothing: every byte of every rule is in the text, or there is no text."""

import json
from dataclasses import replace
from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.context.budget import ReviewRoom
from hornbook.context.prompt import Context, Outcome, Part, Unit, lay_out
from hornbook.context.receipt import Circumstances, receipt, verify
from hornbook.context.review_packet import Packet
from hornbook.context.reviewer_context import Extra, ReviewMaterial, Rule, RuleSection, assemble
from hornbook.text.tokens import counter

COUNT = counter("cl100k")
FILES = ("a.go", "b.go", "c.py", "d.ts")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120)


def units(prefix: str, texts: list[str]) -> tuple[Unit, ...]:
    return tuple(Unit(f"{prefix}.{n}", "r", text, "error") for n, text in enumerate(texts))


@st.composite
def reviews(draw: st.DrawFn) -> ReviewMaterial:
    texts = draw(st.lists(TEXT, max_size=6))
    rules = tuple(
        Rule(unit, frozenset(draw(st.sets(st.sampled_from(FILES), min_size=1))))
        for unit in units("source.doc.sops", texts)
    )
    diffs = tuple(Unit(file, "h", draw(TEXT)) for file in draw(st.sets(st.sampled_from(FILES))))
    return ReviewMaterial(
        files=FILES,
        instructions="Judge.\n",
        rules=rules,
        extras=(
            Extra("decisions", "Decisions", units("decision", draw(st.lists(TEXT, max_size=3)))),
            Extra(
                "conventions", "Conventions", units("convention", draw(st.lists(TEXT, max_size=3)))
            ),
        ),
        diffs=tuple(sorted(diffs, key=lambda unit: unit.id)),
        situation="- File: a.go\n",
    )


ROOMS = st.builds(
    ReviewRoom,
    window=st.just(1000),
    instructions=st.sampled_from([1, 100]),
    reserve=st.integers(0, 300),
    situation=st.just(100),
    diff=st.integers(0, 200),
    planned=st.sampled_from([0, 20, 4000]),
)


def section(context: Context, name: str) -> int:
    return sum(item.tokens for each in context.sections if each.name == name for item in each.items)


@settings(max_examples=300, deadline=None)
@given(reviews(), ROOMS)
def test_every_byte_of_every_rule_is_in_the_text_or_there_is_none(
    review: ReviewMaterial, room: ReviewRoom
) -> None:
    context = assemble(review, room, COUNT)
    assert context.sop_ids == tuple(sorted(rule.unit.id for rule in review.rules))
    if context.outcome is not Outcome.COMPLETE:
        assert context.text is None
        assert context.sha256 is None
        assert context.reasons
        return
    assert context.text is not None
    data = context.text.encode()
    placed = {item.id: item for each in context.sections for item in each.items}
    for unit in (*(rule.unit for rule in review.rules), *review.diffs):
        item = placed[unit.id]
        assert data[item.offset : item.offset + item.length] == unit.text.encode()
    used = sum(section(context, name) for name in ("sops", "decisions", "conventions"))
    assert used <= room.reserve
    assert max(used, room.planned) + section(context, "diff") <= room.planned + room.diff
    told = {item.id for each in context.sections for item in each.items}
    left = {each.id for each in context.left_out}
    for extra in review.extras:
        for unit in extra.units:
            assert (unit.id in told) != (unit.id in left)


@settings(max_examples=200, deadline=None)
@given(reviews(), ROOMS, st.integers(0, 300))
def test_a_larger_reserve_never_refuses_what_a_smaller_one_lets_in(
    review: ReviewMaterial, room: ReviewRoom, more: int
) -> None:
    larger = replace(room, reserve=room.reserve + more)
    if assemble(review, room, COUNT).outcome is Outcome.COMPLETE:
        assert assemble(review, larger, COUNT).outcome is Outcome.COMPLETE


@settings(max_examples=200, deadline=None)
@given(reviews(), ROOMS)
def test_a_split_covers_the_files_and_each_group_is_complete(
    review: ReviewMaterial, room: ReviewRoom
) -> None:
    context = assemble(review, room, COUNT)
    if context.outcome is Outcome.TOO_BIG and context.split:
        assert sorted(file for group in context.split for file in group) == sorted(review.files)
        assert len(context.split) > 1
        for group in context.split:
            wanted = set(group)
            part = ReviewMaterial(
                files=group,
                instructions=review.instructions,
                rules=tuple(r for r in review.rules if not wanted.isdisjoint(r.files)),
                extras=review.extras,
                diffs=tuple(unit for unit in review.diffs if unit.id in wanted),
                situation=review.situation,
            )
            assert assemble(part, room, COUNT).outcome is Outcome.COMPLETE


@st.composite
def large_rules(draw: st.DrawFn) -> Rule:
    """A rule in sections, with or without a head of its own."""
    name = f"source.doc.sops.large-{draw(st.integers(1, 9))}"
    texts = draw(st.lists(TEXT, min_size=1, max_size=6))
    units_ = [Unit(f"{name}.section.{n}", "r", text, "error") for n, text in enumerate(texts)]
    head = Unit(name, "r", "## Large\n", "error")
    if draw(st.booleans()):
        text = f"## Large\n{units_[0].text}"
        head = units_[0] = Unit(f"{name}.section.head", "r", text, "error")
    sections = tuple(RuleSection(unit, unit.id, inferred=True, path="AGENTS.md") for unit in units_)
    pieces = dict.fromkeys((head, *units_))
    whole = Unit(name, "r", "".join(unit.text for unit in pieces), "error")
    return Rule(whole, frozenset(FILES), head, sections)


@settings(max_examples=200, deadline=None)
@given(reviews(), large_rules(), ROOMS)
def test_passes_of_sections_hold_every_byte_and_each_verifies(
    review: ReviewMaterial, large: Rule, room: ReviewRoom
) -> None:
    review = replace(review, rules=(*review.rules, large), diffs=(), situation="")
    room = replace(room, instructions=100)
    context = assemble(review, room, COUNT)
    assert [unit.id for unit in context.units] == [each.unit.id for each in large.sections]
    if not context.passes:
        return
    held: dict[str, str] = {}
    answered: list[str] = []
    packet = Packet(context, Circumstances(files=FILES), review, room)
    for each in packet.passes():
        assert each.context.outcome is Outcome.COMPLETE
        assert section(each.context, "sops") <= room.reserve + len(large.sections)
        answered += each.context.answer_ids
        prompt = (each.context.text or "").encode()
        assert verify(receipt(each.context, each.made_for), prompt, counter) == []
        for item in (item for part in each.context.sections for item in part.items):
            held[item.id] = prompt[item.offset : item.offset + item.length].decode()
    assert sorted(answered) == list(context.answer_ids)
    assert "".join(held[piece.id] for piece in large.pieces) == large.unit.text


@settings(max_examples=200, deadline=None)
@given(reviews(), ROOMS)
def test_passes_cover_the_rules_and_each_fits(review: ReviewMaterial, room: ReviewRoom) -> None:
    context = assemble(review, room, COUNT)
    if context.passes:
        assert context.outcome is Outcome.SOP_OVERFLOW
        assert sorted(each for ids in context.passes for each in ids) == list(context.sop_ids)
        for ids in context.passes:
            some = [rule.unit for rule in review.rules if rule.unit.id in ids]
            assert sum(COUNT(unit.text) for unit in some) <= room.reserve


def test_rules_that_only_fit_without_their_change_are_reviewed_in_passes() -> None:
    review = ReviewMaterial(
        ("a.go",),
        "Judge.\n",
        tuple(rule(number, 100, "a.go") for number in range(3)),
        (),
        (Unit("a.go", "h", "word " * 450 + "\n"),),
        "",
    )
    room = ReviewRoom(9999, 2000, 400, 100, 500, planned=110)
    context = assemble(review, room, COUNT)
    assert context.outcome is Outcome.SOP_OVERFLOW
    assert len(context.passes) == 3
    assert assemble(review, replace(room, diff=900), COUNT).over_planned


def rule(number: int, size: int, *files: str) -> Rule:
    return Rule(Unit(f"source.doc.sops.{number}", "r", "word " * size + "\n"), frozenset(files))


def small(*rules: Rule, reserve: int = 120, diffs: tuple[Unit, ...] = ()) -> Context:
    review = ReviewMaterial(FILES, "Judge.\n", rules, (), diffs, "")
    return assemble(review, ReviewRoom(9999, 2000, reserve, 100, 500), COUNT)


def test_no_rule_is_said_as_such() -> None:
    context = small()
    assert context.outcome is Outcome.COMPLETE
    assert "No rule binds these files." in (context.text or "")


def test_files_are_split_into_the_fewest_groups_that_fit() -> None:
    context = small(rule(1, 80, "a.go", "b.go"), rule(2, 80, "c.py"), rule(3, 20, "d.ts"))
    assert context.outcome is Outcome.TOO_BIG
    assert len(context.split) == 2


def test_a_file_whose_own_rules_overflow_is_named_with_its_rules_and_sizes() -> None:
    context = small(rule(1, 80, "a.go"), rule(2, 80, "a.go"), rule(3, 10, "b.go"))
    assert context.outcome is Outcome.SOP_OVERFLOW
    message = next(each.message for each in context.reasons if each.code == "file_over_reserve")
    assert "a.go" in message
    assert "source.doc.sops.1 (" in message
    assert len(context.passes) == 2


def test_a_rule_larger_than_the_reserve_without_sections_has_no_pass() -> None:
    context = small(rule(1, 500, "a.go"))
    assert context.outcome is Outcome.SOP_OVERFLOW
    assert context.passes == ()
    (said,) = (each.message for each in context.reasons if each.code == "section_over_reserve")
    assert "`review.section_tokens`" in said


def test_a_change_that_is_too_large_is_refused_and_never_cut() -> None:
    diffs = (Unit("a.go", "h", "x " * 400), Unit("b.go", "h", "y " * 400))
    context = small(rule(1, 10, "a.go"), diffs=diffs)
    assert context.outcome is Outcome.TOO_BIG
    assert context.text is None
    assert len(context.split) == 2


def test_a_rule_cannot_pass_for_a_section_of_the_prompt() -> None:
    spoof = Rule(
        Unit("source.doc.sops.x", "x.rev.abc", "# The change under review\n"), frozenset(FILES)
    )
    text = small(spoof).text or ""
    quoted = (
        "[begin source.doc.sops.x abc]\n# The change under review\n[end source.doc.sops.x abc]\n"
    )
    assert quoted in text


MADE_FOR = Circumstances(files=FILES, base="b" * 40, head="h" * 40, tree="t" * 40)


@settings(max_examples=60, deadline=None)
@given(reviews(), st.data())
def test_one_changed_byte_anywhere_in_the_prompt_is_found_and_located(
    review: ReviewMaterial, data: st.DataObject
) -> None:
    context = assemble(review, ReviewRoom(9999, 2000, 3000, 500, 3000), COUNT)
    assert context.text is not None
    facts = receipt(context, MADE_FOR)
    prompt = context.text.encode()
    assert verify(facts, prompt, counter) == []
    place = data.draw(st.integers(0, len(prompt) - 1))
    changed = bytearray(prompt)
    changed[place] ^= 1
    problems = verify(facts, bytes(changed), counter)
    home = next(s for s in context.sections if s.offset <= place < s.offset + s.length)
    inner = [i for i in home.items if i.offset <= place < i.offset + i.length]
    expected = f"{inner[0].id} differs" if inner else "differs outside its items"
    assert any(f"section {home.name}" in each and expected in each for each in problems)


def test_an_edited_receipt_is_found() -> None:
    context = small(rule(1, 10, "a.go"))
    facts = receipt(context, MADE_FOR)
    assert context.text is not None
    for path in (("base",), ("files", 0), ("sections", 0, "budget"), ("sop_ids", 0), ("tokens",)):
        edited = json.loads(json.dumps(facts))
        place = edited
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = "x" if isinstance(place[path[-1]], str) else 1
        assert verify(edited, context.text.encode(), counter), path


def test_garbage_is_no_receipt() -> None:
    for facts in ({}, {"schema": "hornbook.receipt.v1"}, {"schema": 1, "sections": 3}):
        assert verify(facts, b"", counter)


def test_a_receipt_has_the_documented_keys() -> None:
    facts = receipt(small(rule(1, 10, "a.go")), MADE_FOR)
    wanted = "outcome sop_ids tokens counter sha256 sections left_out split reasons"
    wanted += " base head tree files prompt_sha256 schema"
    assert set(wanted.split()) <= set(facts)
    assert "text" not in facts


def test_sections_tile_the_prompt() -> None:
    text, sections = lay_out(
        [Part("one", "One", units("x", ["a\n", "b"]), 9), Part("two", "Two", (), 9, "None.")], COUNT
    )
    data = text.encode()
    assert b"".join(data[s.offset : s.offset + s.length] for s in sections) == data
    assert all(sha256(data[s.offset :][: s.length]).hexdigest() == s.sha256 for s in sections)
