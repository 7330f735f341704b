"""Drawings laid out in Python: SVG whose colours come from the style sheet, by class.

Nothing here has a `style`, which a strict policy would not apply. Every drawing has a title for
those who do not see it; a table beside it tells the same.
"""

from math import floor, log10

from markupsafe import Markup, escape

from hornbook.text.visible import visible

Attribute = str | int | float | None


def element(name: str, *inside: Markup | str, **attributes: Attribute) -> Markup:
    """An element; of an attribute's name a last `_` is dropped and any other is a hyphen.

    What is inside and not markup is shown as text. An attribute that is None is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    content = "".join(str(_shown(each)) for each in inside)
    return Markup(f"<{name}{given}>{content}</{name}>")  # noqa: S704  # all of it is escaped here


def drawing(
    width: float, height: float, title: str, *inside: Markup, leads: bool = False, bar: bool = False
) -> Markup:
    """A whole drawing, as wide as its place at most; `title` says what it shows.

    `leads` says that there are links in it, which a picture as such has none of. A `bar` is as wide
    as its place always, and stretched to it: there is no text in it.
    """
    return element(
        "svg",
        element("title", title),
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        role="group" if leads else "img",
        aria_label=title,
        preserveAspectRatio="none" if bar else None,
        class_="drawing bar" if bar else "drawing",
    )


def words(x: float, y: float, text: str, **attributes: Attribute) -> Markup:
    """A line of text whose base line begins at a place."""
    return element("text", text, x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def box(x: float, y: float, width: float, height: float, **attributes: Attribute) -> Markup:
    """A rectangle; text inside of it is its tooltip."""
    title = attributes.pop("title", None)
    inside = () if title is None else (element("title", str(title)),)
    return element("rect", *inside, x=x, y=y, width=width, height=height, **attributes)


def link(address: str, *inside: Markup, **attributes: Attribute) -> Markup:
    """What leads somewhere when it is chosen."""
    return element("a", *inside, href=address, **attributes)


def group(*inside: Markup, **attributes: Attribute) -> Markup:
    """Several as one."""
    return element("g", *inside, **attributes)


def ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to `most` or just above it, about `count` of them."""
    if most <= 0:
        return [0.0]
    rough = most / max(1, count)
    size = 10.0 ** floor(log10(rough))
    step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= rough)
    last = 0
    while last * step < most:
        last += 1
    return [number * step for number in range(last + 1)]


def _shown(each: Markup | str) -> Markup:
    return each if isinstance(each, Markup) else escape(visible(each))


def _value(value: Attribute) -> Markup:
    return escape(_number(value) if isinstance(value, float | int) else visible(str(value)))


def _number(value: float) -> str:
    """A number without digits that nobody sees."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
