"""A home folder for one call: what a program needs of the user's, and nothing that it leaves there.

A program's log-in lies in the user's home, and so do the transcripts of everybody else's sessions,
keys, and settings that the user's next session obeys. So each call has a folder of its own in the
place of the home. What it needs is bound read-only (`read`), copied (`copy`), or copied and given
back (`back`): a credential that was refreshed meanwhile is worth keeping. Tools that people install
into their home stay readable, since a test without its interpreter says nothing.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hornbook.disk import locked, read_left, write_whole
from hornbook.process.confinement import Means, OwnHome
from hornbook.settings.surroundings import HomeSettings

# Where people's tools live below a home: programs and packages, no settings and no credentials.
_TOOLS = """
.asdf .bun .cabal .cargo/bin .cargo/git .cargo/registry .conda .deno .dotnet .elan .fnm .gem .ghcup
.go .goenv .gradle/caches .gradle/jdks .gradle/wrapper .hex .jabba .jenv .julia .juliaup .konan
.linuxbrew .local/bin .local/lib .local/pipx .local/share/fnm .local/share/mise .local/share/pipx
.local/share/pnpm .local/share/uv .local/share/virtualenvs .m2/repository .m2/wrapper .mix
.nix-profile .npm-global .npm-packages .npm/_cacache .nuget/packages .nvm .opam .phpenv .pub-cache
.pyenv .rbenv .rustup .rvm .sbt .sdkman .stack .swiftly .volta .yarn anaconda3 bin go mambaforge
miniconda3 miniforge3 sdk .cache/Cypress .cache/bazel .cache/coursier .cache/deno .cache/go-build
.cache/golangci-lint .cache/ms-playwright .cache/pip .cache/pnpm .cache/pre-commit .cache/puppeteer
.cache/pypoetry .cache/uv .cache/yarn .config/composer/vendor .composer/vendor
"""
# Variables that say where a tool was put instead.
_ROOTS = """
CONDA_PREFIX DOTNET_ROOT GEM_HOME GOMODCACHE GOPATH GOROOT JAVA_HOME MAVEN_HOME NODE_PATH NVM_DIR
PNPM_HOME PYENV_ROOT RBENV_ROOT RUSTUP_HOME VIRTUAL_ENV
"""


MOST_BYTES = 1_000_000
"""No log-in is larger."""


@dataclass(frozen=True, slots=True)
class _Borrowed:
    """A credential that was copied: where it came from, where it lies, and what it was."""

    source: Path
    copy: Path
    text: bytes


def tools_below(home: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """What of a home holds tools: the usual folders, and those that the environment names."""
    usual = [home / each for each in _TOOLS.split()]
    named = [environment.get(name, "") for name in _ROOTS.split()]
    listed = [part for value in (environment.get("PATH", ""), *named) for part in value.split(":")]
    inside = [_whole(Path(each)) for each in listed if each.startswith(f"{home}/")]
    return tuple(each for each in dict.fromkeys((*usual, *inside)) if each.exists())


def _whole(folder: Path) -> Path:
    """A folder of programs; of a virtual environment's all of it, as they need what lies beside."""
    return folder.parent if (folder.parent / "pyvenv.cfg").is_file() else folder


@contextmanager
def own_home(
    place: Path,
    folder: Path,
    wanted: HomeSettings,
    *,
    shown: Sequence[Path] = (),
    means: Means = Means.BUBBLEWRAP,
) -> Iterator[OwnHome]:
    """A home for one call; credentials that it refreshed are given back when the block is left.

    `place` is the user's home, `folder` what takes its place, `shown` what else of the real one
    can be read. Where it cannot be laid over the other, links lead to what can be read of that.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in wanted.copy:
        _copied(place / name, folder / name)
    borrowed = [each for name in wanted.back for each in _borrow(place / name, folder / name)]
    readable = [place / name for name in wanted.read]
    linked = [*readable, *(path for path in shown if path.is_relative_to(place))]
    for path in sorted(linked) if means is not Means.BUBBLEWRAP else ():
        _link(path, folder / path.relative_to(place))
    try:
        yield OwnHome(place, folder, (*(path for path in readable if path.exists()), *shown))
    finally:
        _give_back(borrowed, folder, place)


def _copied(source: Path, target: Path) -> None:
    if not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=_no_sockets, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def _no_sockets(folder: str, names: list[str]) -> Iterable[str]:
    """What cannot be copied: sockets, pipes and devices."""
    paths = {name: Path(folder) / name for name in names}
    return [
        name
        for name, path in paths.items()
        if not (path.is_symlink() or path.is_dir() or path.is_file())
    ]


def _borrow(source: Path, target: Path) -> Iterator[_Borrowed]:
    if source.is_file():
        _copied(source, target)
        yield _Borrowed(source, target, target.read_bytes())


def _link(source: Path, target: Path) -> None:
    if source.exists() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)


def _give_back(borrowed: Sequence[_Borrowed], folder: Path, place: Path) -> None:
    """Keep credentials that were refreshed, one call after the other.

    A file that is no longer the same JSON with other values is dropped, and so is one whose
    original somebody else has changed meanwhile: theirs is the newer one.
    """
    read = ((each, _read(folder, each.copy)) for each in borrowed)
    changed = [(each, new) for each, new in read if new is not None and new != each.text]
    if not changed:
        return
    ours = place / ".cache" / "hornbook"
    ours.mkdir(parents=True, exist_ok=True)
    with locked(ours / "home.lock"):
        for each, new in changed:
            theirs = None if each.source.is_symlink() else _read(place, each.source)
            if theirs != each.text:
                continue
            shape = _keys(new)
            if shape is not None and shape == _keys(each.text):
                write_whole(each.source, new, each.source.stat().st_mode & 0o777)


def _read(folder: Path, path: Path) -> bytes | None:
    try:
        return read_left(folder, path, MOST_BYTES)
    except (OSError, ValueError):
        return None


def _keys(text: bytes) -> object:
    """The shape of a JSON file: its keys at every depth; None if it is no JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return _shape(found) if isinstance(found, dict) else None


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    return type(value).__name__ if isinstance(value, list) else "value"
