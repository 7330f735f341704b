"""Commands that ask the graph: show, history, query, sparql, export."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option, opened, root_of
from hornbook.cli.output import columns, harmless, note, print_json, records, write, write_bytes
from hornbook.errors import NotFound, UsageError

if TYPE_CHECKING:
    from hornbook.graph.snapshot import EntityTriples
    from hornbook.workspace import Workspace


# Fields that are answered from the files as they are; others list what was ingested.
ABOUT_RULES = ("why", "sops", "reviewContext")


@click.command()
@click.argument("entity_id", metavar="ID")
@json_option
@root_of
def show(root: str | None, entity_id: str, *, as_json: bool) -> None:
    """Show one entity with its triples.

    A revision is shown with its text, a plan with what it led to.
    """
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        thing = work.snapshot().thing(entity_id)
        text = _revision_text(work, thing)
        family = work.snapshot().plan_family(entity_id)
        family.pop(entity_id, None)
    if as_json:
        triples = [{"predicate": name, "object": value} for name, value in thing.triples]
        more = {name: said for name, said in (("text", text), ("derived", family)) if said}
        print_json({"id": thing.id, "triples": triples, **more})
        return
    write(f"{thing.id}\n")
    columns(thing.triples, heads=("predicate", "object"))
    if family:
        _print_family(family, entity_id)
    if text:
        write(harmless(text) if sys.stdout.isatty() else text)


def _revision_text(work: "Workspace", thing: "EntityTriples") -> str | None:
    from hornbook.vocabulary.predicates import FILE_HASH, RDF_TYPE, Class

    if (RDF_TYPE.name, Class.REVISION.value) not in thing.triples:
        return None
    digest = next((value for name, value in thing.triples if name == FILE_HASH.name), None)
    return work.text_of(digest).decode("utf-8", "replace") if digest else None


def _print_family(family: dict[str, dict[str, list[str]]], entity_id: str) -> None:
    write("derived from it\n")
    rows = [
        (each, name, value)
        for each, said in family.items()
        for name, values in said.items()
        for value in values
        if value != entity_id
    ]
    columns(rows, heads=("entity", "predicate", "object"), whole=1)


@click.command()
@click.argument("document_id", metavar="ID")
@json_option
@root_of
def history(root: str | None, document_id: str, *, as_json: bool) -> None:
    """Show the revisions of a document, the oldest first."""
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        lines = work.history(document_id)
    if as_json:
        print_json({"id": document_id, "revisions": lines})
        return
    records(
        [
            (line.at, line.event, line.path, line.revision.rpartition(".")[2], line.formerly or "")
            for line in lines
        ],
        heads=("at", "what", "path", "revision", "formerly"),
    )
    note("`hornbook show <id>.rev.<revision>` prints a text")


@click.command()
@click.argument("file", metavar="[FILE|-]", required=False, type=FILE_NAME)
@click.option("--text", metavar="Q", help="The query itself.")
@click.option("--variables", metavar="JSON", help="Values for its variables.")
@root_of
def query(root: str | None, file: str | None, text: str | None, variables: str | None) -> None:
    """Ask the graph in GraphQL.

    Prints one JSON document {data, errors}. Exit 1 on errors.
    """
    from hornbook.serve.graphql.schema import execute

    document = _text(file, text)
    values = _variables(variables)
    with opened(root) as work:
        if any(field in document for field in ABOUT_RULES):
            work.bring_up_to_date()
        work.follows_files = False  # every field of an answer comes from one version
        answer = execute(work, document, values)
    print_json(answer)
    if answer.get("errors"):
        sys.exit(1)


@click.command()
@click.argument("file", metavar="[FILE|-]", required=False, type=FILE_NAME)
@click.option("--text", metavar="Q", help="The query itself.")
@click.option(
    "--format",
    "result_format",
    help="json, csv, tsv or xml; turtle, ntriples, rdfxml, jsonld, nquads or trig for graphs.",
)
@root_of
def sparql(root: str | None, file: str | None, text: str | None, result_format: str | None) -> None:
    """Ask the graph in SPARQL 1.1, read-only."""
    from hornbook.graph.sparql import FORMATS
    from hornbook.workspace import Workspace

    if result_format is not None and result_format not in FORMATS:
        raise UsageError(f"no format {result_format!r}: use one of {', '.join(FORMATS)}.")
    document = _text(file, text)
    with Workspace.open(root) as work:
        write_bytes(work.sparql(document, result_format))


@click.command()
@click.option(
    "--format",
    "export_format",
    default="nquads",
    show_default=True,
    help="nquads, turtle, trig or jsonld.",
)
@click.option("--output", metavar="F", type=click.Path(path_type=Path), help="Write to a file.")
@root_of
def export(root: str | None, export_format: str, output: Path | None) -> None:
    """Print the whole graph in canonical order.

    The same content gives the same bytes.
    """
    from hornbook.graph.export import FORMATS
    from hornbook.workspace import Workspace

    if export_format not in FORMATS:
        raise UsageError(f"no format {export_format!r}: use one of {', '.join(FORMATS)}.")
    with Workspace.open(root) as work:
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
    except UnicodeDecodeError as problem:
        raise UsageError(f"{file} is not UTF-8 ({problem.reason}): save it as UTF-8.") from problem
    except OSError as problem:
        raise NotFound(f"{file} cannot be read ({problem.strerror}): check the path.") from problem


def _variables(given: str | None) -> dict[str, object]:
    try:
        values = json.loads(given or "{}")
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"--variables is not JSON ({problem}).") from problem
    if not isinstance(values, dict):
        raise UsageError("--variables must be a JSON object.")
    return values


COMMANDS = (show, history, query, sparql, export)
