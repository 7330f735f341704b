"""Pages of entities in id order, and the cursors that name a place between two of them."""

import base64
import binascii
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from hornbook.graph.selection import Filter
from hornbook.serve.graphql.context import ResolverContext, files_inside, refuse
from hornbook.vocabulary.terms import Category, Severity

PAGE = 100
LARGEST_PAGE = 1000
_ID = re.compile(r"[^\s.]+(\.[^\s.]+)+")


@dataclass(frozen=True, slots=True)
class Page:
    """Some ids in order, and whether more follow."""

    ids: list[str]
    more: bool


def cursor(entity_id: str) -> str:
    """The opaque cursor behind an entity."""
    return base64.urlsafe_b64encode(f"id:{entity_id}".encode()).decode("ascii")


def page(context: ResolverContext, asked: Filter, first: int, after: str | None) -> Page:
    """The page that is asked for.

    Raises:
        GraphQLError: An argument is wrong.
    """
    if not 1 <= first <= LARGEST_PAGE:
        raise refuse("first", f"first is {first}", f"ask for 1 to {LARGEST_PAGE}")
    checked = _checked(context, asked)
    ids, more = context.snapshot.select(checked, first, _place(after))
    return Page(ids, more)


def _checked(context: ResolverContext, asked: Filter) -> Filter:
    _known("category", asked.category, Category)
    _known("severity", asked.severity, Severity)
    if asked.applies_to is None:
        return asked
    (path,) = files_inside(context, [asked.applies_to], "appliesTo")
    return replace(asked, applies_to=path)


def _known(field: str, value: str | None, known: type[StrEnum]) -> None:
    values = [each.value for each in known]
    if value is not None and value not in values:
        raise refuse(field, f"no {field} is called {value!r}", f"use one of {', '.join(values)}")


def _place(text: str | None) -> str | None:
    """The id that a cursor stands for; an id itself is taken as it is."""
    if text is None:
        return None
    try:
        decoded = base64.b64decode(text.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    if decoded.startswith("id:"):
        return decoded[3:]
    if _ID.fullmatch(text):
        return text
    raise refuse("after", f"{text[:40]!r} is no cursor", "pass an endCursor as it came, or an id")
