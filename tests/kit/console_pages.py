"""Pages of the console as a browser without JavaScript has them, and what every one must hold."""

import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.serve.access.secret import local_secret
from hornbook.serve.access.sessions import make_code
from hornbook.settings.places import Places
from tests.kit.servers import HERE

ANN = Principal("human:ann", PrincipalKind.HUMAN, Via.CLI)
HTML = {"accept": "text/html,*/*;q=0.8"}


class Page(HTMLParser):
    """The elements of a page, its text, and the forms in it with their fields."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    def links(self) -> list[str]:
        return [each["href"] or "" for tag, each in self.elements if tag == "a" and "href" in each]

    def fields(self, action: str) -> dict[str, str]:
        """The fields that the first form for an address sends as it stands."""
        found: dict[str, str] = {}
        inside = False
        for tag, each in self.elements:
            if tag == "form":
                if found:
                    break
                inside = each.get("action") == action
            elif inside and tag in {"input", "textarea", "select"} and each.get("name"):
                found[each["name"] or ""] = each.get("value") or ""
        assert found, f"no form for {action}"
        return found


def page_of(browser: TestClient, path: str, status: int = 200) -> Page:
    """A page, held to what every page is held to."""
    answer = browser.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    found = Page(answer)
    for tag, each in found.elements:
        assert "style" not in each, f"{path}: a {tag} has a style, which the policy forbids"
        assert not [name for name in each if name.startswith("on")], f"{path}: {tag} has a handler"
        for name in ("src", "action", "href"):
            place = each.get(name) or ""
            ours = name == "href" and tag == "a" and "noreferrer" in (each.get("rel") or "")
            assert ours or re.match(r"(/(?!/)|#|\?|$)", place), f"{path}: {tag} {name} {place}"
    assert "<style" not in answer.text
    assert not re.search(r"<script(?![^>]* src=)", answer.text)
    return found


def sign_in(browser: TestClient, root: Path, who: Principal = ANN) -> None:
    """Have a browser act as somebody from now on."""
    code = make_code(local_secret(Places(root)), who, time.time())
    answer = browser.get(f"/login?once={code}", headers=HTML, follow_redirects=False)
    assert answer.status_code == 303, answer.text


def send(
    browser: TestClient, path: str, fields: dict[str, str]
) -> Any:  # whichever client starlette has
    """Send a form as a browser does."""
    headers = {**HTML, "origin": HERE}
    return browser.post(path, data=fields, headers=headers, follow_redirects=False)
