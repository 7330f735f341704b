"""Markdown of a repository as HTML that a page may show: nothing in it runs, loads or hides.

Raw HTML stays text, a picture becomes a link to it, links lead to the web alone, and characters
that cannot be seen are written out.
"""

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from hornbook.text.visible import visible

_WEB = ("https://", "http://", "mailto:")
LARGEST = 400_000
"""Characters over which a text is shown as it was written."""


def as_html(text: str) -> str:
    """The text as HTML, with its headings two levels lower, below those of the page."""
    shown = visible(text)
    if len(shown) > LARGEST:
        return str(_parser().renderer.render(_plain(shown), _parser().options, {}))
    return str(_parser().render(shown))


def _plain(text: str) -> list[Token]:
    token = Token("code_block", "code", 0)
    token.content = text
    return [token]


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables, and without what a page must not take from others."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    setattr(made, "validateLink", _leads_to_the_web)  # noqa: B010  # its documented way
    made.core.ruler.push("lower_headings", _lower)
    made.add_render_rule("image", _picture)
    made.add_render_rule("link_open", _link)
    return made


def _leads_to_the_web(address: str) -> bool:
    """Whether a link is one; other schemes, and files of the repository, stay text."""
    return address.lower().startswith(_WEB)


def _lower(state: Any) -> None:  # markdown-it's state, which has no exported type
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"


def _link(
    self: Any, tokens: Sequence[Token], index: int, options: Any, _env: MutableMapping[str, Any]
) -> str:  # as markdown-it calls it
    tokens[index].attrSet("rel", "noreferrer noopener nofollow")
    return str(self.renderToken(tokens, index, options, _env))


def _picture(
    self: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:  # the same
    """A picture would be loaded from elsewhere, so its words stand for it."""
    told = self.renderInlineAsText(tokens[index].children or [], options, env)
    return f"[{_escaped(told) or 'picture'}]"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
