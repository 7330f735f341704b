"""JavaScript and TypeScript: relative specifiers; aliases and packages are not followed."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from hornbook.rules.code.followers.paths import folder_of, joined, relative

_TYPED = (".ts", ".tsx", ".mts", ".cts", ".d.ts")
_UNTYPED = (".js", ".jsx", ".mjs", ".cjs")
_WRITTEN_FOR = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript names the output: `./a.js` in its sources is `a.ts`."""


def follower(known: frozenset[str]) -> Callable[[str, str], Iterable[str]]:
    """What follows relative specifiers among the known paths."""
    return partial(_follow, known)


def _follow(known: frozenset[str], path: str, reference: str) -> Iterator[str]:
    if reference.partition("/")[0] not in {".", ".."}:
        return
    target = relative(folder_of(path), reference)
    if target is None:
        return
    typed = path.endswith(_TYPED)
    endings = (*_TYPED, *_UNTYPED, ".json") if typed else (*_UNTYPED, *_TYPED, ".json")
    found = next((each for each in _candidates(target, endings) if each in known), None)
    if found is not None:
        yield found


def _candidates(target: str, endings: tuple[str, ...]) -> Iterator[str]:
    if target:
        yield target
        yield from (target + ending for ending in endings)
        for written, sources in _WRITTEN_FOR.items():
            if target.endswith(written):
                yield from (target.removesuffix(written) + source for source in sources)
    yield from (joined(target, "index" + ending) for ending in endings)
