"""The command that has a change reviewed: gates, packet, reviewers and check in one."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.commands.gates import live_gates
from hornbook.cli.commands.reviews import format_option, print_judgement, review, write_with_schemas
from hornbook.cli.options import json_option, opened, reserve_option, root_of
from hornbook.cli.output import counted, harmless, note, plain_facts, print_json, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hornbook.gates.gate import GateReport
    from hornbook.loop.review_run import ReviewerBill, ReviewPlan, RunReview
    from hornbook.workspace import Workspace


@review.command("run")
@click.option(
    "--diff", "span", metavar="BASE..HEAD", required=True, help="The change; BASE's rules judge it."
)
@click.option(
    "--agent",
    "agents",
    metavar="NAME",
    multiple=True,
    help="Who reviews: an agent, or a model by its name; may be repeated.",
)
@click.option("--no-gates", "without_gates", is_flag=True, help="Review without running gates.")
@click.option("--record", is_flag=True, help="Keep the review under .hornbook/records.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent to whom; nobody is asked.")
@reserve_option
@format_option
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep packet, gate results, answers and judgement there.",
)
@json_option
@root_of
def run_review(  # noqa: PLR0913, PLR0917  # click passes every argument by name
    root: str | None,
    span: str,
    agents: tuple[str, ...],
    reserve: str | None,
    shape: str,
    output: Path | None,
    *,
    without_gates: bool,
    record: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Have a change reviewed, and check the review.

    Runs the gates, asks each reviewer for exactly the packet, and once more where the answer is
    invalid. Exit 0 only if the change is approved.
    """
    from hornbook.loop.agent_readiness import tell_readiness

    shape = "json" if as_json else shape
    with opened(root) as work:
        plan = work.plan_review(span, agents=agents, reserve=reserve)
        if dry_run:
            _print_plan(work, plan, shape, without_gates=without_gates)
            sys.exit(0 if plan.complete else 1)
        for line in tell_readiness(each.appointment for each in plan.reviewers):
            note(line)
        gates = None if without_gates or not plan.complete else _gates(work, span)
        if plan.complete and (gates is None or gates.holds):
            for line in _plan_lines(plan):
                note(line)
        ran = work.run_review(plan, gates=gates)
        if output is not None:
            _keep(work, plan, ran, output)
        if record:
            _record(work, ran)
    for bill in ran.bills:
        note(_bill_line(bill))
    judgement = ran.judged.judgement
    print_judgement(judgement, shape, reviewers=plain_facts({"bills": ran.bills})["bills"])
    sys.exit(0 if judgement.outcome == "approved" else 1)


def _gates(work: "Workspace", span: str) -> "GateReport":
    """What the gates say, with what stopped told at once: nobody is paid for that."""
    with live_gates() as progress:
        report = work.run_gates(diff=span, progress=progress)
    for gate in report.gates:
        if gate.required and gate.status not in {"passed", "warned", "skipped"}:
            note(f"gate {gate.name} {gate.status}: {harmless(gate.message or gate.output)}")
    for words in report.notes:
        note(words)
    if not report.holds:
        note("the gates did not pass, so no reviewer is asked (--no-gates asks all the same)")
    return report


def _record(work: "Workspace", ran: "RunReview") -> None:
    if not ran.judged.receipts:
        note("nothing is recorded: there was no whole packet to review")
        return
    for facts in ran.judged.receipts:
        work.record_receipt(dict(facts))
    note(f"recorded {work.record_review(ran.judged, at=datetime.now(UTC))}")


def _keep(work: "Workspace", plan: "ReviewPlan", ran: "RunReview", output: Path) -> None:
    """Write what the review was made from and what came of it."""
    output.mkdir(parents=True, exist_ok=True)
    folders = write_with_schemas(work, plan.packets, output) if plan.complete else []
    if plan.complete and plan.second:
        write_with_schemas(work, plan.second, output / "refute")
    if ran.judged.gates is not None:
        _write(output / "gates.json", ran.judged.gates)
    for each in ran.judged.reviews:
        # one of several passes is named after the folder of its packet
        folder, _, name = each.name.rpartition("/")
        place = output / folder if folder else (folders or [output])[0]
        (place / f"{name}.json").write_bytes(each.data)
        note(f"wrote {place / name}.json")
    _write(output / "judgement.json", ran.judged.judgement)


def _write(path: Path, value: object) -> None:
    import json

    text = json.dumps(plain_facts(value), ensure_ascii=False, indent=2) + "\n"
    path.write_text(text, encoding="utf-8")
    note(f"wrote {path}")


# What it takes, before and after


def _plan_lines(plan: "ReviewPlan") -> "Iterator[str]":
    packets = counted(len(plan.packets), "packet")
    for each in plan.reviewers:
        model = f" ({each.model})" if each.model else ""
        most = plan.most_cost(each)
        cost = (
            f", at most {_money(most, each.endpoint.currency)} for one answer"
            if most is not None and each.endpoint is not None
            else ", at a price that is not set"
        )
        yield f"{each.name}{model} is asked: {packets}, {plan.tokens} tokens{cost}"


def _bill_line(bill: "ReviewerBill") -> str:
    cost = "" if bill.cost is None else f", {_money(bill.cost, bill.currency or '')}"
    tokens = f"{bill.input_tokens} tokens read, {bill.output_tokens} written"
    if not bill.input_tokens and not bill.output_tokens:
        tokens = "it told no tokens"
    return f"{bill.agent}: {counted(bill.calls, 'call')}, {tokens}{cost}, {bill.seconds:.1f} s"


def _money(amount: float, currency: str) -> str:
    return f"{amount:.4f} {currency}".rstrip()


def _print_plan(work: "Workspace", plan: "ReviewPlan", shape: str, *, without_gates: bool) -> None:
    """Print what would happen: gates, packets with their sizes, reviewers with what they cost."""
    gates = [] if without_gates else [gate.name for gate in work.gates(diff=_span(plan)).ready]
    if shape == "json":
        print_json(_plan_facts(plan, gates))
        return
    write(f"gates: {', '.join(gates) or 'none'}\n")
    for place, packet in enumerate(plan.packets, 1):
        context = packet.context
        if context.text is None:
            for reason in context.reasons:
                write(f"{context.outcome}: {reason.code}: {reason.message}\n")
            continue
        rules = counted(len(context.sop_ids), "rule")
        files = counted(len(packet.made_for.files), "file")
        write(
            f"packet {place}: {rules}, {files}, {context.tokens} tokens by {context.counter} "
            f"of {context.window}\n"
        )
    if plan.complete:
        for line in _plan_lines(plan):
            write(f"{line.replace(' is asked: ', ' would be asked: ')}\n")


def _span(plan: "ReviewPlan") -> str:
    return f"{plan.change.base}..{plan.change.head}"


def _plan_facts(plan: "ReviewPlan", gates: list[str]) -> dict[str, object]:
    return {
        "dry_run": True,
        "outcome": next(
            (each.context.outcome for each in plan.packets if each.context.text is None),
            "complete",
        ),
        "base": plan.change.base,
        "head": plan.change.head,
        "gates": gates,
        "packets": [
            {
                "sha256": each.context.sha256,
                "tokens": each.context.tokens,
                "counter": each.context.counter,
                "window": each.context.window,
                "sop_ids": each.context.sop_ids,
                "asked": each.context.answer_ids,
                "reasons": each.context.reasons,
            }
            for each in plan.packets
        ],
        "reviewers": [
            {
                "agent": each.name,
                "model": each.model,
                "calls": len(plan.packets),
                "tokens": plan.tokens,
                "most_cost": plan.most_cost(each),
                "currency": each.endpoint.currency if each.endpoint is not None else None,
            }
            for each in plan.reviewers
        ],
    }


COMMANDS = (review,)
