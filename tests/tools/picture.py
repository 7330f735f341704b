"""The picture of one answer in the README: `python -m tests.tools.picture` draws it anew."""

import html
import re
import sys
import textwrap
from pathlib import Path

PICTURE = Path(__file__).parents[2] / "docs" / "review-check.svg"
COLUMNS = 80
_WIDTH, _HEIGHT, _MARGIN = 8.4, 20, 20
_COLOURS = (
    (r"^\$ .*", "#8ab4f8"),
    (r"^invalid\b|\b(?:missing_sop|unresolved_evidence)\b|not judged", "#ff7b72"),
    (r"^[a-z ]+$", "#d2a8ff"),
)


def drawn(command: str, answer: str) -> str:
    """An SVG of a command and its answer, as a terminal of 80 columns shows them."""
    lines = [line for each in (f"$ {command}", *answer.splitlines()) for line in _wrapped(each)]
    width, height = COLUMNS * _WIDTH + 2 * _MARGIN, len(lines) * _HEIGHT + 2 * _MARGIN
    texts = "\n".join(
        f'<text x="{_MARGIN}" y="{_MARGIN + 14 + number * _HEIGHT}">{_coloured(line)}</text>'
        for number, line in enumerate(lines)
        if line.strip()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" role="img" aria-label="hornbook review check refuses a review">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#161b22"/>\n'
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" '
        f'fill="#e6edf3" style="white-space: pre">\n{texts}\n</g>\n</svg>\n'
    )


def shown(svg: str) -> str:
    """The text of a picture, on one line."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", " ".join(lines))).split())


def _wrapped(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, COLUMNS, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _coloured(line: str) -> str:
    for pattern, colour in _COLOURS:
        found = re.search(pattern, line)
        if found is not None:
            before, inside, after = line[: found.start()], found[0], line[found.end() :]
            return f'{_plain(before)}<tspan fill="{colour}">{_plain(inside)}</tspan>{_plain(after)}'
    return _plain(line)


def _plain(text: str) -> str:
    return html.escape(text, quote=False).replace("  ", "\u00a0\u00a0")


if __name__ == "__main__":
    command = sys.argv[1] if sys.argv[1:] else "hornbook review check"
    answer = re.sub(r"[0-9a-f]{12}\.\.[0-9a-f]{12}", "…", sys.stdin.read())
    PICTURE.write_text(drawn(command, answer), encoding="utf-8")
