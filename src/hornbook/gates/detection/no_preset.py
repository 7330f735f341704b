"""Languages and build tools that no preset is for: they are told, with a command to begin with."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hornbook.gates.detection.signs import folder_of, is_below


@dataclass(frozen=True, slots=True)
class _Unsupported:
    """What shows it, and how its tests are usually run; `beside` a preset a build tool is none."""

    name: str
    manifests: tuple[str, ...]
    tests: str
    beside: bool = True


_KNOWN = (
    _Unsupported("Julia", ("Project.toml",), "julia --project -e 'using Pkg; Pkg.test()'"),
    _Unsupported("Elixir", ("mix.exs",), "mix test"),
    _Unsupported("Erlang", ("rebar.config",), "rebar3 eunit"),
    _Unsupported("Gleam", ("gleam.toml",), "gleam test"),
    _Unsupported("Swift", ("Package.swift",), "swift test"),
    _Unsupported("Dart", ("pubspec.yaml",), "dart test"),
    _Unsupported("Scala", ("build.sbt", "build.mill"), "sbt test"),
    _Unsupported("Clojure", ("deps.edn", "project.clj"), "clojure -M:test"),
    _Unsupported("Haskell", ("*.cabal", "cabal.project", "stack.yaml"), "cabal test"),
    _Unsupported("OCaml", ("dune-project",), "dune test"),
    _Unsupported("Zig", ("build.zig",), "zig build test"),
    _Unsupported("Nim", ("*.nimble",), "nimble test"),
    _Unsupported("Crystal", ("shard.yml",), "crystal spec"),
    _Unsupported("Perl", ("Makefile.PL", "cpanfile", "dist.ini"), "prove -l"),
    _Unsupported("R", ("NAMESPACE",), "Rscript -e 'testthat::test_local()'"),
    _Unsupported("Lua", ("*.rockspec",), "busted"),
    _Unsupported("Elm", ("elm.json",), "elm-test"),
    _Unsupported("Solidity", ("foundry.toml",), "forge test"),
    _Unsupported("Deno", ("deno.json", "deno.jsonc"), "deno test", beside=False),
    _Unsupported("Bazel", ("MODULE.bazel", "WORKSPACE"), "bazel test //...", beside=False),
    _Unsupported("Meson", ("meson.build",), "meson test -C build", beside=False),
    _Unsupported("Autotools", ("configure.ac",), "make check", beside=False),
    _Unsupported("Make", ("Makefile", "GNUmakefile"), "make test", beside=False),
)


def is_manifest(name: str) -> bool:
    """Whether a file shows one of them."""
    return any(fnmatchcase(name, each) for known in _KNOWN for each in known.manifests)


def notes(manifests: Sequence[str], gated: Collection[str]) -> Iterator[str]:
    """A sentence for each that the files show; `gated` are the folders with a preset."""
    for each in _KNOWN:
        found = next(iter(sorted(_shown(each, manifests, gated), key=_depth)), None)
        if found is not None:
            yield (
                f"{each.name}: {found} is here, but no preset is for it: write gates of your own"
                f" under `additional`, such as `{each.tests}`."
            )


def _shown(each: _Unsupported, manifests: Sequence[str], gated: Collection[str]) -> Iterator[str]:
    for path in manifests:
        named = any(fnmatchcase(path.rpartition("/")[2], pattern) for pattern in each.manifests)
        covered = not each.beside and any(is_below(folder_of(path), folder) for folder in gated)
        if named and not covered:
            yield path


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path
