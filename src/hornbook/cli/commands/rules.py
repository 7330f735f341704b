"""Commands that read documents: ingest, match, chunks, tokens."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, inside, json_option, root_of
from hornbook.cli.output import (
    RANK,
    coloured,
    columns,
    counted,
    harmless,
    note,
    place,
    print_json,
    progress_bar,
    screen,
    write,
    write_lines,
)
from hornbook.errors import NotFound

if TYPE_CHECKING:
    from hornbook.graph.catalog_view import ReserveReport
    from hornbook.graph.ingest.report import IngestReport
    from hornbook.rules.document import Problem
    from hornbook.workspace import Workspace


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=FILE_NAME)
@click.option("--watch", is_flag=True, help="Follow changes until stopped.")
@click.option(
    "--strict", is_flag=True, help="Check the shapes too; exit 1 on any error or warning."
)
@click.option(
    "--tolerate",
    "tolerated",
    metavar="CODE",
    multiple=True,
    help="A warning of this code is no failure under --strict; may be repeated.",
)
@click.option("--rebuild", is_flag=True, help="Build the graph anew from files and history.")
@json_option
@root_of
def ingest(
    root: str | None,
    paths: tuple[str, ...],
    *,
    watch: bool,
    strict: bool,
    tolerated: tuple[str, ...],
    rebuild: bool,
    as_json: bool,
) -> None:
    """Read folders or files into the graph, incrementally.

    Without PATH: the configured folders, what was ingested by name before, and every rule
    format found in the repository.
    """
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        named = [str(work.root / path) for path in inside(work.root, paths)]
        with progress_bar() as progress:
            report = work.ingest(
                named, strict=strict, rebuild=rebuild, progress=progress, waiting=_tell_waiting
            )
        _print_ingest(work, report, as_json=as_json)
        if watch:
            _follow(work, named, as_json=as_json)
    if strict and any(_fails(problem, tolerated) for problem in report.problems):
        sys.exit(1)


def _fails(problem: "Problem", tolerated: tuple[str, ...]) -> bool:
    """Whether a problem is a failure under --strict: an error always is."""
    return problem.level == "error" or (problem.level != "info" and problem.code not in tolerated)


def _tell_waiting() -> None:
    note("another ingest is writing to this workspace; waiting for it to finish")


def _follow(work: "Workspace", named: list[str], *, as_json: bool) -> None:
    from hornbook.rules.watch import changes

    note(f"watching {work.root}; stop with Ctrl-C")
    try:
        for _ in changes(work.root):
            report = work.ingest(named, waiting=_tell_waiting)
            if report.added or report.changed or report.removed:
                _print_ingest(work, report, as_json=as_json, brief=True)
    except KeyboardInterrupt:
        note("stopped")


def _print_ingest(
    work: "Workspace", report: "IngestReport", *, as_json: bool, brief: bool = False
) -> None:
    moved = report.added or report.changed or report.removed
    reserve = work.reserve_report() if moved else None
    if as_json:
        print_json({**asdict(report), "reserve": reserve and reserve_answer(reserve)})
        return
    said = (
        f"{counted(report.documents, 'document')}, {counted(report.chunks, 'chunk')}, "
        f"{counted(report.triples, 'triple')} "
        f"({report.added} added, {report.changed} changed, {report.removed} removed, "
        f"{report.unchanged} unchanged) in {report.seconds:.2f} s"
    )
    write_lines(screen().prose(said))
    if brief:
        return
    print_problems(report.problems)
    if reserve is not None:
        print_reserve(reserve)


def print_problems(problems: "tuple[Problem, ...]", most: int = 3) -> None:
    """The problems, the worst first: of each kind the first few and how many more there are."""
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for each in problems:
        kinds.setdefault((each.level, each.code), []).append(each)
    rows = []
    for (level, code), found in sorted(kinds.items(), key=lambda item: (RANK[item[0][0]], item[0])):
        rows += [
            (place(each.path, each.line), coloured(level), code, each.message)
            for each in found[:most]
        ]
        if len(found) > most:
            rows.append((f"and {len(found) - most} more", coloured(level), code, "--json has all"))
    if rows:
        write_lines(screen().records(rows, ("where", "level", "code", "problem")))


def reserve_answer(report: "ReserveReport") -> dict[str, object]:
    """The reserve report as JSON."""
    return {
        "reserve": report.reserve,
        "reserve_from": report.reserve_from,
        "rules": report.rules,
        "bind_every_file": {"rules": report.always, "tokens": report.always_tokens},
        "files": report.files,
        "files_over": report.files_over,
        "examples": [{"path": path, "tokens": tokens} for path, tokens in report.examples],
        "too_large": [{"id": rule.id, "tokens": rule.tokens} for rule in report.too_large],
        "largest": [{"id": rule.id, "tokens": rule.tokens} for rule in report.largest],
    }


def print_reserve(report: "ReserveReport") -> None:
    """How the rules sit with the reserve, when they do not fit everywhere."""
    if not report.files_over and not report.too_large:
        return
    said = (
        f"The rules of {report.files_over} of {report.files} files do not fit the reserve of "
        f"{report.reserve} tokens"
    )
    bind = "rule binds" if report.always == 1 else "rules bind"
    bound = f"{report.always} {bind} every file: {report.always_tokens} tokens"
    seen = screen()
    lines = seen.prose(f"{said} ({bound}).")
    lines += [f"  {harmless(path)}: {tokens} tokens" for path, tokens in report.examples]
    if report.largest:
        lines.append("Largest rules:")
    for rule in report.largest:
        alone = " (alone over the reserve)" if rule.tokens > report.reserve else ""
        lines.append(f"  {rule.tokens:>6}  {harmless(rule.path)}{alone}")
    lines += seen.prose(
        "Narrow what they apply to, split them, or raise `reserve` in .hornbook/config.yaml."
    )
    write_lines(lines)


@click.command()
@click.argument("pattern")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FILE_NAME)
@json_option
def match(pattern: str, paths: tuple[str, ...], *, as_json: bool) -> None:
    """Tell which paths a pattern matches. Exit 1 unless all do."""
    from hornbook.text.globs import parse_set

    globs = parse_set([pattern])
    matched = [path for path in paths if globs.match(path) is not None]
    unmatched = [path for path in paths if path not in matched]
    if as_json:
        print_json({"pattern": pattern, "matched": matched, "unmatched": unmatched})
    else:
        for path in paths:
            write(f"{'match' if path in matched else '     '}  {path}\n")
    if unmatched:
        sys.exit(1)


@click.command()
@click.argument("file", metavar="FILE", type=FILE_NAME)
@json_option
def chunks(file: str, *, as_json: bool) -> None:
    """Show how a document would be chunked; nothing is stored."""
    from hornbook.graph.ingest.builder import preview

    seen = preview(file, _bytes_of(file))
    if as_json:
        print_json(seen)
        return
    columns(
        [
            (str(each.index), each.section, f"{each.start}-{each.end}", str(each.tokens))
            for each in seen.chunks
        ],
        heads=("chunk", "section", "bytes", "tokens"),
    )


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE_NAME)
@click.option("--counter", metavar="NAME", help="heuristic, cl100k or o200k.")
@json_option
def tokens(files: tuple[str, ...], counter: str | None, *, as_json: bool) -> None:
    """Count the tokens of files."""
    from hornbook.text.tokens import DEFAULT_COUNTER
    from hornbook.text.tokens import counter as counter_named

    count = counter_named(counter or DEFAULT_COUNTER)
    counted = [(file, count(_bytes_of(file).decode("utf-8", "replace"))) for file in files]
    total = sum(number for _, number in counted)
    if as_json:
        listed = [{"path": path, "tokens": number} for path, number in counted]
        print_json({"counter": count.name, "files": listed, "total": total})
        return
    rows = [*counted, ("total", total)] if len(counted) > 1 else counted
    for path, number in rows:
        write(f"{number:>8}  {path}\n")
    if count.name == "heuristic":
        note("four characters a token: JSON, base64 and non-Latin scripts can have twice as many")


def _bytes_of(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise NotFound(f"{file} cannot be read ({problem.strerror}): check the path.") from problem


COMMANDS = (ingest, match, chunks, tokens)
