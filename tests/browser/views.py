"""The console as people use it, in a real browser: `make test-browser`."""

import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from hornbook import Workspace
from hornbook.disk import now
from hornbook.plans.log import EventLog
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.plans.run_kinds import kinds_for
from hornbook.serve.access.scopes import ALL
from hornbook.serve.access.tokens import Token, make_token, revoke_token
from hornbook.serve.app import create_app
from tests.browser.conftest import Watched
from tests.kit.git import git
from tests.kit.servers import on_a_port
from tests.kit.waiting import SAFETY, until
from tests.tools.untried_views import VIEWS

WIDTHS = (360, 1280, 3840)
RUN = "/runs/run-1"
BEA = Principal("human:bea", PrincipalKind.HUMAN, Via.CLI)
PATIENCE = SAFETY * 1000
expect.set_options(timeout=PATIENCE)


@contextmanager
def watched(browser: Browser, address: str, **options: Any) -> Iterator[Watched]:
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    found = Watched(context, address)
    yield found
    context.close()
    assert found.wrong == []


def streams(address: str) -> int:
    with urllib.request.urlopen(f"{address}/metrics", timeout=SAFETY) as answer:
        lines = answer.read().decode().splitlines()
    return int(
        float(next(each for each in lines if each.startswith("hornbook_streams ")).split()[1])
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_every_width_and_has_no_serious_finding(
    browser: Browser, address: str, root: Path, scheme: str
) -> None:
    with watched(browser, address, color_scheme=scheme) as found:
        found.sign_in(root)
        page = found.open("/")
        for view in VIEWS:
            page.goto(f"{address}{view}")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert over <= 0, f"{view} is {over} pixels wider than {width}"
            page.set_viewport_size({"width": 1280, "height": 900})
            report = Axe().run(page)
            serious = [
                (each["id"], [node["html"] for node in each["nodes"]][:3])
                for each in report.response["violations"]
                if each["impact"] in {"serious", "critical"}
            ]
            assert serious == [], view


def test_a_run_is_shown_as_it_goes_on_without_loading_the_page(
    browser: Browser, address: str, root: Path
) -> None:
    with watched(browser, address) as found:
        page = found.open(RUN)
        expect(page.locator("#live-state")).to_have_class("state on")
        page.evaluate("window.kept = true")
        with Workspace.open(root) as work:
            work.answer("run-1", "stop", reason="Enough of it.")
        expect(page.locator("h1 .tag")).to_have_text("stopped")
        expect(page.get_by_text("It asks")).to_have_count(0)
        assert page.evaluate("window.kept")


def test_what_happens_while_a_page_is_loaded_is_shown_too(
    browser: Browser, address: str, root: Path
) -> None:
    def stop(route: Route) -> None:
        with Workspace.open(root) as work:
            work.answer("run-1", "stop", reason="Before the stream was there.")
        route.continue_()

    with watched(browser, address) as found:
        page = found.context.new_page()
        page.route("**/live", stop)
        page.goto(f"{address}{RUN}")
        expect(page.locator("h1 .tag")).to_have_text("stopped")


def test_an_escalation_is_answered_from_the_inbox_by_keyboard(
    browser: Browser, address: str, root: Path
) -> None:
    with watched(browser, address) as found:
        found.sign_in(root)
        page = found.open("/")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.getAttribute('href')") == RUN
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{RUN}")
        page.locator("input[value=stop]").focus()
        page.keyboard.press("Space")
        page.locator("textarea[name=reason]").focus()
        page.keyboard.type("We do not need it.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("Your answer is noted")
        page.keyboard.press("g")
        page.keyboard.press("i")
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()


def test_of_two_people_who_answer_at_once_the_second_sees_both_states(
    browser: Browser, address: str, root: Path
) -> None:
    def fill(page: Page, reason: str) -> None:
        page.locator("input[value=stop]").check()
        page.locator("textarea[name=reason]").fill(reason)

    with watched(browser, address) as ann, watched(browser, address) as bea:
        ann.sign_in(root)
        bea.sign_in(root, BEA)
        first, second = ann.open(RUN), bea.open(RUN)
        fill(first, "Enough.")
        fill(second, "Too late.")
        first.get_by_role("button", name="Answer").click()
        expect(first.locator("h1 .tag")).to_have_text("stopped")
        expect(second.locator(".changed")).to_be_visible()
        second.get_by_role("button", name="Answer").click()
        expect(second.get_by_role("heading", name="It changed meanwhile")).to_be_visible()
        expect(second.get_by_text("human:ann answered")).to_be_visible()


def test_without_javascript_pages_are_read_and_forms_sent(
    browser: Browser, address: str, root: Path
) -> None:
    with watched(browser, address, java_script_enabled=False) as found:
        found.sign_in(root)
        page = found.open("/")
        expect(page.get_by_text("broken: src/greet.py")).to_be_visible()
        page.get_by_role("link", name="Greet", exact=True).first.click()
        page.locator("input[value=stop]").check()
        page.locator("textarea[name=reason]").fill("Enough.")
        page.get_by_role("button", name="Answer").click()
        expect(page.locator("h1 .tag")).to_have_text("stopped")


def test_without_javascript_every_view_says_what_it_shows(browser: Browser, address: str) -> None:
    with watched(browser, address, java_script_enabled=False) as found:
        page = found.open("/")
        for view in VIEWS:
            answer = page.goto(f"{address}{view}")
            assert answer is not None
            assert answer.ok, view
            expect(page.locator("main h1")).to_be_visible()


def test_tokens_are_plotted_and_what_agents_print_is_shown_as_it_is_written(
    browser: Browser, address: str, root: Path, tmp_path: Path
) -> None:
    printed = tmp_path / "call.out"
    printed.write_text("reading <b>greet.py</b>\n")
    with watched(browser, address) as found, Workspace.open(root) as work:
        page = found.open(RUN)
        expect(page.locator("#live-state")).to_have_class("state on")
        expect(page.locator("#tokens")).to_have_count(0)
        log = EventLog(work.places.state, now, kinds=kinds_for(()))
        for step, tokens in enumerate((5200, 5400), 1):
            told = {"key": f"s{step}", "step": step, "action": "edit", "tokens": tokens}
            data = {"run": "run-1", "round": 1, "number": 1, "execution": 1}
            data["told"] = {**told, "log": str(printed)}
            log.append("hello", "agent.told", data, key=f"told-{step}")
        log.close()
        expect(page.locator("[data-part=tokens] circle")).to_have_count(2)
        expect(page.locator("#log ~ pre")).to_contain_text("reading <b>greet.py</b>")
        page.get_by_text("As a table").nth(1).click()
        expect(page.get_by_role("cell", name="5,400")).to_be_visible()
        with printed.open("a") as more:
            more.write("writing greet.py\n")
        expect(page.locator("#log ~ pre")).to_contain_text("writing greet.py")
        expect(page.get_by_role("cell", name="5,400")).to_be_visible()


def test_each_view_does_what_it_offers_a_person(browser: Browser, address: str, root: Path) -> None:
    rule = "source.doc.sops.greetings"
    (root / "AGENTS.md").write_text("---\napplyTo: gone/**\n---\nIt MUST be.\n")
    (root / "src/app.py").write_text("print('the app greets Ann')\n")
    git(root, "commit", "-qam", "Greet Ann")
    with watched(browser, address) as found:
        found.sign_in(root)
        page = found.open("/files")
        page.locator("input[name=path]").fill("src/new.py")
        page.locator("input[name=path]").press("Enter")
        expect(page.get_by_text("not there")).to_be_visible()

        page.goto(f"{address}/rules/{rule}")
        page.locator("textarea[name=glob]").fill("docs/**")
        page.get_by_role("button", name="What would they bind?").click()
        expect(page.get_by_role("status")).to_contain_text("It would bind")
        page.get_by_text("Another text").click()
        text = page.locator("textarea[name=text]")
        text.fill(f"{text.input_value()}\nIt MUST be short.\n")
        page.get_by_role("button", name="What would it do?").click()
        expect(page.locator("#other-text tr.added", has_text="It MUST be short.")).to_be_visible()

        page.goto(f"{address}/map")
        page.locator("input[name=rule]").fill(rule)
        page.get_by_role("button", name="Show").click()
        page.locator("svg.drawing a", has_text="src/").click()
        expect(page.locator("#items")).to_contain_text("src/app.py")
        assert f"rule={rule}" in page.url

        page.goto(f"{address}/replay")
        page.select_option("select[name=draft]", "1")
        page.get_by_role("button", name="Replay").click()
        expect(page.get_by_text("Would be judged otherwise", exact=True)).to_be_visible()

        page.goto(f"{address}/changes/HEAD~1..HEAD")
        expect(page.get_by_role("heading", name="Greet Ann")).to_be_visible()
        with page.expect_download() as packet:
            page.get_by_role("link", name="Download the packet").click()
        assert packet.value.suggested_filename == "packet.zip"
        page.get_by_role("button", name="Keep its receipt here").click()
        expect(page.get_by_role("status")).to_contain_text("receipt is kept")

        page.goto(f"{address}/doctor")
        page.get_by_text("Accept until a day").first.click()
        page.locator("input[name=reason]").first.fill("It comes back in May.")
        page.get_by_role("button", name="Accept").first.click()
        expect(page.get_by_role("status")).to_contain_text("It is accepted")
        expect(page.locator("tr.added", has_text="It comes back in May.")).to_be_visible()

        page.goto(f"{address}/plans/later")
        page.get_by_text("Amend it").click()
        page.locator("textarea[name=sections]").fill("## Situation\nNobody is greeted yet.\n")
        page.get_by_role("button", name="Amend").click()
        expect(page.get_by_text("Nobody is greeted yet.")).to_be_visible()
        page.get_by_role("button", name="Promote").click()
        expect(page.locator("h1 .tag")).to_have_text("committed")

        page.goto(f"{address}/graph/plan.hello")
        page.locator("svg.drawing a", has_text="run.run-1").click()
        expect(page.get_by_role("heading", name="run.run-1")).to_be_visible()
        page.get_by_role("link", name="in SPARQL").click()
        expect(page.locator("td", has_text="asking").first).to_be_visible()


def test_a_token_signs_in_by_the_form_and_its_session_ends_when_it_is_revoked(
    browser: Browser, root: Path
) -> None:
    tokens = root / ".hornbook/tokens"
    token = make_token(tokens, Token("ann", ALL, b"", acts_for="human:ann"))
    with on_a_port(root) as address, watched(browser, str(address)) as found:
        found.expected += ["401", "403"]
        page = found.open(RUN)
        for given in ("wrong", token):
            page.locator("input[name=token]").fill(given)
            page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="It asks")).to_be_visible()
        expect(page.locator("#live-state")).to_have_class("state on")
        revoke_token(tokens, "ann")
        expect(page.locator("#live-state")).to_have_class("state off")
        page.reload()
        expect(page.locator("input[name=token]")).to_be_visible()


def test_the_editor_of_sparql_completes_terms_and_keeps_what_was_asked(
    browser: Browser, address: str
) -> None:
    with watched(browser, address) as found:
        page = found.open("/sparql")
        query = page.locator("#query")
        query.fill("SELECT ?title { ?rule source.doc:titl")
        query.press("Control+Space")
        expect(query).to_have_value("SELECT ?title { ?rule source.doc:title")
        query.press_sequentially(" ?tit")
        query.press("Control+Space")
        query.press_sequentially(" }")
        query.press("Control+Enter")
        expect(page.locator("main td", has_text="Greetings").first).to_be_visible()
        page.get_by_role("link", name="patterns", exact=True).click()
        expect(page.locator("thead th", has_text="pattern")).to_be_visible()
        expect(page.locator("#history option")).to_have_count(2)


def test_twelve_tabs_share_one_stream_and_the_thirteenth_loads(
    browser: Browser, address: str
) -> None:
    with watched(browser, address) as found:
        tabs = [found.open("/") for _ in range(13)]
        expect(tabs[-1].get_by_role("heading", name="Inbox")).to_be_visible()
        until(lambda: streams(address) == 1, "one stream for all tabs")
        for tab in tabs[:-1]:
            tab.close()
        until(lambda: streams(address) == 1, "the last tab to take the stream over")
    until(lambda: streams(address) == 0, "no stream when nobody looks")


SEEN = """state => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_the_stream_is_closed_while_the_page_is_hidden(browser: Browser, address: str) -> None:
    with watched(browser, address) as found:
        page = found.open("/")
        until(lambda: streams(address) == 1, "the stream")
        page.evaluate(SEEN, "hidden")
        until(lambda: streams(address) == 0, "no stream for what nobody sees")
        page.evaluate(SEEN, "visible")
        until(lambda: streams(address) == 1, "the stream again")


def test_a_review_that_is_dropped_onto_a_change_is_judged_at_once(
    browser: Browser, address: str, root: Path
) -> None:
    (root / "src/app.py").write_text("print('the app greets Ann')\n")
    git(root, "commit", "-qam", "Greet Ann")
    with watched(browser, address) as found:
        found.expected.append("422")  # what was dropped is no review
        page = found.open("/changes/HEAD~1..HEAD")
        page.evaluate("""() => {
          const held = new DataTransfer();
          held.items.add(new File(['I looked, all is well.'], 'review.txt'));
          const panel = document.querySelector('form[data-drop]').closest('.panel');
          panel.dispatchEvent(new DragEvent('drop', { dataTransfer: held, bubbles: true }));
        }""")
        expect(page.get_by_role("alert")).to_contain_text("no receipt says")


def test_a_server_that_comes_back_is_followed_again(browser: Browser, root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    @contextmanager
    def served() -> Iterator[None]:
        app = create_app(root)
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        until(lambda: server.started, "the server")
        yield
        app.state.updates.closing.set()
        server.should_exit = True
        thread.join(SAFETY)

    with watched(browser, f"http://127.0.0.1:{port}") as found:
        with served():
            page = found.open(RUN)
            expect(page.locator("#live-state")).to_have_class("state on")
        expect(page.locator("#live-state")).to_have_class("state off")
        with Workspace.open(root) as work:
            work.answer("run-1", "stop", reason="While nobody looked.")
        with served():
            expect(page.locator("h1 .tag")).to_have_text("stopped")
            expect(page.locator("#live-state")).to_have_class("state on")
        page.close()


def test_the_editor_completes_from_the_schema_and_shows_a_table(
    browser: Browser, address: str
) -> None:
    with watched(browser, address) as found:
        page = found.open("/graphql")
        expect(page.locator("#docs details").first).to_be_visible()
        box = page.locator("#query")
        box.fill("{ plans { slu")
        box.press("Control+Space")
        expect(box).to_have_value("{ plans { slug")
        box.fill("{ entities(filter: { cat")
        box.press("Control+Space")
        expect(box).to_have_value("{ entities(filter: { category")
        box.fill("{ plans { slug title } }")
        box.press("Control+Enter")
        expect(page.locator("#answer td").first).to_have_text("later")
        assert "slug" in page.url
        shared = found.open(page.url.removeprefix(address))
        expect(shared.locator("#query")).to_have_value("{ plans { slug title } }")
        expect(shared.locator("#history option")).to_have_count(2)
        shared.locator("#example").select_option(label="why")
        assert "why" in shared.locator("#query").input_value()


def test_hostile_names_and_texts_are_shown_and_never_run(
    browser: Browser, address: str, root: Path
) -> None:
    bad = (
        "<img src=x onerror=\"document.title='run'\"> \u202e <script>document.title='run'</script>"
    )
    with Workspace.open(root) as work:
        work.plan_book().explore(bad.replace("\u202e", ""), f"# Plan\n\n## Situation\n\n{bad}\n")
    with watched(browser, address) as found:
        page = found.open("/plans")
        page.locator("a[data-row]", has_text="onerror").first.click()
        expect(page.get_by_text("onerror").first).to_be_visible()
        assert page.title().count("onerror") == 1
        assert page.locator("main img, main script").count() == 0
        assert "\u202e" not in page.content()
