"""Each tool's rule files bind as the tool would have it, and say so where they cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.rules.document_reader import Reading, is_rule_file, read
from hornbook.rules.readers.registry import READERS
from hornbook.text.globs import parse, parse_set
from hornbook.vocabulary.terms import Activation, Category, Level, Scope, Severity
from tests.kit.growth import in_proportion
from tests.kit.paths import CORPUS


def rule(path: str, front: str = "", body: str = "# T\n\nText.\n") -> Reading:
    return read(path, f"---\n{front}\n---\n{body}".encode() if front else body.encode())


def codes(found: Reading) -> list[str]:
    return [problem.code for problem in found.problems]


def globs(found: Reading) -> list[str]:
    return [pattern.glob for pattern in found.patterns]


SOP = ".hornbook/sources/docs/sops/x.md"
MDC = ".cursor/rules/x.mdc"
COPILOT = ".github/instructions/x.instructions.md"
CLAUDE = ".claude/rules/x.md"
KIRO = ".kiro/steering/x.md"
WINDSURF = ".windsurf/rules/x.md"
CLINE = ".clinerules/x.md"
CONTINUE = ".continue/rules/x.md"


@pytest.mark.parametrize(
    ("path", "front", "activation", "patterns"),
    [
        # our own
        (SOP, "applies_to: '**/*.go'", "glob", ["**/*.go"]),
        (SOP, "applies_to: a/*.{ts,tsx}, b", "glob", ["a/*.{ts,tsx}", "b"]),
        (SOP, "applies_to:\n- a\n- '!b'", "glob", ["a", "!b"]),
        (SOP, "applies_to: |\n  a\n  b", "glob", ["a", "b"]),
        (SOP, "applies_to: **/*.go", "glob", ["**/*.go"]),
        (SOP, "globs: a", "glob", ["a"]),
        (SOP, "applyTo: a", "glob", ["a"]),
        (SOP, "paths: [a]", "glob", ["a"]),
        (SOP, "fileMatchPattern: a", "glob", ["a"]),
        (SOP, "applies_to: a\npaths: b", "glob", ["a", "b"]),
        (SOP, "title: T", "always", []),
        (SOP, "applies_to:", "always", []),
        (SOP, "applies_to: []", "never", []),
        (SOP, "applies_to: ''", "never", []),
        (SOP, "applies_to: a\nactivation: always", "always", ["a"]),
        (SOP, "activation: manual", "manual", []),
        (SOP, "activation: glob", "unknown", []),
        (SOP, "activation: sometimes", "unknown", []),
        (SOP, "applies_to: 'a{'", "unknown", []),
        (SOP, "applies_to: ['!a']", "unknown", ["!a"]),
        (SOP, "applies_to: [a, 1, null]", "unknown", ["a"]),
        (SOP, "applies_to: true", "unknown", []),
        (SOP, "applies_to: src\\api\\*.ts", "unknown", []),
        (".hornbook/sources/docs/specs/x.md", "applies_to: a", "glob", ["a"]),
        (".hornbook/sources/docs/specs/x.md", "title: T", "manual", []),
        ("docs/x.md", "title: T", "manual", []),
        ("docs/x.md", "category: sop\napplies_to: a", "glob", ["a"]),
        # Cursor
        (MDC, "alwaysApply: true\nglobs: a", "always", []),
        (MDC, "alwaysApply: false\nglobs: **/*.ts, src/**", "glob", ["**/*.ts", "src/**"]),
        (MDC, "globs: [a, b]", "glob", ["a", "b"]),
        (MDC, "description: x\nglobs:\nalwaysApply: false", "model", []),
        (MDC, "description: x\nglobs: []", "model", []),
        (MDC, "description:\nglobs:\nalwaysApply: false", "manual", []),
        (MDC, "", "manual", []),
        (MDC, 'alwaysApply: "true"', "manual", []),
        (MDC, "globs: '*.{ts'", "unknown", []),
        (".cursorrules", "", "always", []),
        (".cursor/rules/x.md", "alwaysApply: true", "never", []),
        ("a/.cursor/rules/x.mdc", "alwaysApply: true", "dir", ["a/**"]),
        ("a/.cursor/rules/x.mdc", "globs: *.ts", "glob", ["a/**/*.ts"]),
        ("a/.cursor/rules/x.mdc", "globs: src/*.ts", "glob", ["a/src/*.ts"]),
        ("a/.cursor/rules/x.mdc", "globs: '/x, !y'", "glob", ["a/x", "!a/**/y"]),
        ("a/.cursor/rules/x.mdc", "globs: '{src/**,*.md}'", "glob", ["{a/src/**,a/**/*.md}"]),
        ("a/[id]/.cursor/rules/x.mdc", "alwaysApply: true", "dir", ["a/\\[id\\]/**"]),
        # Copilot
        (".github/copilot-instructions.md", "", "always", []),
        (COPILOT, "applyTo: '**'", "always", ["**"]),
        (COPILOT, "applyTo: '**/*'", "always", ["**"]),
        (COPILOT, "applyTo: '*'", "glob", ["/*"]),
        (COPILOT, "applyTo: ['**']", "always", ["**"]),
        (COPILOT, "applyTo: '**, !vendor/**'", "glob", ["**", "!/vendor/**"]),
        (COPILOT, "applyTo: '**/*.ts, *.js'", "glob", ["**/*.ts", "/*.js"]),
        (COPILOT, "applyTo: src/**", "glob", ["/src/**"]),
        (COPILOT, "applyTo: ./src/*.py", "glob", ["/src/*.py"]),
        (COPILOT, "applyTo: /src/**", "glob", ["/src/**"]),
        (COPILOT, "applyTo: '**.ts'", "glob", ["**.ts"]),
        (COPILOT, "description: x", "manual", []),
        (COPILOT, "applyTo: '**'\nexcludeAgent: code-review", "never", ["**"]),
        (COPILOT, "applyTo: '**'\nexcludeAgent: [cloud-agent, code-review]", "never", ["**"]),
        (COPILOT, "applyTo: '**'\nexcludeAgent: cloud-agent", "always", ["**"]),
        # Claude Code
        ("CLAUDE.md", "", "always", []),
        ("CLAUDE.local.md", "", "always", []),
        (".claude/CLAUDE.md", "", "always", []),
        ("x/y/CLAUDE.md", "", "dir", ["x/y/**"]),
        ("x/.claude/CLAUDE.md", "", "dir", ["x/**"]),
        (CLAUDE, "", "always", []),
        (CLAUDE, "paths: [src/**, '*.ts']", "glob", ["src/**", "*.ts"]),
        (CLAUDE, "paths: src/**/*.{ts,tsx}, b", "glob", ["src/**/*.{ts,tsx}", "b"]),
        (CLAUDE, "globs: src/**", "always", []),
        (CLAUDE, "paths: ['a[']", "unknown", []),
        ("x/.claude/rules/y/z.md", "paths: src/**", "glob", ["x/src/**"]),
        ("x/.claude/rules/y/z.md", "", "dir", ["x/**"]),
        # AGENTS.md and the like
        ("AGENTS.md", "", "dir", ["**"]),
        ("x/AGENTS.md", "", "dir", ["x/**"]),
        ("x/AGENTS.override.md", "", "dir", ["x/**"]),
        ("x/GEMINI.md", "", "dir", ["x/**"]),
        (".junie/guidelines.md", "", "always", []),
        (".junie/AGENTS.md", "", "always", []),
        # Kiro
        (KIRO, "", "always", []),
        (KIRO, "inclusion: always", "always", []),
        (KIRO, "inclusion: fileMatch\nfileMatchPattern: a/*.ts", "glob", ["a/*.ts"]),
        (KIRO, "inclusion: fileMatch\nfileMatchPattern: [a, b]", "glob", ["a", "b"]),
        (KIRO, "inclusion: fileMatch", "unknown", []),
        (KIRO, "inclusion: manual", "manual", []),
        (KIRO, "inclusion: auto\nname: x\ndescription: y", "model", []),
        (KIRO, "inclusion: allways", "unknown", []),
        # Windsurf
        (WINDSURF, "trigger: always_on", "always", []),
        (WINDSURF, "trigger: glob\nglobs: *.ts, b", "glob", ["*.ts", "b"]),
        (WINDSURF, "trigger: glob", "unknown", []),
        (WINDSURF, "trigger: model_decision\ndescription: x", "model", []),
        (WINDSURF, "trigger: manual", "manual", []),
        (WINDSURF, "trigger: never", "unknown", []),
        (WINDSURF, "globs: a", "glob", ["a"]),
        (WINDSURF, "", "always", []),
        ("a/.devin/rules/x.md", "trigger: always_on", "dir", ["a/**"]),
        (".windsurfrules", "", "always", []),
        # Cline
        (".clinerules", "", "always", []),
        (CLINE, "", "always", []),
        (CLINE, "paths: [a, b]", "glob", ["a", "b"]),
        (CLINE, "paths: a", "always", []),
        (CLINE, "paths: []", "never", []),
        # Continue
        (CONTINUE, "", "always", []),
        (CONTINUE, "globs: '*.ts'", "glob", ["*.ts"]),
        (CONTINUE, "globs: ['*.ts']\nalwaysApply: true", "always", []),
        (CONTINUE, "globs: '*.ts'\nalwaysApply: false", "glob", ["*.ts"]),
        (CONTINUE, "alwaysApply: false\ndescription: x", "model", []),
        (CONTINUE, "regex: TODO", "model", []),
        (CONTINUE, "invokable: true", "never", []),
        # Roo and Augment
        (".roo/rules/x.md", "", "always", []),
        (".roo/rules-code/x.md", "", "always", []),
        (".roo/rules-architect/x.md", "", "manual", []),
        (".roorules", "", "always", []),
        (".augment/rules/x.md", "type: always_apply", "always", []),
        (".augment/rules/x.md", "type: agent_requested\ndescription: x", "model", []),
        (".augment/rules/x.md", "type: manual", "manual", []),
    ],
)
def test_rules_bind_as_their_format_says(
    path: str, front: str, activation: str, patterns: list[str]
) -> None:
    found = rule(path, front)
    assert found.activation == activation, found.problems
    assert globs(found) == patterns
    if found.activation.enforced:
        parse_set(globs(found))


UNREADABLE = [SOP, "docs/sops/x.md", MDC, COPILOT, CLAUDE, KIRO, WINDSURF, CLINE, CONTINUE]


@pytest.mark.parametrize("path", UNREADABLE)
@pytest.mark.parametrize("text", ["---\nglobs: a\n", "---\n{{{\n---\n", "+++\n=\n+++\n"])
def test_metadata_that_cannot_be_read_leave_the_activation_unknown(path: str, text: str) -> None:
    found = read(path, text.encode())
    assert found.activation is Activation.UNKNOWN
    assert any(problem.level is Level.ERROR for problem in found.problems)
    assert found.head + found.body == text


@pytest.mark.parametrize("path", ["AGENTS.md", "x/CLAUDE.md", ".cursorrules"])
def test_a_rule_without_metadata_binds_even_if_they_cannot_be_read(path: str) -> None:
    assert read(path, b"---\n{{{\n---\n").activation.enforced


@pytest.mark.parametrize(
    ("path", "front", "expected"),
    [
        (SOP, "title: T", [("no_applies_to", 1)]),
        (SOP, "title: T\napplies_to: []", [("empty_applies_to", 3)]),
        (SOP, "applys_to: a", [("no_applies_to", 1), ("unknown_key", 2)]),
        (SOP, "appliesTo: a", [("no_applies_to", 1), ("unknown_key", 2)]),
        (SOP, "applies_to: a\nserverity: info", [("unknown_key", 3)]),
        (SOP, "applies_to: a\nseverity: eror", [("bad_value", 3)]),
        (SOP, "applies_to: a\nscope: cod", [("bad_value", 3)]),
        (SOP, "applies_to: a\nowner: me\nreviewed: x", []),
        (SOP, "applies_to:\n- a\n- 'b['\n- 7", [("bad_glob", 4), ("bad_value", 5)]),
        (SOP, "title: [a]\napplies_to: a", [("bad_value", 2)]),
        ("docs/x.md", "catgory: sop", [("unknown_key", 2)]),
        ("docs/x.md", "applys_to: a", [("unknown_key", 2)]),
        ("docs/x.md", "path: /x\ntag: y", []),
        ("docs/x.md", "category: sopp\napplies_to: a", [("bad_value", 2)]),
        (MDC, 'description: x\nalwaysApply: "true"', [("bad_value", 3)]),
        (MDC, "globs: [a]", [("cursor_list", 2)]),
        (MDC, "glob: a", [("unknown_key", 2)]),
        (MDC, "paths: a", [("not_a_key", 2)]),
        (".cursor/rules/x.md", "", [("ignored_by_tool", 1)]),
        (COPILOT, "applyTo: ['**']", [("copilot_list", 2)]),
        (COPILOT, "applyTo: '**'\nexcludeAgent: code-review", [("excluded_from_review", 3)]),
        (COPILOT, "applyTo: src/*.py", [("read_otherwise", 2)]),
        (MDC, "globs: **/*.ts, src/**\nalwaysApply: false", []),
        (MDC, "globs: *.ts", []),
        (WINDSURF, "trigger: glob\nglobs: **/*.ts", []),
        (".agents/rules/x.md", "trigger: glob\nglobs: **/*.ts", []),
        (COPILOT, "applyTo: '/src/*.py, **/*.ts'", []),
        (COPILOT, "applyto: a", [("unknown_key", 2)]),
        (COPILOT, "globs: a", [("not_a_key", 2)]),
        (CLAUDE, "globs: a\nalwaysApply: true", [("not_a_key", 2)]),
        (CLAUDE, "alwaysApply: false", [("not_a_key", 2)]),
        (CLINE, "alwaysApply: true", []),
        (COPILOT, "alwaysApply: true", [("not_a_key", 2)]),
        (CLAUDE, "paths: a\nalwaysApply: true", []),
        ("AGENTS.md", "globs: a", [("not_a_key", 2)]),
        (KIRO, "inclusion: fileMatch", [("no_pattern", 2)]),
        (KIRO, "fileMatchPattern: a", [("pattern_not_used", 2)]),
        (KIRO, "inclusion: allways", [("bad_value", 2)]),
        (WINDSURF, "trigger: glob", [("no_pattern", 2)]),
        (WINDSURF, "", [("no_trigger", 1)]),
        (CLINE, "paths: a", [("bad_value", 2)]),
        (CONTINUE, "regex: x", [("regex_not_read", 2)]),
        (".roo/rules-ask/x.md", "", [("mode_only", 1)]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    path: str, front: str, expected: list[tuple[str, int]]
) -> None:
    assert [(p.code, p.line) for p in rule(path, front).problems] == expected


def test_every_problem_of_a_document_is_told_at_once() -> None:
    found = rule(SOP, "applies_to: [a, 'b{']\nseverity: eror\nscop: plan\nid: No.Id\nid: x.y")
    assert codes(found) == ["bad_glob", "bad_value", "unknown_key", "duplicate_key", "bad_id"]
    assert all(problem.path == SOP for problem in found.problems)


def test_a_misspelt_key_names_the_right_one() -> None:
    problem = rule(SOP, "applies_to: a\nserverity: info").problems[0]
    assert "did you mean `severity`?" in problem.message


def test_a_bad_severity_counts_as_the_strictest() -> None:
    found = rule(SOP, "applies_to: a\nseverity: eror")
    assert found.severity is Severity.ERROR
    assert "did you mean error" in found.problems[0].message


def test_a_bad_scope_counts_as_the_widest() -> None:
    assert rule(SOP, "applies_to: a\nscope: cod").scope is Scope.ALL


def test_stated_metadata_are_taken_as_they_are() -> None:
    front = """title: Error handling
category: sop
applies_to: ['**/*.go']
severity: Info
scope: all
domain: errors
domains: [api, errors]
related_domains: logging, tracing
keywords: [wrap]
tags: go, errors
summary: How we handle errors.
requirements:
  - Wrap errors
  - Note: never panic
project: hornbook
authority: platform-team
added_by: ada
added_at: 2024-01-31"""
    found = rule(SOP, front)
    assert found.inferred == ()
    assert found.title == "Error handling"
    assert found.severity is Severity.INFO
    assert found.scope is Scope.ALL
    assert found.domains == ("errors", "api")
    assert found.related_domains == ("logging", "tracing")
    assert found.keywords == ("wrap", "go", "errors")
    assert found.summary == "How we handle errors."
    assert found.requirements == ("Wrap errors", "Note: never panic")
    assert (found.project, found.authority) == ("hornbook", "platform-team")
    assert (found.added_by, found.added_at) == ("ada", "2024-01-31")
    assert not found.problems


def test_what_is_not_stated_is_inferred_and_named() -> None:
    body = "# Errors\n\nHow we do it.\n\n## Rules\n- You MUST wrap.\n"
    found = rule(SOP, "applies_to: a", body)
    assert (found.title, found.summary) == ("Errors", "How we do it.")
    assert (found.severity, found.requirements) == (Severity.ERROR, ("You MUST wrap.",))
    assert found.inferred == ("category", "requirements", "severity", "summary", "title")


@pytest.mark.parametrize(
    ("path", "front", "category", "tool"),
    [
        (SOP, "", "sop", "hornbook"),
        ("docs/sops/x.md", "", "sop", "hornbook"),
        ("sources/apis/x.md", "", "api", "hornbook"),
        ("docs/Specs/x.md", "", "spec", "hornbook"),
        ("docs/x.md", "", "reference", "plain"),
        ("docs/x.md", "category: sops", "sop", "hornbook"),
        ("docs/x.txt", "", "reference", "plain"),
        (MDC, "alwaysApply: true", "sop", "cursor"),
        (MDC, "description: x", "reference", "cursor"),
        ("AGENTS.md", "", "sop", "agents"),
        ("docs/adr/0001-x.md", "", "decision", "decision"),
        ("docs/adr/README.md", "", "reference", "plain"),
        ("docs/decisions/index.md", "", "reference", "plain"),
        ("docs/decisions/adr-template-bare.md", "", "reference", "plain"),
        ("docs/decisions/0000-template.md", "", "reference", "plain"),
        ("docs/decisions/0005-template-engine.md", "", "decision", "decision"),
        (".hornbook/sources/docs/decisions/README.md", "", "reference", "hornbook"),
        ("docs/adr/0001-x.md", "category: sop\napplies_to: a", "sop", "hornbook"),
        ("notes/x.md", "category: decision", "decision", "decision"),
    ],
)
def test_each_document_has_its_category(path: str, front: str, category: str, tool: str) -> None:
    found = rule(path, front)
    assert (found.category, found.tool) == (category, tool)


@pytest.mark.parametrize(
    ("path", "native"),
    [
        (SOP, True),
        (".semspec/sources/docs/sops/x.md", True),
        (MDC, True),
        ("a/b/.cursor/rules/c/x.mdc", True),
        (".cursorrules", True),
        (".github/copilot-instructions.md", True),
        (COPILOT, True),
        (".github/instructions/x.md", True),
        (".github/instructions/README.md", False),
        (".github/README.md", False),
        ("CLAUDE.md", True),
        ("x/AGENTS.md", True),
        (KIRO, True),
        (".clinerules/workflows/x.md", False),
        ("docs/adr/0001-x.md", True),
        ("services/a/docs/adr/0001-x.md", True),
        ("docs/adr/README.md", False),
        ("docs/sops/x.md", False),
        ("README.md", False),
        ("src/main.py", False),
    ],
)
def test_native_rule_files_are_told_by_path(path: str, native: bool) -> None:
    assert is_rule_file(path) is native


def test_text_files_are_plain_text() -> None:
    assert rule("docs/x.txt").mime_type == "text/plain"
    assert rule("docs/x.md").mime_type == rule(MDC).mime_type == "text/markdown"


def test_pattern_lines_and_raw_text_are_kept() -> None:
    found = rule(COPILOT, "description: x\napplyTo: 'src/**, b'")
    assert [(p.glob, p.raw, p.line) for p in found.patterns] == [
        ("/src/**", "src/**", 3),
        ("/b", "b", 3),
    ]


def test_a_list_of_two_pattern_forms_at_a_base_matches_both() -> None:
    found = rule("a/.cursor/rules/x.mdc", "globs: '{src/**,*.md}'")
    glob = parse(globs(found)[0])
    assert glob.matches("a/src/x.ts")
    assert glob.matches("a/deep/x.md")
    assert not glob.matches("b/x.md")


def test_folders_with_brackets_in_their_names_bind_themselves() -> None:
    glob = parse(globs(rule("app/[id]/{x}/AGENTS.md"))[0])
    assert glob.matches("app/[id]/{x}/page.tsx")
    assert not glob.matches("app/i/x/page.tsx")


def test_a_reading_becomes_a_document() -> None:
    found = rule(SOP, "applies_to: a")
    document = found.document(document_id="source.doc.sops.x", sha256="0" * 64, chunks=(), tokens=0)
    assert (document.id, document.path, document.patterns) == (
        "source.doc.sops.x",
        SOP,
        found.patterns,
    )


def test_large_files_are_read_fast() -> None:
    body = "# T\n\n## Rules\n- item\n" + "word goes on and on\n" * 250_000
    in_proportion(lambda text: rule(SOP, "applies_to: a", text), body)


@pytest.mark.parametrize(
    "text",
    [
        "---\n{{{ " + "ab" * 30_000 + "\n---\n",
        "---\na: b: " + " " * 60_000 + "x\n---\n",
        "---\na: b: c\nd: [\n" + "x\n" * 30_000 + "---\n",
        "# T\n\n## Status\n\n" + "superseded by [" * 20_000,
        "# " + "a " * 100_000 + "\n# b" + " #" * 100_000 + "x\n",
        "# T\n\n" + "<!--" * 100_000 + "- " * 100_000,
        "## Rules\n- a\n" * 10_000,
    ],
    ids=["word", "blanks", "brackets", "status", "heading", "comments", "sections"],
)
def test_hostile_text_takes_no_more_than_linear_time(text: str) -> None:
    in_proportion(lambda part: read("docs/adr/0001-x.md", part.encode()), text)


def test_every_tool_has_one_name() -> None:
    several = {"record", "codebuddy", "continue", "duo", "greptile", "qodo", "qwen"}
    tools = [reader.tool for reader in READERS if reader.tool not in several]
    assert len(set(tools)) == len(tools)


PATHS = [
    SOP,
    MDC,
    COPILOT,
    CLAUDE,
    KIRO,
    WINDSURF,
    CLINE,
    CONTINUE,
    "AGENTS.md",
    "docs/adr/1.md",
    ".agents/rules/x.md",
    "src/rules.md",
    ".coderabbit.yaml",
    ".pr_agent.toml",
    ".greptile/config.json",
    "x",
]
KEYS = ["applies_to", "globs", "paths", "applyTo", "alwaysApply", "inclusion", "fileMatchPattern"]
KEYS += ["trigger", "severity", "category", "status", "id", "requirements", "title", "excludeAgent"]
VALUES = ["a", "**/*", "[a, b]", "[1]", "true", "", "{a: b}", "'!x'", "[[a]]", "'{'", "glob", "sop"]
blocks = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=5)


@given(st.sampled_from(PATHS), blocks)
def test_no_metadata_are_fatal_and_bound_rules_have_sound_patterns(
    path: str, block: list[tuple[str, str]]
) -> None:
    found = rule(path, "\n".join(f"{key}: {value}" for key, value in block))
    if found.activation in {Activation.GLOB, Activation.DIR}:
        assert found.patterns
        parse_set(globs(found))


@given(st.sampled_from(PATHS), st.binary())
def test_no_file_is_fatal(path: str, data: bytes) -> None:
    assert read(path, data).path == path


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
def test_every_real_file_reads_and_every_scoped_rule_binds() -> None:
    for file in sorted(path for path in CORPUS.rglob("*") if path.is_file()):
        data = file.read_bytes()
        found = read(file.relative_to(CORPUS).as_posix(), data)
        assert (found.head + found.body).encode() == data
        assert not [p for p in found.problems if p.level is Level.ERROR], found.path
        head = found.head.split("\n")
        if any(line.startswith(("globs: ", "applyTo: ")) for line in head):
            assert found.activation in {Activation.GLOB, Activation.ALWAYS}, found.path
            assert found.category is Category.SOP
