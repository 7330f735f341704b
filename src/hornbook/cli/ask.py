"""Commands that ask the graph: show, history, query, sparql, export."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from hornbook.cli.output import columns, note, print_json, write, write_bytes
from hornbook.cli.read import Json
from hornbook.errors import NotFound, UsageError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (show, history, query, sparql, export):
        app.command()(command)


def show(
    context: typer.Context,
    entity_id: Annotated[str, typer.Argument(metavar="ID", help="A document, chunk, revision …")],
    as_json: Json = False,
) -> None:
    """Show one entity with its triples; of a revision also the text."""
    from hornbook.vocabulary.predicates import CONTENT_HASH
    from hornbook.workspace.workspace import Workspace

    with Workspace.open(context.obj) as work:
        thing = work.snapshot().thing(entity_id)
        digest = next((value for name, value in thing.triples if name == CONTENT_HASH.name), None)
        text = work.text_of(digest).decode("utf-8", "replace") if digest else None
    if as_json:
        triples = [{"predicate": name, "object": value} for name, value in thing.triples]
        print_json({"id": thing.id, "triples": triples, **({"text": text} if text else {})})
        return
    write(f"{thing.id}\n")
    columns(thing.triples, heads=("predicate", "object"))
    if text:
        write(text)


def history(
    context: typer.Context,
    document_id: Annotated[str, typer.Argument(metavar="ID", help="A document, also a removed one.")],
    as_json: Json = False,
) -> None:
    """Show what happened to a document: its revisions, oldest first."""
    from hornbook.workspace.workspace import Workspace

    with Workspace.open(context.obj) as work:
        lines = work.history(document_id)
    if as_json:
        print_json({"id": document_id, "revisions": lines})
        return
    columns(
        [
            (line.at, line.event, line.path, line.revision.rpartition(".")[2], line.formerly or "")
            for line in lines
        ],
        heads=("at", "what", "path", "revision", "formerly"),
    )
    note("`hornbook show <id>.rev.<revision>` prints a text")


def query(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="A GraphQL document, - for stdin.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="Q", help="The query itself.")] = None,
    variables: Annotated[
        str | None, typer.Option("--variables", metavar="JSON", help="Values for its variables.")
    ] = None,
) -> None:
    """Ask the graph in GraphQL; prints {data, errors}, exit 1 on errors."""
    from hornbook.serve.schema import execute
    from hornbook.workspace.workspace import Workspace

    document = _text(file, text)
    values = _variables(variables)
    with Workspace.open(context.obj) as work:
        answer = execute(work, document, values)
    print_json(answer)
    if answer.get("errors"):
        raise typer.Exit(1)


def sparql(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="A SPARQL query, - for stdin.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="Q", help="The query itself.")] = None,
    result_format: Annotated[
        str | None,
        typer.Option("--format", help="json, csv, tsv or xml; turtle or ntriples for graphs."),
    ] = None,
) -> None:
    """Ask the graph in SPARQL 1.1, read-only."""
    from hornbook.graph.asking import FORMATS
    from hornbook.workspace.workspace import Workspace

    if result_format is not None and result_format not in FORMATS:
        raise UsageError(f"no format {result_format!r}: use one of {', '.join(FORMATS)}.")
    document = _text(file, text)
    with Workspace.open(context.obj) as work:
        write_bytes(work.sparql(document, result_format))


def export(
    context: typer.Context,
    export_format: Annotated[
        str, typer.Option("--format", help="nquads, turtle, trig or jsonld.")
    ] = "nquads",
    output: Annotated[
        Path | None, typer.Option("--output", metavar="F", help="Write to a file.")
    ] = None,
) -> None:
    """Print the whole graph in canonical order: same content, same bytes."""
    from hornbook.graph.export import FORMATS
    from hornbook.workspace.workspace import Workspace

    if export_format not in FORMATS:
        raise UsageError(f"no format {export_format!r}: use one of {', '.join(FORMATS)}.")
    with Workspace.open(context.obj) as work:
        data = work.export(export_format)
    if output is None:
        write_bytes(data)
    else:
        output.write_bytes(data)
        note(f"wrote {len(data)} bytes to {output}")


def _text(file: str | None, text: str | None) -> str:
    if (file is None) == (text is None):
        raise UsageError("give the query as a FILE, as - for stdin, or with --text.")
    if text is not None:
        return text
    if file == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return Path(str(file)).read_text(encoding="utf-8")
    except OSError as problem:
        raise NotFound(f"{file} cannot be read ({problem.strerror}): check the path.") from problem


def _variables(given: str | None) -> dict[str, object]:
    try:
        values = json.loads(given or "{}")
    except ValueError as problem:
        raise UsageError(f"--variables is not JSON ({problem}).") from problem
    if not isinstance(values, dict):
        raise UsageError("--variables must be a JSON object.")
    return values
