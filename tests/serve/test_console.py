"""The frame of the console: what every page is held to, and who may see or send what."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hornbook.errors import TooSlow
from hornbook.rules.html import as_html
from hornbook.serve.access.callers import Caller
from hornbook.serve.access.scopes import READ_ONLY
from hornbook.serve.app import create_app
from hornbook.serve.console.assets import asset_path
from hornbook.serve.console.frame import NAVIGATION
from hornbook.serve.console.questions import Questions
from hornbook.serve.console.svg import drawing, element, ticks
from hornbook.serve.http.request import RequestContext
from tests.kit.console_pages import HTML, page_of, send, sign_in
from tests.kit.servers import HERE, READER, TOKENS, client, workspace
from tests.kit.workspaces import write

FIRST_VIEW, LATER_VIEW = 150_000, 40_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


@pytest.mark.parametrize(
    "path", [*(each for each, _, _ in NAVIGATION), "/docs", "/graphql", "/login", "/vocabulary"]
)
def test_a_page_loads_nothing_but_our_own_files(local: TestClient, path: str) -> None:
    page = page_of(local, path)
    loaded = [each["src"] for tag, each in page.elements if tag == "script"]
    loaded += [each["href"] for tag, each in page.elements if tag == "link"]
    for place in loaded:
        assert place is not None
        answer = local.get(place)
        assert (answer.status_code, answer.headers["cache-control"][:6]) == (200, "public")


COUNTED = re.compile(r"<dd[^>]*>\s*([0-9][0-9,]*)\s*</dd>")


@pytest.mark.parametrize("path", ["/", "/doctor", "/replay", "/trends", "/map", "/files"])
def test_every_number_of_a_page_leads_to_what_it_counts(local: TestClient, path: str) -> None:
    assert COUNTED.findall(page_of(local, path).answer.text) == []


def test_the_first_view_and_later_ones_are_small_over_the_wire(local: TestClient) -> None:
    def size(path: str) -> int:
        answer = local.get(path, headers={**HTML, "accept-encoding": "gzip"})
        return int(answer.headers["content-length"])

    files = ("console.css", "frame.js", "live.js", "icon.svg")
    assert size("/") + sum(size(asset_path(name)) for name in files) <= FIRST_VIEW
    assert all(size(path) <= LATER_VIEW for path, _, _ in NAVIGATION)


def test_a_page_says_from_which_version_of_the_graph_it_is_and_since_when(
    local: TestClient,
) -> None:
    version = local.get("/readyz").json()["version"]
    page = page_of(local, "/")
    assert version in page.answer.text
    assert re.search(r'published <time datetime="20\d\d-[^"]+Z">', page.answer.text)


def test_names_and_texts_of_a_repository_are_shown_and_never_run(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    write(root, {".cursor/rules/<b>\u202egpj.mdc": "---\nglobs: [7]\n---\nText.\n"})
    with client(root) as found:
        found.post("/api/v1/ingest", json={})
        page = page_of(found, "/")
    assert str(root) in page.answer.text
    assert "&lt;b&gt;\\u{202E}gpj.mdc" in page.answer.text
    assert "\u202e" not in page.answer.text
    assert "Documents5" in page.text.replace(" ", "")


def test_markdown_is_shown_without_raw_html_pictures_or_foreign_schemes() -> None:
    shown = as_html(
        "# Head\n\n<script>x</script> ![eye](https://a.example/p.png) [a](javascript:x) "
        "[b](https://b.example) x\u202ey\n"
    )
    assert shown.startswith("<h3>Head</h3>")
    assert "<script" not in shown
    assert "<img" not in shown
    assert 'href="javascript' not in shown
    assert 'href="https://b.example" rel="noreferrer' in shown
    assert "\\u{202E}" in shown


def test_a_drawing_escapes_what_it_shows_and_has_no_style() -> None:
    shown = drawing(10, 20.5, 'a "<b>"', element("text", "<script>\u202e", x=1, class_="good"))
    assert "<script" not in shown
    assert "\\u{202E}" in shown
    assert 'viewBox="0 0 10 20.5"' in shown
    assert "style" not in shown


@pytest.mark.parametrize("most", [0, 1, 3, 7.5, 8000, 123_456])
def test_ticks_are_few_and_reach_over_what_is_shown(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert found[-1] >= most
    assert len(found) <= 7


def test_below_a_prefix_every_address_of_a_page_has_it(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve: {base_path: /rules}")
    with client(root) as found:
        page = page_of(found, "/rules/")
        places = [
            each.get(name)
            for tag, each in page.elements
            for name in ("href", "src", "action")
            if (name in each and tag != "a") or (each.get(name) or "#")[0] == "/"
        ]
        assert places
        assert all((place or "/").startswith("/rules/") for place in places), places
        assert found.get(f"/rules{asset_path('frame.js')}").status_code == 200


def test_who_may_not_read_is_led_to_sign_in_and_back(root: Path) -> None:
    app = create_app(root, environment=TOKENS)
    with TestClient(app, base_url=HERE, follow_redirects=False) as found:
        answer = found.get("/runs?all=1", headers=HTML)
        place = "/login?next=%2Fruns%3Fall%3D1"
        assert (answer.status_code, answer.headers["location"]) == (303, place)
        assert page_of(found, place).fields("/login")["next"] == "/runs?all=1"
        for given, wanted in (("/runs?all=1", "/runs?all=1"), ("//evil.example", "/")):
            fields = {"token": READER, "next": given}
            answer = send(found, "/login", fields)
            assert (answer.status_code, answer.headers["location"]) == (303, wanted)
        assert found.get("/", headers={"authorization": "Bearer wrong-one"}).status_code == 401


def test_a_page_of_another_site_may_link_to_a_view_and_nothing_else(local: TestClient) -> None:
    followed = {**HTML, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert local.get("/", headers=followed).status_code == 200
    assert local.get("/runs/none", headers=followed).status_code == 404
    assert local.get("/api/v1/plans", headers=followed).status_code == 403
    assert local.get("/live", headers=followed).status_code == 403


def test_a_refusal_is_a_page_for_a_browser_and_a_problem_for_a_program(local: TestClient) -> None:
    page = page_of(local, "/runs/none", status=404)
    assert "there is no run 'none'" in page.text
    told = local.get("/runs/none", headers={"accept": "application/json"})
    assert told.json()["code"] == "not-found"


def test_a_form_with_too_many_fields_is_refused(local: TestClient) -> None:
    fields = {f"f{number}": "1" for number in range(101)}
    answer = local.post("/login", data=fields)
    assert (answer.status_code, "fields" in answer.text) == (400, True)


def test_a_form_of_a_session_needs_the_field_that_its_pages_have(root: Path) -> None:
    with client(root, named=False) as browser:
        sign_in(browser, root)
        fields = page_of(browser, "/").fields("/logout")
        for wrong in ({"reason": "x"}, {"csrf": "wrong"}):
            answer = send(browser, "/runs/none/stop", wrong)
            assert answer.status_code == 403
            assert "not of a page of this session" in answer.text
        assert send(browser, "/runs/none/stop", {}).status_code == 403
        foreign = browser.post("/runs/none/stop", data=fields, headers={**HTML, "origin": "null"})
        assert foreign.status_code == 403
        assert send(browser, "/runs/none/stop", fields).status_code == 404
        assert send(browser, "/logout", fields).status_code == 303
        assert send(browser, "/runs/none/stop", fields).status_code in {401, 403}


def test_what_a_view_asks_ends_with_the_time_of_its_request(local: TestClient) -> None:
    console = local.app.state.console  # type: ignore[attr-defined]  # FastAPI's
    reader = Caller("reader", READ_ONLY)
    asked_by = RequestContext("late", reader, asyncio.Timeout(0.0))
    with console.updates.leases.workspace() as work:
        late = Questions(console.executor, work, console.updates, asked_by)
        with pytest.raises(TooSlow, match="nobody waits"):
            late.ask("{ plans { slug } }")
