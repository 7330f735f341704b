"""The frame of every page: who looks, from which version of the graph, below which path.

A view is a function of a `View`: it asks its question and hands facts to a template. Whatever a
template prints is escaped, with characters that cannot be seen written out. Nothing on a page runs
or loads but our own files, which its policy says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.types import Receive, Scope, Send

from hornbook import resources
from hornbook.graph.ontology import terms
from hornbook.plans.run_costs import CostSum
from hornbook.rules.html import as_html
from hornbook.serve.access.callers import NOBODY
from hornbook.serve.access.required_scope import needs, scope_of_route
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.access.sessions import Sessions
from hornbook.serve.console.assets import asset_path
from hornbook.serve.console.file_weights import WeighedFiles, Weights
from hornbook.serve.console.live import LiveFeed
from hornbook.serve.console.questions import Questions
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.executor import GraphQLExecutor
from hornbook.serve.http.forms import SentForm, read_form
from hornbook.serve.http.host_check import is_page
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.request import RequestContext, request_context_of
from hornbook.text.visible import visible
from hornbook.version import __version__
from hornbook.workspace import Workspace

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "private, no-cache",
    "referrer-policy": "same-origin",
}
FOLLOW = 303
NAVIGATION = (
    ("/", "Inbox", "i"),
    ("/runs", "Runs", "r"),
    ("/plans", "Plans", "p"),
    ("/trends", "Trends", "t"),
    ("/changes", "Changes", "c"),
    ("/files", "Files", "f"),
    ("/rules", "Rules", "u"),
    ("/doctor", "Doctor", "d"),
    ("/replay", "Replay", "y"),
    ("/map", "Map", "m"),
)
"""The views that have an entry: address, name, and the key that leads there behind `g`."""


_ASKED_IN_JSON = frozenset({"/graphql"})


class Console:
    """What all pages of a server have in common."""

    def __init__(
        self,
        updates: GraphUpdates,
        executor: GraphQLExecutor,
        sessions: Sessions,
        *,
        loopback: bool,
    ) -> None:
        self.updates = updates
        self.executor = executor
        self.sessions = sessions
        self.loopback = loopback
        self.live = LiveFeed(updates)
        self.files = WeighedFiles(updates.leases.files)
        self._templates = _templates()

    def page(
        self, request: Request, template: str, *, status: int = 200, **facts: object
    ) -> HTMLResponse:
        """A page; `facts` are what its template shows beside what all pages do."""
        asked_by = request_context_of(request.scope)
        caller = asked_by.caller or NOBODY
        common = {
            "prefix": asked_by.prefix,
            "path": request.url.path.removeprefix(asked_by.prefix) or "/",
            "navigation": NAVIGATION,
            "name": self.updates.root.name,
            "folder": str(self.updates.root) if self.loopback else self.updates.root.name,
            "release": __version__,
            "who": caller.known_as.id if caller.is_named else None,
            "csrf": self.sessions.csrf(asked_by.session),
            "version": None,
            "since": "",
            "live": "",
            "said": "",
        }
        text: str = self._templates.get_template(template).render({**common, **facts})
        return HTMLResponse(text, status, headers=PAGE_HEADERS)

    async def query_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The editor of GraphQL, which `/graphql` is for a browser that opens it."""
        page = self.page(Request(scope), "graphql.html", examples=_examples("graphql"))
        await page(scope, receive, send)

    def sparql_page(
        self, request: Request, template: str, *, status: int = 200, **facts: object
    ) -> HTMLResponse:
        """The editor of SPARQL, with what was asked in it."""
        # What has a parameter is no query yet.
        examples = [each for each in _examples("sparql") if "$" not in each.text]
        facts = {**facts, "examples": examples, "terms": _sparql_terms()}
        return self.page(request, template, status=status, **facts)

    def page_of(self, scope: Scope, refusal: HttpRefusal) -> Response | None:
        """A refusal as a page, if a browser asked for one; who may not read is led to sign in."""
        request = Request(scope)
        wanted = "text/html" in request.headers.get("accept", "")
        if not wanted or not is_page(scope["path"]) or scope["path"] in _ASKED_IN_JSON:
            return None
        asked_by = request_context_of(request.scope)
        if refusal.status == 401 and request.method == "GET":
            query = f"?{request.url.query}" if request.url.query else ""
            path = request.url.path.removeprefix(asked_by.prefix) or "/"
            back = urlencode({"next": f"{path}{query}"})
            answer: Response = RedirectResponse(f"{asked_by.prefix}/login?{back}", FOLLOW)
            answer.headers.update(PAGE_HEADERS)
            return answer
        told = refusal.put(self.updates.redact)
        page = self.page(
            request,
            "refusal.html",
            status=told.status,
            refusal=told,
            request_id=asked_by.request_id,
        )
        page.headers.update(dict(told.headers))
        return page


@dataclass(frozen=True, slots=True)
class View:
    """A page that is being made, from one version of the graph, for whoever looks."""

    console: Console
    request: Request
    work: Workspace
    """Leased for this request; it is shared, so a view only asks it."""
    asked_by: RequestContext
    _questions: Questions

    def ask(self, document: str, **variables: object) -> Any:  # as the document asks
        """The data that a GraphQL document asks for.

        Raises:
            HttpRefusal: The caller may not ask this, or it is refused.
        """
        return self._questions.ask(document, **variables)

    def go_on(self, *_progress: object) -> None:
        """Go on only if somebody still waits for the page.

        Raises:
            TooSlow: Nobody does.
        """
        self._questions.deadline.check_client()

    @property
    def query(self) -> dict[str, str]:
        """What stands behind the path in the address, the last of each name."""
        return dict(self.request.query_params)

    def weights(self) -> Weights:
        """How the rules weigh on the files of the work tree."""
        return self.console.files.weights(self.work.snapshot(), self.work.reserve().tokens)

    def may(self, scope: AccessScope) -> bool:
        """Whether whoever looks may do something, so that a form for it is shown."""
        return bool(self.asked_by.session) and (self.asked_by.caller or NOBODY).may(scope)

    def rule_title(self, rule_id: str) -> str:
        """What a rule is called; its id if it is not known any more."""
        entry = self.work.snapshot().by_id.get(rule_id)
        return entry.title if entry is not None and entry.title else rule_id

    def page(self, template: str, *, status: int = 200, **facts: object) -> HTMLResponse:
        """The page; it says which version of the graph it is from, and since when that is."""
        return self.console.page(
            self.request,
            template,
            status=status,
            **{
                "version": self.work.snapshot().version,
                "since": self.work.published_at(),
                "may": self.may,
                "rule_title": self.rule_title,
                **facts,
            },
        )

    def led_to(self, path: str, **query: str) -> Response:
        """The way to another page of the console, behind something that was done."""
        asked = f"?{urlencode(query)}" if query else ""
        place = f"{self.asked_by.prefix}{quote(path, safe='/:@.')}{asked}"
        return RedirectResponse(place, FOLLOW, headers=PAGE_HEADERS)


def _view(request: Request) -> Iterator[View]:
    console: Console = request.app.state.console
    with console.updates.leases.workspace() as work:
        yield _view_of(console, request, work)


def _current_view(request: Request) -> Iterator[View]:
    console: Console = request.app.state.console
    with console.updates.leases.current() as work:
        yield _view_of(console, request, work)


def _view_of(console: Console, request: Request, work: Workspace) -> View:
    asked_by = request_context_of(request.scope)
    # What is begun is not given up halfway; what only reads is.
    if request.method == "POST" and scope_of_route(request.scope["route"]) != AccessScope.READ:
        asked_by.lift_deadline()
    questions = Questions(console.executor, work, console.updates, asked_by)
    return View(console, request, work, asked_by, questions)


Viewing = Annotated[View, Depends(_view)]
"""What a view takes: `def inbox(view: Viewing) -> Response`."""
ViewingFiles = Annotated[View, Depends(_current_view)]
"""The same for views about rules: from the files as they are, or were a second ago."""


async def sent_form(request: Request) -> SentForm:
    """What a form held, with its files; what is no form holds nothing."""
    return read_form(await request.body(), request.headers.get("content-type", ""))


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name; what is no form has none."""
    return (await sent_form(request)).fields


Form = Annotated[Mapping[str, str], Depends(form_of)]
"""What a view that changes something takes beside: the fields that were sent."""
FormWithFiles = Annotated[SentForm, Depends(sent_form)]
"""The same for a form that takes files."""


def changes(scope: AccessScope) -> dict[str, Any]:
    """What the route of a form says: `@router.post(…, **changes(AccessScope.ANSWER))`."""
    return {"openapi_extra": needs(scope), "response_model": None}


@dataclass(frozen=True, slots=True)
class ExampleQuery:
    """A document of `queries/`, for whoever asks for the first time."""

    name: str
    text: str


@cache
def _examples(language: str) -> tuple[ExampleQuery, ...]:
    files = sorted((resources.folder("queries") / language).iterdir())
    return tuple(ExampleQuery(each.stem, each.read_text(encoding="utf-8")) for each in files)


@cache
def _sparql_terms() -> tuple[tuple[str, str], ...]:
    """Every class and property as a query names it, and what it says."""
    found = []
    for each in terms():
        prefix, _, last = each.name.rpartition(".")
        if each.kind == "Class" or (each.kind.endswith("Property") and each.domain):
            found.append((f"{prefix or 'hb'}:{last}", each.comment))
    return tuple(found)


def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
        auto_reload=False,
    )
    made.globals["asset"] = asset_path
    made.filters.update(
        address=_address,
        cost=_cost,
        count=_count,
        duration=_duration,
        markdown=_markdown,
        moment=_moment,
        money=_money,
        short=_short,
        worded=_worded,
    )
    return made


def _seen(value: object) -> object:
    """What a template prints: markup as it was made, text with nothing hidden in it."""
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else "" if value is None else value


def _address(path: str) -> str:
    """A path as it stands in a link: what a name may hold and an address may not is encoded."""
    return quote(path, safe="/:@.~")


def _markdown(text: str) -> Markup:
    return Markup(as_html(text))  # noqa: S704  # made without raw HTML


def _worded(text: object) -> Markup:
    """A message as people read it: what it quotes between backticks is shown as code."""
    pieces = visible(str(text)).split("`")
    if len(pieces) % 2 == 0:
        return escape("`".join(pieces))
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(each) if at % 2 else each for at, each in enumerate(pieces))


def _count(number: float) -> str:
    """A number with its thousands apart."""
    return f"{number:,.0f}"


def _duration(seconds: float) -> str:
    """A time that passed, in two units at most."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def _moment(text: str | None) -> Markup:
    """A time as people read it; a script says beside it how long ago that is."""
    if not text:
        return Markup("")
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return escape(visible(text))
    shown = moment.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(text, shown)


def _money(spent: CostSum) -> str:
    """A cost; a dash where none was told, which is not the same as nothing."""
    return str(spent) or "–"


def _cost(spent: CostSum) -> str:
    """The same in a sentence."""
    return str(spent) or "cost not told"


def _short(text: str, most: int = 12) -> str:
    """The beginning of a name that is only told apart by it, such as a commit's."""
    return text[:most]
