"""A browser, a served repository, and what every page is watched for."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from hornbook import Workspace
from hornbook.plans.principal import Principal
from hornbook.serve.access.secret import local_secret
from hornbook.serve.access.sessions import make_code
from hornbook.settings.places import Places
from tests.kit.console_pages import ANN
from tests.kit.fakes import writes
from tests.kit.loops import BROKEN, PLAN, Stage, repository
from tests.kit.servers import on_a_port
from tests.tools.untried_views import REQUIRED, untried

PLACES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


def chromium() -> str | None:
    """The browser of this machine; none is downloaded."""
    return next((found for name in PLACES if (found := shutil.which(name))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if chromium() is None and os.environ.get(REQUIRED) != "1":
        for item in items:
            item.add_marker(pytest.mark.skip(reason="there is no chromium here"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if chromium() is None:
        terminalreporter.write_line(untried("no chromium is installed"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    assert path is not None, f"{REQUIRED} is set and no chromium is installed: install one"
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=FLAGS.split())
        yield found
        found.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that asks, an approved one, and an exploration."""
    root = repository(tmp_path_factory.mktemp("browser"))
    broken = [writes({"src/greet.py": f"{BROKEN}# {number}\n"}) for number in range(3)]
    assert Stage(root, developer=broken).go().status == "asking"
    with Workspace.open(root) as work:
        work.plan_book().explore("Later", PLAN)
    return root


@pytest.fixture
def root(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "root"))


@pytest.fixture
def address(root: Path) -> Iterator[str]:
    with on_a_port(root) as found:
        yield str(found)


class Watched:
    """A context whose pages may ask nobody else, and complain of nothing."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context = context
        self.address = address
        self.wrong: list[str] = []
        self.expected = ["ERR_CONNECTION_REFUSED", "409"]
        """Pieces of the complaints that a browser makes of what a test is about."""
        context.on("page", self._watch)

    def _watch(self, page: Page) -> None:
        page.on("console", lambda said: self._said(said.type, said.text))
        page.on("pageerror", lambda problem: self.wrong.append(str(problem)))
        page.on("request", lambda asked: self._asked(asked.url))

    def _said(self, kind: str, text: str) -> None:
        if kind == "error" and not any(each in text for each in self.expected):
            self.wrong.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith(self.address):
            self.wrong.append(f"it asks {url}")

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.goto(f"{self.address}{path}")
        return page

    def sign_in(self, root: Path, who: Principal = ANN) -> None:
        code = make_code(local_secret(Places(root)), who, time.time())
        self.open(f"/login?once={code}").close()
