"""Whether a receipt is of the prompt that its change gives: the prompt is made again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from hornbook.errors import UsageError
from hornbook.git.change import Change
from hornbook.model.context import Context, Told
from hornbook.model.review import ReviewProblem
from hornbook.workspace.contexts import Contexts, Packet
from hornbook.workspace.snapshot import Snapshot

Receipt = Mapping[str, object]
AGAIN = "prepare the review again, with this version of Hornbook."


def prompt_doubts(
    root: Path, found: Change, snapshot: Snapshot, receipts: Sequence[Receipt]
) -> Iterator[str]:
    """Why receipts cannot be of prompts for the change, as this version of Hornbook makes them.

    What a prompt holds that no commit has is taken from the receipt, which carries it.
    """
    made: dict[tuple[str, str], Packet] = {}
    for receipt in receipts:
        key = (str(receipt.get("model")), repr(receipt.get("told")))
        try:
            if key not in made:
                contexts = Contexts(root, snapshot, told=_told(receipt))
                made[key] = contexts.of_change(found, snapshot, _model(receipt))
            yield from _differs(receipt, _context(made[key], receipt))
        except (UsageError, msgspec.ValidationError) as problem:
            yield f"The receipt's prompt cannot be made again ({problem}): {AGAIN}"


def prompt_warnings(receipts: Sequence[Receipt]) -> Iterator[ReviewProblem]:
    """What reviewers were told that git cannot confirm."""
    told = [
        each for each in (receipt.get("told") for receipt in receipts) if isinstance(each, dict)
    ]
    named = sorted({str(key) for each in told for key, value in each.items() if value})
    if named:
        said = (
            f"The reviewer was also told of {', '.join(named)}, which stand in the receipt and in "
            "no commit: read them there."
        )
        yield ReviewProblem("told_besides", None, said)


def _told(receipt: Receipt) -> Told:
    told = receipt.get("told")
    return msgspec.convert(told, Told) if told is not None else Told()


def _model(receipt: Receipt) -> str:
    model = receipt.get("model")
    if not isinstance(model, str) or not model:
        raise UsageError(f"it names no model: {model!r}")
    return model


def _context(packet: Packet, receipt: Receipt) -> Context:
    """The context that the receipt would be of: the whole, or that of its pass."""
    if not receipt.get("whole_set"):
        return packet.context
    for each in packet.passes():
        if list(each.context.sop_ids) == receipt.get("sop_ids"):
            return each.context
    raise UsageError("no pass holds just its rules")


def _differs(receipt: Receipt, context: Context) -> Iterator[str]:
    if context.text is None:
        why = "; ".join(reason.message for reason in context.reasons)
        yield f"The change gives no whole prompt ({context.outcome}: {why}): {AGAIN}"
        return
    hashes = {receipt.get("prompt_sha256"), receipt.get("sha256")}
    if hashes != {context.sha256}:
        parts = _parts(receipt)
        others = [each.name for each in context.sections if parts.get(each.name) != each.sha256]
        others += sorted(parts.keys() - {each.name for each in context.sections})
        where = f" in {', '.join(others)}" if others else ""
        yield f"The prompt is not the one that the change gives: it differs{where}; {AGAIN}"


def _parts(receipt: Receipt) -> dict[str, object]:
    sections = receipt.get("sections")
    listed = sections if isinstance(sections, list) else []
    return {str(e.get("name")): e.get("sha256") for e in listed if isinstance(e, dict)}
