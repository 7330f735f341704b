"""The style sheet and the scripts of the console, kept by browsers for as long as they are these.

All of them lie below one path that names what they are together, so that modules import each other
by their plain names, and a new release is a new path.
"""

from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from hornbook.serve.http.problems import HttpRefusal

ASSETS = "/assets/"
_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_TYPES[".svg"] = "image/svg+xml"
_KEPT = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


@cache
def _files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir())}


@cache
def release() -> str:
    """What names the files as they are together."""
    found = sha256()
    for name, data in _files().items():
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()[:16]


def asset_path(name: str) -> str:
    """Where a file is found, below the path that the server lies below."""
    return f"{ASSETS}{release()}/{name}"


@router.get(f"{ASSETS}{{of}}/{{name}}")
async def asset(of: str, name: str) -> Response:
    """One file; under the name of another release it is not kept."""
    data = _files().get(name)
    if data is None:
        raise HttpRefusal(404, "not-found", "there is no such file: load the page again.")
    kept = _KEPT if of == release() else "no-cache"
    kind = _TYPES[Path(name).suffix]
    return Response(data, headers={"cache-control": kept}, media_type=kind)
