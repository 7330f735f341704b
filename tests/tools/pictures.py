"""`make pictures`: the pictures of the README, taken of the real pages of the demo.

`--all FOLDER` takes every view of it, at three widths and in both schemes, to be looked at.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import run

from playwright.sync_api import Browser, Page, sync_playwright

from hornbook import Workspace
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.serve.access.secret import local_secret
from hornbook.serve.access.sessions import make_code
from hornbook.settings.places import Places
from tests.browser.conftest import FLAGS, chromium
from tests.demo import carried_out, hornbook, make_workspace, served
from tests.kit.serve_process import free_port
from tests.kit.waiting import until

DOCS = Path(__file__).parents[2] / "docs"
SCHEMES = ("light", "dark")
WIDTHS = (360, 1280, 3840)
SIZE = {"width": 1120, "height": 880}
ANN = Principal("human:ann", PrincipalKind.HUMAN, Via.CLI)
VIEWS = {
    "inbox": "/",
    "runs": "/runs",
    "plans": "/plans",
    "plan": "/plans/discounts",
    "trends": "/trends",
    "changes": "/changes",
    "files": "/files",
    "file": "/files/shop/order.py",
    "new-file": "/files/shop/new.py",
    "rules": "/rules",
    "rule": "/rules/source.doc.sops.python-errors",
    "draft": "/rules/source.doc.sops.python-errors?glob=billing/**&last=10",
    "doctor": "/doctor",
    "replay": "/replay?draft=1",
    "map": "/map",
    "graph": "/graph/plan.discounts",
    "graphql": "/graphql",
    "sparql": "/sparql",
    "docs": "/docs",
    "vocabulary": "/vocabulary",
    "login": "/login",
}


@contextmanager
def demo() -> Iterator[tuple[Path, str]]:
    """The demo, served, at the moment in which it waits for a person."""
    with tempfile.TemporaryDirectory(prefix="hornbook-pictures-") as folder:
        root = Path(folder).resolve() / "shop"
        root.mkdir()
        make_workspace(root)
        run(hornbook(root, "ingest"), check=True, capture_output=True)
        with served(root, free_port()) as address, carried_out(root):
            until(lambda: _asks(root), "the demo to ask a person")
            yield root, address


def _asks(root: Path) -> bool:
    with Workspace.open(root) as work, work.run_book() as book:
        return any(row.needs_person for row in book.rows())


@contextmanager
def page_of(browser: Browser, root: Path, address: str, scheme: str) -> Iterator[Page]:
    """A page in which somebody has signed in."""
    context = browser.new_context(color_scheme=scheme, viewport=SIZE)
    page = context.new_page()
    code = make_code(local_secret(Places(root)), ANN, time.time())
    page.goto(f"{address}/login?once={code}")
    yield page
    context.close()


def addresses(root: Path) -> dict[str, str]:
    """Every view by a name, those of runs and changes among them."""
    with Workspace.open(root) as work, work.run_book() as book:
        runs = {row.task or "whole": row.id for row in book.rows()}
    log = run(
        ("git", "-C", str(root), "log", "--format=%H %P%x09%s"),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    spans = {
        subject: f"/changes/{parent}..{commit}"
        for commit, parent, subject in re.findall(r"^(\w+) (\w+)\t(.*)$", log, re.MULTILINE)
    }
    return {
        **VIEWS,
        "run-approved": f"/runs/{runs['task.discounts.1']}",
        "run-asks": f"/runs/{runs['task.discounts.2']}",
        "change-refused": spans["Print invoices"],
        "change-rejected": spans["Skip lines that cannot be priced"],
    }


def take(browser: Browser, root: Path, address: str) -> None:
    """The pictures of the README."""
    for scheme in SCHEMES:
        with page_of(browser, root, address, scheme) as page:
            page.goto(f"{address}{addresses(root)['run-asks']}")
            page.wait_for_selector("#live-state.on")
            page.screenshot(path=DOCS / f"console-{scheme}.png")


def take_all(browser: Browser, root: Path, address: str, folder: Path) -> None:
    """Every view, whole, for somebody to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        with page_of(browser, root, address, scheme) as page:
            for name, path in addresses(root).items():
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    page.goto(f"{address}{path}")
                    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)


def main() -> None:
    """Take what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.pictures", description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every view, into a folder")
    given = parser.parse_args()
    path = chromium()
    if path is None:
        raise SystemExit("no chromium is installed, which takes the pictures: install one.")
    with demo() as (root, address), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS.split())
        if given.all is None:
            take(browser, root, address)
        else:
            take_all(browser, root, address, given.all)
        browser.close()


if __name__ == "__main__":
    main()
