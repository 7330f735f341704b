"""Commands about what fits: size, and the contexts of reviews, developers and steps."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, inside, json_option, opened, reserve_option, root_of
from hornbook.cli.output import (
    counted,
    harmless,
    note,
    plain_facts,
    print_json,
    screen,
    write,
    write_lines,
)
from hornbook.errors import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hornbook.cli.screen import Screen
    from hornbook.context.prompt import Context
    from hornbook.context.review_packet import Packet
    from hornbook.context.sizing import Sizing
    from hornbook.graph.store import AskedQuery
    from hornbook.loop.step_context import StepContext
    from hornbook.workspace import Workspace

files_option = click.option(
    "--files", metavar="F", multiple=True, type=FILE_NAME, help="A file or glob; may be repeated."
)
model_option = click.option(
    "--model", metavar="M", help="A model of the registry, or a capability such as reviewing."
)

plan_option = click.option("--plan", metavar="SLUG", help="The plan that it is done for.")
task_option = click.option(
    "--task", metavar="ID", help="The task: its id, or its number in the plan."
)


@click.command()
@files_option
@click.option("--description", metavar="T", default="", help="The task's description.")
@click.option("--criteria", metavar="T", multiple=True, help="A criterion; may be repeated.")
@model_option
@click.option("--window", metavar="N", type=int, help="A window in tokens, instead of a model's.")
@click.option("--plan", metavar="SLUG", help="Without --files: all that the plan may change.")
@reserve_option
@json_option
@root_of
def size(  # noqa: PLR0913, PLR0917  # click passes every argument by name
    root: str | None,
    files: tuple[str, ...],
    description: str,
    criteria: tuple[str, ...],
    model: str | None,
    window: int | None,
    plan: str | None,
    reserve: str | None,
    *,
    as_json: bool,
) -> None:
    """Say whether a task fits a model's window.

    Exit 1 if it does not, 2 if the window is too small for any task.
    """
    with opened(root) as work:
        answer = work.size(
            inside(work.root, files),
            description=description,
            criteria=criteria,
            model=model,
            window=window,
            plan=plan,
            reserve=reserve,
        )
    if as_json:
        print_json(answer)
    else:
        _print_sizing(answer)
    sys.exit(0 if answer.fits else 1)


def _print_sizing(answer: "Sizing") -> None:
    seen = screen()
    noted = any(file.note for file in answer.files)
    rows = [
        (file.path, str(file.tokens), *((file.note or "",) if noted else ()))
        for file in answer.files
    ]
    lines = seen.records(rows, ("file", "tokens", *(("note",) if noted else ())))
    verdict = seen.styled("fits", "green") if answer.fits else seen.styled("does not fit", "red")
    lines.append(
        f"{answer.estimate} of {answer.limit} tokens ({answer.available} are available in a "
        f"window of {answer.window}): {verdict}"
    )
    for reason in (*answer.reasons, *answer.warnings):
        lines += seen.prose(f"  {reason.code}: {reason.message}")
    write_lines(lines)


explain_option = click.option(
    "--explain", is_flag=True, help="List what the graph was asked in the place of the text."
)


@click.group()
def context() -> None:
    """Assemble what a reviewer must see, whole or not at all."""


@context.command("review")
@files_option
@click.option("--diff", "span", metavar="BASE..HEAD", help="A change, judged by BASE's rules.")
@plan_option
@task_option
@model_option
@reserve_option
@click.option("--passes", is_flag=True, help="If the rules overflow, one packet for each pass.")
@explain_option
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write prompt.md and receipt.json there.",
)
@json_option
@root_of
def review(  # noqa: PLR0913, PLR0917  # click passes every argument by name
    root: str | None,
    files: tuple[str, ...],
    span: str | None,
    plan: str | None,
    task: str | None,
    model: str | None,
    reserve: str | None,
    output: Path | None,
    *,
    passes: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Assemble the reviewer's context. Exit 1 unless it is complete."""
    if bool(files) == bool(span):
        raise UsageError("name what is reviewed: either --files, or --diff BASE..HEAD.")
    with opened(root) as work:
        packet = work.review_packet(
            inside(work.root, files),
            diff=span,
            model=model,
            plan=plan,
            task=task,
            reserve=reserve,
        )
        packets = packet.parts() if passes else [packet]
        complete = all(each.context.text is not None for each in packets)
        if output is not None and complete:
            write_packets(work, packets, output)
    if explain and not as_json:
        _print_queries(packet.queries)
    queries = packet.queries if explain else None
    quiet = output is not None or explain
    print_context(packet, packets, as_json=as_json, quiet=quiet, queries=queries)
    sys.exit(0 if complete else 1)


def _print_queries(queries: "Sequence[AskedQuery]") -> None:
    """What the graph was asked: the named queries with their parameters, rows and times."""
    rows = [
        (
            each.name,
            ", ".join(f"{name}={harmless(term)}" for name, term in each.parameters.items()),
            str(each.rows),
            f"{each.milliseconds:.1f}",
        )
        for each in queries
    ]
    write_lines(screen().records(rows, ("query", "parameters", "rows", "ms")))


def write_packets(
    work: "Workspace", packets: "Sequence[Packet]", output: Path
) -> "list[tuple[Packet, Path]]":
    """Write each packet's prompt and receipt into a folder.

    The receipts are kept as records, unless the repository has no `.hornbook/` to keep them in.
    """
    from hornbook.context.receipt import receipt

    written = []
    for number, packet in enumerate(packets, 1):
        folder = output if len(packets) == 1 else output / f"pass-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "prompt.md").write_bytes((packet.context.text or "").encode())
        facts = receipt(packet.context, packet.made_for)
        text = json.dumps(facts, ensure_ascii=False, indent=2) + "\n"
        (folder / "receipt.json").write_text(text, encoding="utf-8")
        if work.places.state.is_dir():
            work.record_receipt(facts)
        note(f"wrote {folder}/prompt.md and {folder}/receipt.json")
        written.append((packet, folder))
    return written


def _packets_answer(
    packet: "Packet", packets: "list[Packet]", queries: "Sequence[AskedQuery] | None"
) -> dict[str, object]:
    made_for = packet.made_for
    shown = packets[0] if len(packets) == 1 else packet
    answer: dict[str, object] = {
        **plain_facts(shown.context),
        "files": made_for.files,
        "base": made_for.base,
        "head": made_for.head,
        "model": made_for.model,
        "findings": made_for.findings,
    }
    if len(packets) > 1:
        answer["packets"] = [plain_facts(each.context) for each in packets]
    if queries is not None:
        answer["queries"] = queries
    return answer


def print_context(
    packet: "Packet",
    packets: "list[Packet]",
    *,
    as_json: bool,
    quiet: bool,
    queries: "Sequence[AskedQuery] | None" = None,
) -> None:
    """Print what was assembled, or why it was not; `quiet` keeps the text itself back."""
    if as_json:
        print_json(_packets_answer(packet, packets, queries))
        return
    if not packet.made_for.files:
        note("nothing changed: there is nothing to review; a change is what is committed: name it")
        note("as BASE..HEAD, such as main..HEAD")
    for each in packets:
        if each.context.text is None:
            _print_refusal(each.context, _names(each))
            continue
        if not quiet:
            write(each.context.text)
        note(_summary(each))


def _names(packet: "Packet") -> dict[str, str]:
    """What people know rules and their sections by: the file, and the section's title."""
    sections = {
        each.unit.id: f"{each.path} ({each.title})"
        for rule in packet.review.rules
        for each in rule.sections
    }
    rules = {rule.unit.id: rule.unit.path or rule.unit.id for rule in packet.review.rules}
    return {**sections, **rules}


def _print_refusal(found: "Context", names: "Mapping[str, str]") -> None:
    seen = screen()
    lines = [seen.styled(found.outcome, "red")]
    for reason in found.reasons:
        lines += seen.prose(f"  {reason.code}: {reason.message}")
    for number, group in enumerate(found.split, 1):
        lines += seen.prose(f"  group {number}: {', '.join(group)}")
    for number, ids in enumerate(found.passes, 1):
        lines += seen.prose(f"  pass {number}: {', '.join(names[each] for each in ids)}")
    if found.passes:
        lines += seen.prose("--passes makes a packet of each of these.")
    write_lines(lines)


def _summary(packet: "Packet") -> str:
    context = packet.context
    parts = ", ".join(
        f"{section.name} {section.tokens}/{section.budget}" for section in context.sections
    )
    rules = counted(len(context.sop_ids), "rule")
    return (
        f"complete: {rules}, {context.tokens} tokens by {context.counter} "
        f"({parts}); {len(context.left_out)} left out; "
        f"a reserve of {context.reserve} ({packet.room.reserve_said})"
        + (", of which the rules take more than is planned" if context.over_planned else "")
    )


@context.command("develop")
@files_option
@click.option("--description", metavar="T", default="", help="The task's description.")
@click.option("--criteria", metavar="T", multiple=True, help="A criterion; may be repeated.")
@plan_option
@task_option
@model_option
@explain_option
@json_option
@root_of
def develop(  # noqa: PLR0913, PLR0917  # click passes every argument by name
    root: str | None,
    files: tuple[str, ...],
    description: str,
    criteria: tuple[str, ...],
    plan: str | None,
    task: str | None,
    model: str | None,
    *,
    explain: bool,
    as_json: bool,
) -> None:
    """Assemble the developer's context.

    It holds the task and its files, and no text of a rule.
    """
    with opened(root) as work:
        made = work.develop_packet(
            inside(work.root, files),
            description=description,
            criteria=criteria,
            model=model,
            plan=plan,
            task=task,
        )
    found = made.context
    if as_json:
        print_json({**plain_facts(found), "queries": made.queries} if explain else found)
    elif explain:
        _print_queries(made.queries)
    elif found.text is not None:
        write(found.text)
    else:
        _print_refusal(found, {})
    sys.exit(0 if found.text is not None else 1)


@context.command("step")
@click.argument("name", metavar="NAME")
@click.option(
    "--task", metavar="ID", required=True, help="The task: its id, or its number in the plan."
)
@json_option
@root_of
def step(root: str | None, name: str, task: str, *, as_json: bool) -> None:
    """Show what a step of the loop would see, and by which setting.

    NAME is developer, gates or reviewer, or a step of the workflow. Nobody is asked, and nothing is
    written. Exit 1 unless the context is complete.
    """
    with opened(root) as work:
        made = work.step_context(name, task)
    if as_json:
        print_json(_step_answer(made))
    else:
        write_lines(_step_lines(made, screen()))
        if made.context.text is None:
            _print_refusal(made.context, {})
    sys.exit(0 if made.context.text is not None else 1)


def _step_answer(made: "StepContext") -> dict[str, object]:
    return {
        **plain_facts(made.context),
        "step": made.step.name,
        "template": made.step.template,
        "template_sha256": made.step.sha256,
        "operator": made.step.operator,
        "settings": made.step.settings,
        "task": made.task,
        "run": made.run,
        "base": made.base,
        "notes": made.notes,
    }


def _step_lines(made: "StepContext", seen: "Screen") -> list[str]:
    """Its sections with the setting of each, the settings with their origins, and notes."""
    found, facts = made.context, made.step
    where = f"in {made.run}" if made.run is not None else "in a new run"
    lines = seen.prose(
        f"{facts.name} of {made.task}, {where}: {found.tokens} tokens by {found.counter}"
    )
    lines += seen.prose(f"{facts.operator} by {facts.template}, at {made.base[:12]}")
    if found.sections:
        rows = [(each.name, str(each.tokens), each.because) for each in found.sections]
        lines += ["", *seen.records(rows, ("section", "tokens", "because"))]
    settings = [(key, each["value"], each["from"]) for key, each in facts.settings.items()]
    lines += ["", *seen.records(settings, ("setting", "value", "from"))]
    notes = [*made.notes, *(f"left out: {each.id}: {each.reason}" for each in found.left_out)]
    lines += [""] if notes else []
    for each in notes:
        lines += seen.prose(f"  {harmless(each)}")
    return lines


@context.command("verify")
@click.argument("receipt_file", metavar="RECEIPT", type=click.Path(path_type=Path))
@click.argument("prompt_file", metavar="PROMPT", type=click.Path(path_type=Path))
@json_option
def verify_receipt(receipt_file: Path, prompt_file: Path, *, as_json: bool) -> None:
    """Check a prompt against its receipt.

    Only the bytes of the two files count. Exit 1 if they differ.
    """
    from hornbook.context.receipt import verify
    from hornbook.text.tokens import counter

    try:
        facts = json.loads(receipt_file.read_bytes())
        prompt = prompt_file.read_bytes()
    except OSError as problem:
        raise NotFound(f"{problem.filename} cannot be read ({problem.strerror}).") from problem
    except ValueError as problem:
        raise UsageError(f"{receipt_file} is not JSON ({problem}): give a receipt.") from problem
    problems = verify(facts, prompt, counter)
    if as_json:
        print_json({"verified": not problems, "problems": problems})
    else:
        for found in problems:
            write(f"{found}\n")
        write("the prompt is what the receipt says\n" if not problems else "")
    sys.exit(1 if problems else 0)


COMMANDS = (size, context)
