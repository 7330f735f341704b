"""What a package.json says about the tools of JavaScript and TypeScript."""

import re
import shlex
from collections.abc import Iterable, Iterator

from hornbook.gates.detection.signs import PresetDifference, Signs, off, table

_TESTING = {"npm": "npm test", "pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test"}
_RUNNERS = {"vitest": "npx --no-install vitest run", "jest": "npx --no-install jest"}
_REPORTS = {
    "vitest": " --coverage.reporter=text --coverage.reporter=json-summary",
    "jest": "",
}
_AROUND = {
    "c8": "npx --no-install c8 --reporter=text --reporter=json-summary ",
    "nyc": "npx --no-install nyc --reporter=text --reporter=json-summary ",
}
"""How each tool leaves a report that can be read."""
_COVERAGE_SCRIPTS = ("test:coverage", "coverage", "test:cov", "test-coverage", "cov")
_FORMAT_SCRIPTS = ("format:check", "check:format", "format-check", "fmt:check", "prettier:check")
_LINTERS = {
    "oxlint": "npx --no-install oxlint",
    "biome": "npx --no-install biome lint",
    "xo": "npx --no-install xo",
    "standard": "npx --no-install standard",
    "tslint": "npx --no-install tslint --project .",
}
"""Other linters than eslint, in the order in which they are looked for."""
_PACKAGES = {"biome": "@biomejs/biome"}
_LINTER_FILES = {"oxlint": (".oxlintrc.json", "oxlint."), "biome": ("biome.json",)}
_FANS_OUT = re.compile(
    r"\b(?:turbo|nx|lerna|rush|moon|wireit|lage)\b|--workspaces\b|(?<!\S)-ws\b"
    r"|\bworkspaces? (?:foreach|run)\b|\bpnpm\b.*\s(?:-r|--recursive)\b"
    r"|\b(?:pnpm|bun)\b.*\s--filter[ =]['\"]?(?:\./|[^ ]*\*)"
)
_CALLED = re.compile(
    r"(?:^|&&|;|npx) *(?:eslint|oxlint|biome|tsc|tsgo|vue-tsc|vitest|jest|mocha|ava|node --test)\b"
)
_NAMED_SCRIPT = re.compile(r"(?:npm run|(?:pnpm|yarn|bun)(?: run)?) ([\w:.-]+)(?: .*)?")
_DEEPEST = 4
_ONE_CALL = re.compile(
    r"(?:(?:\w+=\S*|cross-env|npx|bunx|pnpm exec|yarn|env-cmd) +)*(vitest|jest)(?: [^&|;]*)?"
)
_REWRITES = re.compile(r"--(?:fix|write|apply)\b")
_SAYS_ONLY = frozenset({"echo", "printf", "exit", "true", "false", ":"})


def script(package: dict[str, object], *names: str) -> str:
    """The first script of such a name that does something; scripts that it names are followed.

    One that only speaks and ends, as npm writes it, does nothing.
    """
    scripts = table(package, "scripts")
    for name in names:
        found = scripts.get(name)
        if isinstance(found, str) and not _only_speaks(found):
            return _followed(scripts, found, _DEEPEST)
    return ""


def test_script(package: dict[str, object]) -> str:
    """The script that runs the tests; none if it only says that there are none."""
    return script(package, "test")


def run_script(signs: Signs, name: str) -> str:
    """The command that runs a script with the folder's package manager."""
    return _TESTING[signs.manager()] if name == "test" else f"{signs.manager()} run {name}"


def _only_speaks(line: str) -> bool:
    try:
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        tokens = list(words)
    except ValueError:
        return False
    starts = [
        token
        for before, token in zip(["&&", *tokens], tokens, strict=False)
        if set(before) <= set("&|;")
    ]
    return _SAYS_ONLY.issuperset(starts)


def _followed(scripts: dict[str, object], line: str, deepest: int) -> str:
    """A script with the text of those that it names in their place."""
    parts = re.split(r"( *(?:&&|;) *)", line)
    for place, part in enumerate(parts):
        named = _NAMED_SCRIPT.fullmatch(part.strip())
        inner = scripts.get(named[1]) if named is not None and deepest else None
        if isinstance(inner, str):
            parts[place] = _followed(scripts, inner, deepest - 1)
    return "".join(parts)


def fans_out(line: str) -> bool:
    """Whether a script starts those of the packages below, and no tool by itself."""
    return _FANS_OUT.search(line) is not None and _CALLED.search(line) is None


def dependencies(package: dict[str, object]) -> set[str]:
    """The packages that a package.json names."""
    return {*table(package, "dependencies"), *table(package, "devDependencies")}


def is_workspace(signs: Signs) -> bool:
    """Whether a folder has packages below it."""
    return "workspaces" in signs.package or signs.has("pnpm-workspace.yaml")


def typescript(signs: Signs) -> Iterable[PresetDifference]:
    """Type-checked by tsconfig.json, linted with what is used, tested as package.json says."""
    if not signs.has("tsconfig.json"):
        yield off("build", "no sign of tsconfig.json here")
    elif re.search(r'"files"\s*:\s*\[\s*\]', signs.text("tsconfig.json")):
        why = "its tsconfig.json only refers to others"
        yield PresetDifference("build", "npx --no-install tsc -b", why)
    yield from _linted(signs)
    yield from _formatted(signs)
    yield from _tested(signs)


def _linted(signs: Signs) -> Iterator[PresetDifference]:
    uses = dependencies(signs.package)
    if "eslint" in uses or signs.named("eslint.config.", ".eslintrc"):
        return
    line = script(signs.package, "lint")
    tool = next((each for each in _LINTERS if _is_linter(signs, each, line)), None)
    usable = line and not _REWRITES.search(line) and not fans_out(line)
    if usable and (tool is None or re.match(rf"(?:npx )?{tool}\b[^&|;]*$", line)):
        yield PresetDifference("lint", f"{signs.manager()} run lint", "it is a script here")
    elif tool is not None:
        yield PresetDifference("lint", _LINTERS[tool], f"{tool} is used here")
    else:
        yield off("lint", "no sign of eslint, oxlint, biome or another linter here")


def _is_linter(signs: Signs, tool: str, line: str) -> bool:
    uses = dependencies(signs.package) | dependencies(signs.root_package)
    shown = signs.named(*_LINTER_FILES[tool]) if tool in _LINTER_FILES else False
    return shown or _PACKAGES.get(tool, tool) in uses or bool(re.match(rf"{tool}\b", line))


def _formatted(signs: Signs) -> Iterator[PresetDifference]:
    """One more gate where a script or dprint's configuration shows that layout is checked."""
    name = next((each for each in _FORMAT_SCRIPTS if script(signs.package, each)), None)
    if name is not None and not _REWRITES.search(script(signs.package, name)):
        yield PresetDifference("format", f"{signs.manager()} run {name}", "it is a script here")
    elif signs.has("dprint.json", ".dprint.json"):
        yield PresetDifference("format", "dprint check", "dprint is configured here")


def _tested(signs: Signs) -> Iterator[PresetDifference]:
    manager = signs.manager()
    line = test_script(signs.package)
    if line:
        if manager != "npm":
            yield PresetDifference("test", _TESTING[manager], f"{manager} has the lock file")
        yield from _measured(signs, line)
        return
    runner = next((each for each in _RUNNERS if _is_runner(signs, each)), None)
    if runner is None:
        why = "no test script in package.json"
        yield from (off(gate, why) for gate in ("test", "coverage"))
        return
    yield PresetDifference("test", _RUNNERS[runner], "no test script in package.json")
    yield from _measured(signs, _RUNNERS[runner])


def _is_runner(signs: Signs, runner: str) -> bool:
    """Whether a folder without a test script has tests of a runner; packages have their own."""
    configured = signs.has(f"{runner}.config.", f"{runner}.workspace.")
    return configured or (runner in dependencies(signs.package) and not is_workspace(signs))


def _measured(signs: Signs, test: str) -> Iterator[PresetDifference]:
    """Coverage, by a script for it, else by the runner where the tests are one call of it."""
    named = next((each for each in _COVERAGE_SCRIPTS if script(signs.package, each)), None)
    line = script(signs.package, named) if named is not None else ""
    if named is not None and not fans_out(line):
        command = f"{signs.manager()} run {named}"
        yield PresetDifference("coverage", _reporting(signs, command, line), "it is a script here")
        return
    called = _ONE_CALL.fullmatch(test.removeprefix("npx --no-install "))
    around = next((each for each in _AROUND if each in dependencies(signs.package)), None)
    if called is not None and _can_measure(signs, called[1]):
        yield from _with_flags(signs, test, called[1])
    elif around is not None and not fans_out(test):
        command = _AROUND[around] + _TESTING[signs.manager()]
        yield PresetDifference("coverage", command, f"{around} is a dependency")
    else:
        yield off("coverage", "no script for coverage, and no single call of a tool that measures")


def _can_measure(signs: Signs, runner: str) -> bool:
    """Jest measures by itself, vitest with a package for it."""
    uses = dependencies(signs.package) | dependencies(signs.root_package)
    return runner == "jest" or any(each.startswith("@vitest/coverage-") for each in uses)


def _with_flags(signs: Signs, test: str, runner: str) -> Iterator[PresetDifference]:
    manager, flags = signs.manager(), f" --coverage{_REPORTS[runner]}"
    if test == _RUNNERS[runner]:
        yield PresetDifference("coverage", test + flags, f"{runner} is here")
    elif runner != "jest" or manager != "npm":
        passed_on = " --" if manager == "npm" else ""
        yield PresetDifference(
            "coverage", _TESTING[manager] + passed_on + flags, f"its tests are a call of {runner}"
        )


def _reporting(signs: Signs, command: str, line: str) -> str:
    """The command of a script for coverage, with a report that can be read."""
    called = _ONE_CALL.fullmatch(line)
    flags = _REPORTS[called[1]] if called is not None else ""
    passed_on = " --" if flags and signs.manager() == "npm" else ""
    return f"{command}{passed_on}{flags}"
