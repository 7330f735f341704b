"""Makes from a real change one with a planted violation, and the packet for its reviewer.

The change with the plant is a commit like HEAD's, beside it: of the same parents, with the same
message, on no branch. Its packet is made as any other, so that nothing in it tells of the plant.
The same change and rule give the same canary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Change, change
from hornbook.commits.commit import commit_at
from hornbook.commits.writer import sibling
from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Contexts, Packet, bound_rules
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.review.canary import Canary, canary_id
from hornbook.review.canary_plant import Plant, plants
from hornbook.review.check import CommitTree, generated_by
from hornbook.review.evidence.changed_files import ChangedFile, changed_files
from hornbook.review.evidence.marked_text import forbidden_pieces


@dataclass(frozen=True, slots=True)
class CanaryPacket:
    """What was planted and its packet, if one of the `units` that bind is `eligible`.

    Without a canary there is no packet either; a packet that does not fit has no canary.
    """

    units: int
    eligible: int
    canary: Canary | None = None
    packet: Packet | None = None


@dataclass(frozen=True, slots=True)
class _Unit:
    """A rule, or a section of one: what it says, and the changed files of code that it binds."""

    id: str
    rule: str
    text: str
    files: tuple[str, ...]


def make_canary(
    root: Path,
    span: str,
    rule: str | None = None,
    *,
    contexts: Contexts | None = None,
    model: str | None = None,
) -> CanaryPacket:
    """The change with a planted violation of one of its rules, or of the one that is named.

    `contexts` and `model` are those of the change's own packets, so that this one is like them.
    Where the rules do not fit one of those it is that of the pass which has the violated one.

    Raises:
        UsageError: The span names no change, or no such rule binds it.
    """
    with git.operation(root):
        found = change(root, span)
        snapshot = graph_at(root, found.base)
        texts = CommitTree(root, found.head).texts(found.paths)
        files = changed_files(
            found, texts, generated_by(snapshot, CommitTree(root, found.merge_base))
        )
        units = _wanted(list(_units(snapshot, found, files)), rule)
        seed = _seed(found, rule)
        contents = commit_at(root, found.head).text
        able = [(unit, each) for unit in units if (each := _plants(unit, files, contents, seed))]
        if not able:
            return CanaryPacket(len(units), 0)
        unit, choices = able[seed % len(able)]
        plant = choices[seed % len(choices)]
        head = sibling(root, found.head, plant.path, plant.data)
        maker = contexts or Contexts(root, snapshot)
        packet = maker.for_change(f"{found.base}..{head}", model)
        if contexts is not None:
            packet = _with_unit(packet, unit)
        canary = _canary(unit, plant, packet)
        return CanaryPacket(len(units), len(able), canary, packet)


def _seed(found: Change, rule: str | None) -> int:
    named = f"{found.base}\0{found.head}\0{rule or ''}"
    return int.from_bytes(sha256(named.encode()).digest()[:8])


def _units(snapshot: Snapshot, found: Change, files: dict[str, ChangedFile]) -> Iterator[_Unit]:
    """Everything that a review of the change has to answer."""
    for rule in bound_rules(snapshot, found.paths):
        document = snapshot.document(rule.unit.id)
        code = tuple(sorted(path for path in rule.files if path in files and files[path].code))
        sections = snapshot.units(document)
        for each in sections:
            yield _Unit(each.id, document.id, each.text, code)
        if not sections:
            yield _Unit(document.id, document.id, document.body, code)


def _wanted(units: Sequence[_Unit], rule: str | None) -> Sequence[_Unit]:
    if rule is None:
        return units
    found = [each for each in units if rule in {each.id, each.rule}]
    if not found:
        known = ", ".join(sorted({each.rule for each in units})) or "none"
        raise UsageError(f"no rule {rule!r} binds the change: name one of those that do ({known}).")
    return found


def _plants(
    unit: _Unit,
    files: dict[str, ChangedFile],
    contents: Callable[[str], bytes | None],
    seed: int,
) -> list[Plant]:
    """Every way to violate a unit in a file that it binds; a block that it shows comes first."""
    pieces = forbidden_pieces(unit.text)
    blocks = [each for each in pieces if each.fence is not None]
    words = [each for each in pieces if each.fence is None]
    for some in filter(None, (blocks, words)):
        made = [
            plant
            for path in unit.files
            for plant in plants(some, path, contents(path) or b"", files[path].new, seed)
        ]
        if made:
            return made
    return []


def _with_unit(packet: Packet, unit: _Unit) -> Packet:
    """The packet, or of its passes the one that asks for a unit."""
    if packet.context.text is not None or not packet.context.passes:
        return packet
    asking = (each for each in packet.passes() if unit.id in each.context.answer_ids)
    return next(asking, packet)


def _canary(unit: _Unit, plant: Plant, packet: Packet) -> Canary | None:
    if packet.context.text is None:
        return None
    name = str(receipt(packet.context, packet.made_for)["receipt_sha256"])
    return Canary(canary_id(name), unit.id, plant.path, plant.line, plant.text, name)
