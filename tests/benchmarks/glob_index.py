"""How much faster the glob index is than trying every pattern on every path.

Run with `python -m tests.benchmarks.glob_index` from the root of the checkout.
"""

import time
from collections.abc import Callable
from random import Random

from hornbook.text.glob_index import GlobIndex
from hornbook.text.globs import GlobSet, parse_set

PATTERNS = 10_000
PATHS = 1_000

_ENDINGS = ["py", "go", "ts", "tsx", "rs", "md", "yaml", "json", "java", "sql"]


_AREAS = [f"{('src', 'lib', 'apps')[number % 3]}/area{number}" for number in range(2_000)]


def _patterns(random: Random) -> list[list[str]]:
    """Return sets as large teams write them: mostly their own area, now and then everywhere."""
    shapes: list[Callable[[str, str, int], list[str]]] = [
        lambda area, ending, _: [f"{area}/**/*.{ending}"],
        lambda area, _, __: [f"{area}/**"],
        lambda area, ending, _: [f"{area}/*.{{{ending},md}}"],
        lambda area, ending, _: [f"{area}/**/*_test.{ending}"],
        lambda area, ending, _: [f"{area}/part?/**/*.{ending}", f"!{area}/part?/generated/"],
        lambda _, __, number: [f"**/name{number}.yaml"],
        lambda _, __, number: [f"*.kind{number}"],
        lambda _, __, number: [f"folder{number}/"],
    ]
    own = [
        random.choice(shapes)(random.choice(_AREAS), random.choice(_ENDINGS), number)
        for number in range(PATTERNS * 99 // 100)
    ]
    hard = [[f"*word{number}*"] for number in range(PATTERNS // 100 - 5)]
    wide = [["*.sql"], ["**/migrations/**"], ["Dockerfile*"], ["*secret*"], ["**/*.md", "!docs/"]]
    return own + hard + wide


def _paths(random: Random) -> list[str]:
    return [
        f"{random.choice(_AREAS)}/part{random.randrange(9)}/name{number}.{random.choice(_ENDINGS)}"
        for number in range(PATHS)
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _try_sets(sets: list[GlobSet], paths: list[str]) -> int:
    return sum(globs.match(path) is not None for path in paths for globs in sets)


def _try_regexes(sets: list[GlobSet], paths: list[str]) -> int:
    """Try the bare regex of each first pattern: the least that any loop over all would cost."""
    matches = [globs.globs[0].matcher._regex.match for globs in sets]
    return sum(match(path) is not None for path in paths for match in matches)


def measure() -> dict[str, float]:
    """Return seconds and ratios for 10k pattern sets and 1k paths.

    The loops are timed on a tenth of the paths, after a round that compiles the patterns.
    """
    random = Random(7)
    texts, paths = _patterns(random), _paths(random)
    sets: list[GlobSet] = []
    parsing = _seconds(lambda: sets.extend(map(parse_set, texts)))
    indexes: list[GlobIndex[int]] = []
    building = _seconds(lambda: indexes.append(GlobIndex(enumerate(sets))))
    found = [len(indexes[0].match(path)) for path in paths]
    looking_up = _seconds(lambda: [indexes[0].match(path) for path in paths])
    few = paths[::10]
    _try_sets(sets, few[:1])
    _try_regexes(sets, few[:1])
    trying_sets = _seconds(lambda: _try_sets(sets, few)) * len(paths) / len(few)
    trying_regexes = _seconds(lambda: _try_regexes(sets, few)) * len(paths) / len(few)
    return {
        "parse, s": parsing,
        "build, s": building,
        "look up, s": looking_up,
        "try all sets, s": trying_sets,
        "try all regexes, s": trying_regexes,
        "matches per path": sum(found) / len(found),
        "ratio to sets": trying_sets / looking_up,
        "ratio to regexes": trying_regexes / looking_up,
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:>18} {value:12.4f}")
