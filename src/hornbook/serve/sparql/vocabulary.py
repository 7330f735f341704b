"""The ontology over HTTP: for programs in the form they ask for, for people as a page."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from hornbook import resources
from hornbook.graph.ontology import ontology, terms
from hornbook.serve.console.frame import Console
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.response import best
from hornbook.vocabulary.names import ONTOLOGY, PREFIXES

FORMS = {
    "text/turtle": "turtle",
    "application/ld+json": "jsonld",
    "application/n-triples": "ntriples",
    "application/rdf+xml": "rdfxml",
}
PAGE = "text/html"
ENDINGS = {"ttl": "text/turtle", "jsonld": "application/ld+json", "nt": "application/n-triples"}

router = APIRouter(include_in_schema=False)


@router.api_route("/vocabulary", methods=["GET", "HEAD"])
async def vocabulary(request: Request) -> Response:
    """The ontology in the form that is wanted; Turtle where anything will do."""
    wanted = best(request.headers.get("accept"), (*FORMS, PAGE), "text/turtle")
    if wanted is None:
        raise HttpRefusal(
            406, "form", f"we answer as {', '.join((*FORMS, PAGE))}: accept one of them."
        )
    return _page(request) if wanted == PAGE else _document(wanted)


@router.api_route("/vocabulary/context.jsonld", methods=["GET", "HEAD"])
async def context() -> Response:
    """The JSON-LD context with every dotted name."""
    text = resources.text("vocabulary", "context.jsonld")
    return Response(text, media_type="application/ld+json", headers=_headers())


@router.api_route("/vocabulary/hornbook.{ending}", methods=["GET", "HEAD"])
async def file(ending: str) -> Response:
    """The ontology as a file of one form."""
    return _document(_form_of(ending))


@router.api_route("/vocabulary/shapes.{ending}", methods=["GET", "HEAD"])
async def shapes(ending: str) -> Response:
    """The SHACL shapes that every document is held to."""
    return _document(_form_of(ending), "shapes")


def _form_of(ending: str) -> str:
    found = ENDINGS.get(ending)
    if found is None:
        raise HttpRefusal(404, "not_found", f"there is no .{ending}: ask for {', '.join(ENDINGS)}.")
    return found


def _document(media_type: str, folder: str = "") -> Response:
    return Response(ontology(FORMS[media_type], folder), media_type=media_type, headers=_headers())


def _headers() -> dict[str, str]:
    return {"vary": "accept", "cache-control": "no-cache", "access-control-allow-origin": "*"}


def _page(request: Request) -> Response:
    console: Console = request.app.state.console
    known = {each.iri: each.name for each in terms()}
    answer = console.page(
        request,
        "vocabulary.html",
        ontology=ONTOLOGY,
        classes=[each for each in terms() if each.kind == "Class"],
        properties=[each for each in terms() if each.kind.endswith("Property") and each.domain],
        known=known,
        short_name=_short,
    )
    answer.headers["vary"] = "accept"
    return answer


def _short(iri: str) -> str:
    """A term of a standard as its prefix has it."""
    prefix = next((name for name, base in PREFIXES.items() if iri.startswith(base)), "")
    return f"{prefix}:{iri.removeprefix(PREFIXES[prefix])}" if prefix else iri
