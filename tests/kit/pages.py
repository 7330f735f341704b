"""Pages of the docs, taken apart: sections, tables, code."""

import re

from tests.kit.paths import DOCS

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")


def text_of(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def prose(text: str) -> str:
    return FENCE.sub("", text)


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {title!r}"
    return found[1]


def rows(text: str, *heads: str) -> list[list[str]]:
    """The cells of every table with these heads."""
    found: list[list[str]] = []
    inside = False
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line[:1] == "|" else []
        if not cells:
            inside = False
        elif tuple(cells) == heads:
            inside = True
        elif inside and not set(line) <= set("|-"):
            found.append(cells)
    assert found, f"no table {heads}"
    return found


def codes(cell: str) -> list[str]:
    return CODE.findall(cell)


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
