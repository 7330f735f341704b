"""Commands about reviews: prepare one, check one, look back at many."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.commands.context import model_option, print_context, write_packets
from hornbook.cli.options import json_option, opened, reserve_option, root_of
from hornbook.cli.output import columns, note, plain_facts, print_json, records, write
from hornbook.errors import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hornbook.context.review_packet import Packet
    from hornbook.gates.gate import GateReport
    from hornbook.review.calibration import Threshold
    from hornbook.review.canary_packet import CanaryPacket
    from hornbook.review.conventions import Watched
    from hornbook.review.judgement import Judgement
    from hornbook.review.review_history import BadRecord
    from hornbook.review.reviewers import MissedEstimate
    from hornbook.workspace import Workspace

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")
format_option = click.option(
    "--format",
    "shape",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print the judgement.",
)
existing_file = click.Path(path_type=Path, dir_okay=False)


@click.group()
def review() -> None:
    """Prepare a review; check that the reviewer looked."""


@review.command("prepare")
@click.option(
    "--diff", "span", metavar="BASE..HEAD", required=True, help="The change; BASE's rules judge it."
)
@model_option
@reserve_option
@click.option("--plan", metavar="SLUG", help="The plan whose decisions are told.")
@click.option("--task", metavar="ID", help="The task of the plan that the change is for.")
@click.option("--passes", is_flag=True, help="If the rules overflow, a folder for each pass.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write prompt.md, receipt.json and review.schema.json; packet by default.",
)
@click.option("--refute", is_flag=True, help="For a second opinion: its reviewer is to refute.")
@json_option
@root_of
def prepare(
    root: str | None,
    /,
    span: str,
    output: Path | None,
    *,
    passes: bool,
    refute: bool,
    as_json: bool,
    **asked: str | None,
) -> None:
    """Write the packet for a reviewer. Exit 1 if it cannot be whole.

    Without --output, and where the repository has no `.hornbook/`, the prompt is printed instead.
    """
    with opened(root) as work:
        packet = work.review_packet(
            diff=span,
            model=asked["model"],
            reserve=asked["reserve"],
            refute=refute,
            plan=asked["plan"],
            task=asked["task"],
        )
        packets = packet.parts() if passes else [packet]
        complete = all(each.context.text is not None for each in packets)
        if output is None and work.places.state.is_dir():
            output = Path("packet")
        if complete and output is not None:
            write_with_schemas(work, packets, output)
    print_context(packet, packets, as_json=as_json, quiet=output is not None)
    if output is None:
        note("no file was written, since there is no .hornbook/: --output names a folder for them")
    sys.exit(0 if complete else 1)


def write_with_schemas(work: "Workspace", packets: "Sequence[Packet]", output: Path) -> list[Path]:
    """Write prompt, receipt and schema of each packet; the answer is the folder of each."""
    from hornbook.review.printed_review import review_schema

    written = write_packets(work, packets, output)
    for each, folder in written:
        schema = review_schema(each.context.answer_ids)
        text = json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
        (folder / "review.schema.json").write_text(text, encoding="utf-8")
        note(f"wrote {folder}/review.schema.json")
    return [folder for _, folder in written]


@review.command("canary")
@click.option(
    "--diff", "span", metavar="BASE..HEAD", required=True, help="The change to plant into."
)
@click.option("--rule", metavar="ID", help="The rule, or section of one, to violate.")
@click.option(
    "--output",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write prompt.md, receipt.json and review.schema.json.",
)
@json_option
@root_of
def canary(root: str | None, span: str, rule: str | None, output: Path, *, as_json: bool) -> None:
    """Write a packet with one planted violation.

    Exit 1 if no rule that binds the change shows what it forbids, or the packet cannot be whole.
    """
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        made = work.review_canary(span, rule=rule)
        planted, packet = made.canary, made.packet
        if planted is not None and packet is not None:
            write_with_schemas(work, [packet], output)
    refused = packet.context.reasons if planted is None and packet is not None else ()
    for reason in refused:
        note(f"the packet cannot be whole: {reason.message}")
    if as_json:
        name, folder = (planted.id, str(output)) if planted is not None else (None, None)
        print_json({"canary": name, "eligible": made.eligible, "packet": folder})
    elif planted is not None:
        write(f"{planted.id} is planted; {_eligible(made)}\n")
        write("`hornbook review check` says whether its reviewer found it.\n")
    else:
        write(f"nothing is planted: {_eligible(made)}\n")
    sys.exit(0 if planted is not None else 1)


def _eligible(made: "CanaryPacket") -> str:
    rules = "rule or section" if made.units == 1 else "rules and sections"
    return f"of {made.units} {rules}, {made.eligible} could be violated here"


@review.command("check")
@click.argument("reviews", metavar="REVIEW...", nargs=-1, required=True, type=existing_file)
@click.option(
    "--receipt",
    "receipts",
    metavar="FILE",
    multiple=True,
    required=True,
    type=existing_file,
    help="The receipt of the packet; may be repeated, one for each pass.",
)
@click.option(
    "--gates", "gate_file", metavar="FILE", type=existing_file, help="What `gates run` printed."
)
@click.option(
    "--diff", "span", metavar="BASE..HEAD", help="The change that the receipt must be for."
)
@format_option
@click.option(
    "--require-bound-gates",
    "bound",
    is_flag=True,
    help="Gate results must be given, and name the change's tree, base and head.",
)
@click.option("--record", is_flag=True, help="Keep the review under .hornbook/records.")
@json_option
@root_of
def check(  # noqa: PLR0913, PLR0917  # click passes every argument by name
    root: str | None,
    reviews: tuple[Path, ...],
    receipts: tuple[Path, ...],
    gate_file: Path | None,
    span: str | None,
    shape: str,
    *,
    bound: bool,
    record: bool,
    as_json: bool,
) -> None:
    """Check a review against git and its receipt.

    Exit 0 only if the change is approved.
    """
    from hornbook.review.printed_review import PrintedReview
    from hornbook.review.review_record import JudgedReview

    printed = [PrintedReview(str(path), _answer(path)) for path in reviews]
    facts = [_receipt(path) for path in receipts]
    gates = _gates(gate_file)
    with opened(root) as work:
        judgement = work.check_review(printed, facts, gates=gates, diff=span, bound_gates=bound)
        if record:
            judged = JudgedReview(judgement, printed, facts, gates)
            note(f"recorded {work.record_review(judged, at=datetime.now(UTC))}")
    print_judgement(judgement, "json" if as_json else shape)
    sys.exit(0 if judgement.outcome == "approved" else 1)


def print_judgement(judgement: "Judgement", shape: str, **beside: object) -> None:
    """Print a judgement in one of the formats; `beside` goes into the JSON with it."""
    if shape == "json":
        print_json({**plain_facts(judgement), **beside})
    else:
        write(_rendered(judgement, shape))


def _answer(path: Path) -> bytes:
    """What a reviewer answered; a file that is not there is an empty answer."""
    try:
        return path.read_bytes()
    except OSError as problem:
        note(f"{path} cannot be read ({problem.strerror}): it counts as an empty review")
        return b""


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise NotFound(f"{path} cannot be read ({problem.strerror}).") from problem


def _receipt(path: Path) -> dict[str, object]:
    try:
        found = json.loads(_bytes(path))
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{path} is not JSON ({problem}): give a receipt.") from problem
    if not isinstance(found, dict):
        raise UsageError(f"{path} is no receipt: give the receipt.json of the packet.")
    return found


def _gates(path: Path | None) -> "GateReport | None":
    from hornbook.review.check import read_gates

    return read_gates(_bytes(path)) if path is not None else None


def _rendered(judgement: "Judgement", shape: str) -> str:
    from hornbook.review.formats import github, junit, sarif
    from hornbook.review.formats import text as words
    from hornbook.version import __version__

    if shape == "sarif":
        return sarif.render(judgement, version=__version__)
    if shape == "junit":
        return junit.render(judgement)
    if shape == "github":
        return github.annotations(judgement)
    return github.summary(judgement) if shape == "markdown" else words.render(judgement)


@click.group(invoke_without_command=True)
@click.option("--revision", metavar="ID", help="Only reviews that this revision of a rule judged.")
@json_option
@root_of
@click.pass_context
def reviews(here: click.Context, root: str | None, revision: str | None, *, as_json: bool) -> None:
    """List the recorded reviews, newest first."""
    if here.invoked_subcommand is not None:
        return
    with opened(root) as work:
        found = work.reviews(revision)
        bad = work.bad_records()
    _tell(bad)
    if as_json:
        print_json({"reviews": found, "problems": bad})
    elif not found:
        note("no review is recorded: `review check --record`, then `ingest`")
    else:
        columns(
            [(each.at, each.outcome, each.id) for each in found], heads=("at", "outcome", "review")
        )


days_option = click.option(
    "--days",
    metavar="N",
    type=click.IntRange(1, 36_500),
    default=90,
    show_default=True,
    help="How far to look back.",
)


@reviews.command("rules")
@days_option
@json_option
@root_of
def rules(root: str | None, days: int, *, as_json: bool) -> None:
    """List rules by how often reviews found them violated.

    Rules in force that no review cited are listed too.
    """
    with opened(root) as work:
        found = work.rule_records(datetime.now(UTC) - timedelta(days=days))
        bad = work.bad_records()
    _tell(bad)
    if as_json:
        print_json({"days": days, "rules": found, "problems": bad})
        return
    records(
        [
            (
                str(each.violated),
                str(each.passed),
                str(each.not_applicable),
                str(each.doubted),
                each.last or "never",
                each.id,
            )
            for each in found
        ],
        heads=("violated", "passed", "not applicable", "with warnings", "last cited", "rule"),
        first=5,
    )


@reviews.command("reviewers")
@days_option
@json_option
@root_of
def reviewers(root: str | None, days: int, *, as_json: bool) -> None:
    """List reviewers by how they have done.

    What the records do not tell is left open, and null in the JSON.
    """
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        found = work.reviewer_records(datetime.now(UTC) - timedelta(days=days))
        bad = work.bad_records()
    _tell(bad)
    if as_json:
        print_json(found)
    elif not found.reviewers:
        note("no review is recorded: `review check --record` keeps one")
    else:
        columns(
            [
                (
                    each.reviewer,
                    each.model or "-",
                    str(each.reviews),
                    f"{each.canaries.found} of {each.canaries.given}",
                    _percent(each.not_applicable_rate),
                    _percent(each.agreement),
                    "-" if each.reverted is None else str(each.reverted),
                    _believed_from(each.threshold),
                )
                for each in found.reviewers
            ],
            heads=(
                "reviewer",
                "model",
                "reviews",
                "canaries",
                "not applicable",
                "agrees",
                "reverted",
                "believed from",
            ),
        )
        write(f"\n{_missed_line(found.missed)}\n")


def _believed_from(threshold: "Threshold") -> str:
    """The confidence that `auto` asks of a reviewer; in brackets where too little is known."""
    from hornbook.review.calibration import KNOWN

    if threshold.confidence > 1:
        return "never"
    said = f"{threshold.confidence:g}"
    return said if threshold.known >= KNOWN else f"({said})"


def _missed_line(missed: "MissedEstimate") -> str:
    if missed.missed is None:
        return f"How much they all miss is not known: {missed.reason}."
    return (
        f"{' and '.join(missed.reviewers)} share {missed.shared} of {missed.found} findings; about "
        f"{missed.missed:g} more were missed by both ({missed.method})."
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _tell(bad: "Sequence[BadRecord]") -> None:
    for each in bad:
        note(f"{each.path} does not count: {each.message}")


@click.group(invoke_without_command=True)
@json_option
@root_of
@click.pass_context
def conventions(here: click.Context, root: str | None, *, as_json: bool) -> None:
    """List what reviews learned, to promote or retire it.

    Only what a person promotes enters a context.
    """
    if here.invoked_subcommand is not None:
        return
    with opened(root) as work:
        found = work.conventions().watched()
    if as_json:
        listed = [{"id": each.convention.id, **_plain(each)} for each in found]
        print_json({"conventions": listed})
        return
    records(
        [
            (
                each.convention.standing,
                each.convention.id,
                each.convention.applies_to,
                each.convention.pattern,
                _remark(each),
            )
            for each in found
        ],
        heads=("standing", "convention", "applies to", "pattern", ""),
        first=1,
    )


def _remark(watched: "Watched") -> str:
    if watched.doubts:
        return f"does not count: {'; '.join(watched.doubts)}"
    return f"changed since: {', '.join(watched.changed)}" if watched.changed else ""


def _plain(watched: object) -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(watched)
    convention = plain.pop("convention")
    return {**convention, **plain} if isinstance(convention, dict) else plain


@conventions.command("promote")
@click.argument("convention_id", metavar="ID")
@root_of
def promote_convention(root: str | None, convention_id: str) -> None:
    """Let a convention into the contexts of the files it is about."""
    _decide(root, convention_id, "promoted")


@conventions.command("retire")
@click.argument("convention_id", metavar="ID")
@root_of
def retire_convention(root: str | None, convention_id: str) -> None:
    """Keep a convention out of all contexts, for good."""
    _decide(root, convention_id, "retired")


def _decide(root: str | None, convention_id: str, standing: str) -> None:
    from hornbook.vocabulary.terms import Standing

    with opened(root) as work:
        decided = work.conventions().decide(convention_id, Standing(standing), datetime.now(UTC))
    note(f"{decided.id} is {standing}; `hornbook ingest` makes it count")


COMMANDS = (reviews, conventions)
