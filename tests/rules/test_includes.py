"""What a tool reads with a rule file: found as its documentation says, in order, each once."""

from collections.abc import Sequence

import pytest

from hornbook.rules.includes import IncludeSource, Inclusion, inclusions
from hornbook.rules.links import PathKind


class Files:
    """A tree of plain files by their texts."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def kind(self, path: str) -> PathKind:
        if path in self._files:
            return PathKind.FILE
        below = any(each.startswith(f"{path}/") for each in self._files)
        return PathKind.FOLDER if below else PathKind.NOTHING

    def target(self, path: str) -> str:
        raise AssertionError(path)

    def names(self, folder: str) -> Sequence[str]:
        above = f"{folder}/" if folder else ""
        below = (each.removeprefix(above) for each in self._files if each.startswith(above))
        return sorted({each.partition("/")[0] for each in below})

    def read(self, path: str) -> bytes:
        return self._files[path].encode()


def included(path: str, files: dict[str, str]) -> Inclusion:
    source = IncludeSource(Files(files), lambda _path: False, 10_000)
    return inclusions(source, {path: path}).get(path, Inclusion())


def paths(path: str, files: dict[str, str]) -> list[tuple[str, str | None]]:
    return [(each.path, each.unread) for each in included(path, files).includes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@docs/a.md", [("docs/a.md", None)]),
        ("See @docs/a.md, and @./docs/b.md.", [("docs/a.md", None), ("docs/b.md", None)]),
        ("@docs/a.md#part", [("docs/a.md", None)]),
        ("@README for more", [("README", None)]),
        ("@docs/with\\ space.md", [("docs/with space.md", None)]),
        ("`@docs/a.md`", []),
        ("``x ` @docs/a.md``", []),
        ("```\n@docs/a.md\n```", []),
        ("<!-- @docs/a.md -->", []),
        ("me@docs/a.md", []),
        ("@alice and @types/node, @scope/pkg", []),
        ("@docs", []),
        ("@dataclass(frozen=True)", []),
        ("@docs/gone.md", [("docs/gone.md", "broken_include")]),
        ("@./gone.py", [("gone.py", "broken_include")]),
        ("@docs/<name>.md", []),
        ("@~/.claude/me.md", [("~/.claude/me.md", "personal")]),
        ("@/etc/rules.md", [("/etc/rules.md", "personal")]),
        ("The import alias is @/ as in @/components/ui", []),
        ("@CLAUDE.local.md", [("CLAUDE.local.md", "personal")]),
        ("@../out.md", [("../out.md", "broken_include")]),
    ],
)
def test_claude_includes_paths_outside_code(text: str, expected: object) -> None:
    files = {"docs/a.md": "a", "docs/b.md": "b", "README": "r", "docs/with space.md": "s"}
    assert paths("CLAUDE.md", {"CLAUDE.md": text, **files}) == expected


def test_includes_are_relative_to_the_file_that_says_them() -> None:
    files = {"web/CLAUDE.md": "@docs/a.md", "web/docs/a.md": "@b.md", "web/docs/b.md": "b"}
    found = included("web/CLAUDE.md", files).includes
    assert [(each.path, each.by, each.line) for each in found] == [
        ("web/docs/a.md", "web/CLAUDE.md", 1),
        ("web/docs/b.md", "web/docs/a.md", 1),
    ]


def test_a_cycle_is_read_once() -> None:
    files = {"CLAUDE.md": "@a.md @b.md", "a.md": "@b.md", "b.md": "@a.md @CLAUDE.md"}
    assert paths("CLAUDE.md", files) == [("a.md", None), ("b.md", None)]


def test_the_tool_stops_after_five_includes_and_that_is_told() -> None:
    files = {"CLAUDE.md": "@1.md"} | {f"{n}.md": f"@{n + 1}.md" for n in range(1, 8)}
    found = included("CLAUDE.md", files)
    assert [each.path for each in found.includes] == [f"{n}.md" for n in range(1, 6)]
    assert [problem.code for problem in found.problems] == ["include_not_read"]


def test_kiro_and_cursor_look_from_the_root_and_stop_there() -> None:
    files = {"api/a.yaml": "x", "docs/b.md": "@c.md", "docs/c.md": "c"}
    steering = "#[[file:api/a.yaml]] #[[file:docs/gone.md]] @docs/b.md"
    assert paths(".kiro/steering/s.md", {".kiro/steering/s.md": steering, **files}) == [
        ("api/a.yaml", None),
        ("docs/gone.md", "broken_include"),
    ]
    rule = "---\nalwaysApply: true\n---\nUse @docs/b.md\n"
    found = included(".cursor/rules/r.mdc", {".cursor/rules/r.mdc": rule, **files})
    assert [(each.path, each.line) for each in found.includes] == [("docs/b.md", 4)]


def test_agents_files_include_as_amp_does_and_no_further() -> None:
    files = {"AGENTS.md": "@docs/a.md", "docs/a.md": "@b.md", "docs/b.md": "b"}
    assert paths("AGENTS.md", files) == [("docs/a.md", None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See @docs/*.md.", ["docs/a.md", "docs/b.md"]),
        ("@**/*.md", ["docs/a.md", "docs/b.md", "docs/x/c.md"]),
        ("@docs/{a,x/c}.md, please", ["docs/a.md", "docs/x/c.md"]),
        ("@none/*.md @docs/[.md @../*.md", []),
    ],
)
def test_agents_files_include_by_patterns(text: str, expected: list[str]) -> None:
    files = {"docs/a.md": "a", "docs/b.md": "b", "docs/x/c.md": "c", "docs/d.py": "d"}
    assert paths("AGENTS.md", {"AGENTS.md": text, **files}) == [(each, None) for each in expected]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("@a.md\n", True),
        ("# Claude\n\n- @a.md\n- @a.md\n<!-- why -->\n", True),
        ("@a.md\n@~/me.md\n", True),
        ("See @a.md\n", False),
        ("@alice\n@a.md\n", False),
        ("# Only a heading\n", False),
    ],
)
def test_a_file_of_nothing_but_includes_is_known(text: str, alone: bool) -> None:
    assert included("CLAUDE.md", {"CLAUDE.md": text, "a.md": "a"}).nothing_else is alone


def test_what_is_no_text_or_too_large_is_not_part_of_a_rule() -> None:
    files = {"CLAUDE.md": "@logo.png @big.md", "logo.png": "P\0NG", "big.md": "x" * 20_000}
    found = included("CLAUDE.md", files)
    assert [(each.path, each.unread) for each in found.includes] == [("big.md", "broken_include")]
    assert {problem.code for problem in found.problems} == {"include_not_read", "broken_include"}


@pytest.mark.parametrize(
    ("written", "globs"),
    [
        ("globs: ['*.ts', 'web/**']", ("**/*.ts", "**/web/**")),
        ("globs: ['./x/**', '../*.py']", ("/docs/x/**", "/*.py")),
        ("globs: '*.ts'", ()),
        ("globs: [1]", ()),
        ("globs: ['[']", ()),
        ("title: x", ()),
    ],
)
def test_globs_in_what_agents_files_include_say_for_which_files(
    written: str, globs: tuple[str, ...]
) -> None:
    text = f"---\n{written}\n---\nText.\n"
    (found,) = included("AGENTS.md", {"AGENTS.md": "@docs/a.md\n", "docs/a.md": text}).includes
    assert found.globs == globs
    (plain,) = included("CLAUDE.md", {"CLAUDE.md": "@docs/a.md\n", "docs/a.md": text}).includes
    assert plain.globs == ()
