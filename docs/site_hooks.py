"""Pages beside `docs/` become pages of the site: README, CONTRIBUTING, SECURITY and so on."""  # noqa: INP001

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# A page called README would be built in the place of the index.
BESIDE = {"README.md": "tour.md"} | {
    name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md")
}
_LINK = re.compile(r"\]\(([^()\s#]+)(#[^()\s]*)?\)")


def on_config(config: Any) -> Any:  # mkdocs' own type is untyped
    """Leave out what is not written yet."""
    missing = [name for name in BESIDE if not (ROOT / name).exists()]
    config.nav = [_without(each, missing) for each in config.nav]
    return config


def _without(part: Any, names: list[str]) -> Any:
    if isinstance(part, dict):
        return {title: _without(each, names) for title, each in part.items()}
    if isinstance(part, list):
        return [_without(each, names) for each in part if _target(each) not in names]
    return part


def _target(part: Any) -> Any:
    return next(iter(part.values())) if isinstance(part, dict) else part


def on_files(files: Files, config: Any) -> Files:
    """Add the pages beside `docs/`."""
    for name, place in {**BESIDE, "LICENSE": "LICENSE"}.items():
        if (ROOT / name).exists():
            text = (ROOT / name).read_text(encoding="utf-8")
            files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between the repository's folders into links between the site's pages."""
    beside = page.file.src_uri in BESIDE.values()

    def moved(found: re.Match[str]) -> str:
        path, anchor = found[1], found[2] or ""
        if beside:
            path = path.removeprefix("docs/")
        elif path.startswith("../") and path[3:] in BESIDE:
            path = path[3:]
        if path in BESIDE and not (ROOT / path).exists():
            return "](index.md)"
        return f"]({BESIDE.get(path, path)}{anchor})"

    return _LINK.sub(moved, markdown)
