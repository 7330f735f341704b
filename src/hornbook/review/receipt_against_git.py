"""Whether a receipt is that of a change, as git has it.

A receipt says which rules, which diff and which prompt a reviewer was given, each with its hash,
and it comes back from outside: from a file of a CI job, from an agent. So nothing in it is
believed. The rules that bind the change, its patches and the whole prompt are made again from the
commits, and their hashes are compared with those of the receipt; what differs is told and makes the
review invalid. Here the two are only compared: `review.check` makes the second one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hornbook.commits.change import Change
from hornbook.context.prompt import Context, Outcome, Unit, patch_shown
from hornbook.context.receipt import asked_in, own_hash
from hornbook.review.judgement import ReviewProblem

Receipt = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a packet for the change must hold: every rule as it stood at the base, every patch.

    `pieces` are the rules, the large ones in the pieces that they are answered by, each by its id;
    `asked` are those that a review has to answer.
    """

    change: Change
    pieces: Mapping[str, Unit]
    asked: frozenset[str]


def differences(receipt: Receipt, expected: Expected) -> Iterator[str]:
    """What the receipt says and git does not."""
    if receipt.get("receipt_sha256") != own_hash(receipt):
        yield "The receipt was edited: its own hash is another one. Prepare the review again."
    if receipt.get("outcome") != Outcome.COMPLETE:
        yield f"The receipt's context is {receipt.get('outcome')!r}, not complete."
    change = expected.change
    for key, actual in (
        ("tree", change.tree),
        ("merge_base", change.merge_base),
        ("files", list(change.paths)),
    ):
        if receipt.get(key) != actual:
            yield f"The receipt's {key} is not the change's: prepare the review again."
    yield from _rules_differ(receipt, expected)
    yield from _patches_differ(receipt, change)


def _rules_differ(receipt: Receipt, expected: Expected) -> Iterator[str]:
    held, asked = items_of(receipt, "sops"), set(asked_in(receipt))
    for name in sorted(held.keys() | asked):
        if name not in expected.pieces:
            yield f"The receipt holds {name}, which does not bind this change."
        elif not _is_unit(held.get(name), expected.pieces[name]):
            yield f"The receipt does not hold {name} as it stood at the base."
    answered = held.keys() & asked
    missing = sorted((expected.asked - answered) | (expected.pieces.keys() - held.keys()))
    if missing and not receipt.get("whole_set"):
        yield f"The receipt lacks {', '.join(missing)}, which bind this change."


def _patches_differ(receipt: Receipt, change: Change) -> Iterator[str]:
    """Whether the reviewer was shown the whole change, byte for byte."""
    shown = {path: str(item.get("sha256")) for path, item in items_of(receipt, "diff").items()}
    actual = {
        each.path: sha256(patch_shown(change.patches[each.path]).encode()).hexdigest()
        for each in change.files
    }
    wrong = sorted(
        path for path in shown.keys() | actual.keys() if shown.get(path) != actual.get(path)
    )
    if wrong:
        yield f"The receipt does not show the change of {', '.join(wrong)} as git has it."


def _is_unit(item: Mapping[str, object] | None, unit: Unit) -> bool:
    return item is not None and (
        tuple(map(item.get, ("revision", "severity", "path", "included_by")))
        == (unit.revision, unit.severity, unit.path, unit.included_by)
        and item.get("sha256") == sha256(unit.text.encode()).hexdigest()
    )


def items_of(receipt: Receipt, name: str) -> dict[str, Mapping[str, object]]:
    """What the receipt lists in a section, by id."""
    return {
        str(item.get("id")): item
        for section_name, section in _sections(receipt)
        if section_name == name
        for item in _dicts(section.get("items"))
    }


def _sections(receipt: Receipt) -> list[tuple[str, Mapping[str, object]]]:
    return [(str(each.get("name")), each) for each in _dicts(receipt.get("sections"))]


def _dicts(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


PROMPT_AGAIN = "prepare the review again, with this version of Hornbook."


def prompt_warnings(receipts: Sequence[Receipt]) -> Iterator[ReviewProblem]:
    """What reviewers were told that git cannot confirm."""
    told = [
        each for each in (receipt.get("told") for receipt in receipts) if isinstance(each, dict)
    ]
    named = sorted({key for each in told for key, value in each.items() if value} - {"refute"})
    if named:
        said = (
            f"The reviewer was also told of {', '.join(named)}, which stand in the receipt and in "
            "no commit: read them there."
        )
        yield ReviewProblem("told_besides", None, said)


def _other_sections(receipt: Receipt, context: Context) -> list[str]:
    theirs = {name: section.get("sha256") for name, section in _sections(receipt)}
    ours = {section.name: section.sha256 for section in context.sections}
    changed = [name for name in ours if theirs.get(name) != ours[name]]
    return changed + sorted(theirs.keys() - ours.keys())


def prompt_differences(receipt: Receipt, context: Context) -> Iterator[str]:
    """Why the receipt is not of the prompt that this version of Hornbook makes of the change."""
    if context.text is None:
        why = "; ".join(reason.message for reason in context.reasons)
        yield f"The change gives no whole prompt ({context.outcome}: {why}): {PROMPT_AGAIN}"
        return
    if (receipt.get("reserve"), receipt.get("reserve_from")) != (
        context.reserve,
        context.reserve_from,
    ):
        yield (
            f"The receipt's reserve is {receipt.get('reserve')!r}, that of the base "
            f"{context.reserve}: {PROMPT_AGAIN}"
        )
    if {receipt.get("prompt_sha256"), receipt.get("sha256")} == {context.sha256}:
        return
    others = _other_sections(receipt, context)
    where = f" in {', '.join(others)}" if others else ""
    yield f"The prompt is not the one that the change gives: it differs{where}; {PROMPT_AGAIN}"
