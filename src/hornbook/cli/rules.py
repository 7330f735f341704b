"""Commands that read documents: ingest, why, match, chunks, tokens."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, inside, json_option, root_of
from hornbook.cli.output import (
    coloured,
    columns,
    console,
    counted,
    harmless,
    note,
    print_json,
    progress_bar,
    write,
)
from hornbook.errors import NotFound

if TYPE_CHECKING:
    from hornbook.graph.catalog_view import FileAnswer, ReserveReport
    from hornbook.graph.ingest.report import IngestReport
    from hornbook.rules.document import Problem
    from hornbook.workspace import Workspace

RANK = {"error": 0, "warning": 1, "info": 2}


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=FILE_NAME)
@click.option("--watch", is_flag=True, help="Follow changes until stopped.")
@click.option(
    "--strict", is_flag=True, help="Check the shapes too; exit 1 on any error or warning."
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
    if strict and any(problem.level != "info" for problem in report.problems):
        sys.exit(1)


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
    write(
        f"{counted(report.documents, 'document')}, {counted(report.chunks, 'chunk')}, "
        f"{counted(report.triples, 'triple')} "
        f"({report.added} added, {report.changed} changed, {report.removed} removed, "
        f"{report.unchanged} unchanged) in {report.seconds:.2f} s\n"
    )
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
        for each in found[:most]:
            where = f"{each.path}:{each.line}" if each.line else each.path
            rows.append((coloured(level), code, where, each.message))
        if len(found) > most:
            rows.append((coloured(level), code, f"and {len(found) - most} more", "--json has all"))
    if rows:
        columns(rows, heads=("level", "code", "where", "problem"))


def reserve_answer(report: "ReserveReport") -> dict[str, object]:
    """The reserve report as JSON."""
    return {
        "reserve": report.reserve,
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
    out = console()
    out.print(
        f"[bold]The rules of {report.files_over} of {report.files} files do not fit the reserve "
        f"of {report.reserve} tokens[/bold] ({report.always} rules bind every file: "
        f"{report.always_tokens} tokens)."
    )
    for path, tokens in report.examples:
        out.print(f"  {path}: {tokens} tokens", markup=False)
    if report.largest:
        out.print("Largest rules:")
        for rule in report.largest:
            alone = " (alone over the reserve)" if rule.tokens > report.reserve else ""
            out.print(f"  {rule.tokens:>6}  {rule.id}{alone}", markup=False)
    out.print("Narrow what they apply to, split them, or raise `reserve` in .hornbook/config.yaml.")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE_NAME)
@click.option("--at", metavar="REV", help="Judge by the rules of a commit.")
@json_option
@root_of
def why(root: str | None, files: tuple[str, ...], at: str | None, *, as_json: bool) -> None:
    """Say which rules bind each file, and why."""
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        answers = work.why(inside(work.root, files), at=at)
        if as_json:
            print_json({"files": answers})
            return
        for answer in answers:
            _print_answer(answer)
        _print_not_enforced(answers)


def _print_answer(answer: "FileAnswer") -> None:
    verdict = "fits" if answer.fits else "does not fit"
    out = console()
    out.print(harmless(answer.path), style="bold", end="", markup=False)
    if not answer.rules:
        out.print(": no rule binds this file")
        return
    colour = "green" if answer.fits else "red"
    out.print(
        f": {counted(len(answer.rules), 'rule')}, {answer.tokens} of {answer.reserve} tokens, "
        f"[{colour}]{verdict}[/]"
    )
    columns(
        [
            (
                coloured(rule.severity),
                rule.id,
                rule.pattern if rule.activation != "always" else f"{rule.pattern} (always)",
                f"{rule.path}:{rule.pattern_line}" if rule.pattern_line else rule.path,
                str(rule.tokens),
            )
            for rule in sorted(answer.rules, key=lambda rule: (RANK[rule.severity], rule.id))
        ],
        heads=("severity", "rule", "because of", "in", "tokens"),
        whole=1,
    )


def _print_not_enforced(answers: "list[FileAnswer]") -> None:
    listed = answers[0].not_enforced if answers else ()
    if listed:
        write(f"known but not enforced: {counted(len(listed), 'rule')}\n")
        columns(
            [(rule.id, rule.activation, rule.reason) for rule in listed],
            heads=("rule", "activation", "reason"),
            whole=0,
        )


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


COMMANDS = (ingest, why, match, chunks, tokens)
