"""The pages behind `/graphql` and `/docs`: each one file that loads nothing from elsewhere.

A page is its HTML with the style sheet and its script put where a comment names them.
"""

import re
from functools import cache
from pathlib import Path

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
_FOLDER = Path(__file__).parent
_INLINED = re.compile(r"/\* ([a-z]+\.(?:css|js)) \*/")


@cache
def text_of(name: str) -> str:
    """A file of this folder, with the files that it names put into it."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return _INLINED.sub(lambda found: f"\n{text_of(found[1])}", text)


def query_page() -> bytes:
    """The editor for GraphQL: a query, its answer, and the schema's own words."""
    return text_of("graphql.html").encode()


def docs_page() -> str:
    """The REST interface as `/openapi.json` describes it."""
    return text_of("rest.html")
