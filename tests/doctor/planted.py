"""A repository whose rules are sound, and many ways to spoil them, one defect each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.kit.git import git
from tests.kit.workspaces import write

AGENTS = """\
# Shop

Orders live in `src/orders/`, their tests in `tests/`. Read [the guide](docs/guide.md) first.

## Commands

- Run `npm run lint` and `npm test` before you commit.
- `make build` builds everything; `pnpm --filter web run dev` starts the shop.

```bash
cd web && npm run dev
make test
python scripts/seed.py
```

## Database

- Queries go through `src/db/client.ts`; `openClient` there returns a connection.
- Never import `src/db/client.ts` from a view.
- Use `Decimal` for money.
"""
CURSOR = """\
---
description: Components
globs: src/**/*.tsx,web/**/*.tsx
alwaysApply: false
---

# Components

Props are typed. See `api.mdc` for calls.
"""
API = """\
---
description: Calls
globs: src/api/**
alwaysApply: false
---

# Calls

Every call has a timeout and is retried twice.
"""
COPILOT = """\
---
applyTo: "tests/**"
---

# Tests

A test's name says what it claims.
"""
SOUND = {
    "AGENTS.md": AGENTS,
    ".cursor/rules/components.mdc": CURSOR,
    ".cursor/rules/api.mdc": API,
    ".github/instructions/tests.instructions.md": COPILOT,
    ".github/CODEOWNERS": "* @shop/team\n",
    ".gitignore": "dist/\n.env\nsrc/generated/\n",
    "package.json": '{"name": "shop", "scripts": {"lint": "eslint .", "test": "vitest"}}\n',
    "web/package.json": '{"name": "web", "scripts": {"dev": "vite"}}\n',
    "web/app.tsx": "export {}\n",
    "Makefile": ".PHONY: build test\nbuild: ; true\ntest: ; true\n",
    "justfile": "release version:\n    echo {{version}}\n",
    "pyproject.toml": '[tool.poe.tasks]\ncheck = "ruff check"\n',
    "docs/guide.md": "# Guide\n",
    "scripts/seed.py": "print()\n",
    "src/orders/order.ts": "export {}\n",
    "src/db/client.ts": "export function openClient() {}\n",
    "src/api/call.ts": "export {}\n",
    "src/views/cart.tsx": "export {}\n",
    "tests/order.test.ts": "export {}\n",
}


@dataclass(frozen=True, slots=True)
class Defect:
    """What is done to the sound repository, and the finding that must follow from it."""

    name: str
    code: str
    path: str
    plant: Callable[[Path], None]


def more(path: str, text: str) -> Callable[[Path], None]:
    """Add lines to a file."""

    def plant(root: Path) -> None:
        target = root / path
        target.write_text(target.read_text(encoding="utf-8") + text, encoding="utf-8")

    return plant


def instead(path: str, old: str, new: str) -> Callable[[Path], None]:
    """Replace a text in a file."""

    def plant(root: Path) -> None:
        target = root / path
        text = target.read_text(encoding="utf-8")
        assert old in text
        target.write_text(text.replace(old, new), encoding="utf-8")

    return plant


def file(path: str, text: str | bytes) -> Callable[[Path], None]:
    """Add a file."""

    def plant(root: Path) -> None:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())

    return plant


def link(path: str, target: str) -> Callable[[Path], None]:
    """Add a link."""

    def plant(root: Path) -> None:
        (root / path).symlink_to(target)

    return plant


def both(*plants: Callable[[Path], None]) -> Callable[[Path], None]:
    """Do one thing after the other."""

    def plant(root: Path) -> None:
        for each in plants:
            each(root)

    return plant


def lose_a_name(root: Path) -> None:
    """The function that a rule cites is renamed after the rule was written."""
    write(root, {"src/db/client.ts": "export function connect() {}\n"})
    git(root, "commit", "-qam", "rename")


COPY = "---\ndescription: Copy\nglobs: src/api/**\n---\n" + API.split("---\n")[2]
LONG = "word " * 40_000
RULE = ".cursor/rules/api.mdc"
TESTS = ".github/instructions/tests.instructions.md"
CLAUDE = ".claude/rules/api.md"

DEFECTS = (
    Defect("a file that was moved", "missing_path", "AGENTS.md", more("AGENTS.md", "\nPrices are in `src/orders/prices.ts`.\n")),
    Defect("a folder that is gone", "missing_path", RULE, more(RULE, "\nSchemas live in `src/api/schemas/`.\n")),
    Defect("a path in another case", "missing_path", TESTS, more(TESTS, "\nSee `src/Orders/order.ts`.\n")),
    Defect("a program of the repository", "missing_path", "AGENTS.md", more("AGENTS.md", "\n```sh\npython scripts/reset_db.py --all\n```\n")),
    Defect("a script of npm", "missing_command", "AGENTS.md", more("AGENTS.md", "\nRun `npm run typecheck` too.\n")),
    Defect("a script of a workspace", "missing_command", "AGENTS.md", more("AGENTS.md", "\nUse `pnpm --filter web run preview`.\n")),
    Defect("a script in a shell block", "missing_command", TESTS, more(TESTS, "\n```bash\nyarn test:e2e\n```\n")),
    Defect("a target of make", "missing_command", "AGENTS.md", more("AGENTS.md", "\nRun `make deploy`.\n")),
    Defect("a recipe of just", "missing_command", "AGENTS.md", more("AGENTS.md", "\nRun `just publish`.\n")),
    Defect("a task of poe", "missing_command", "AGENTS.md", more("AGENTS.md", "\nRun `uv run poe typecheck`.\n")),
    Defect("a linked document", "missing_document", "AGENTS.md", more("AGENTS.md", "\nSee [style](docs/style.md).\n")),
    Defect("a link that goes too high", "missing_document", RULE, more(RULE, "\nSee [the guide](../docs/guides.md).\n")),
    Defect("another rule by file", "missing_rule", RULE, more(RULE, "\nSee `errors.mdc`.\n")),
    Defect("another rule by path", "missing_rule", "AGENTS.md", more("AGENTS.md", "\nFollow `.cursor/rules/state.mdc` and `.github/instructions/api.instructions.md`.\n")),
    Defect("a rule's id", "missing_rule", "AGENTS.md", more("AGENTS.md", "\nIt is as source.doc.sops.no-such-rule says.\n")),
    Defect("a pattern for a folder that is gone", "dead_scope", RULE, instead(RULE, "src/api/**", "source/api/**")),
    Defect("a pattern with a wrong ending", "dead_scope", TESTS, instead(TESTS, "tests/**", "tests/**/*.spec.js")),
    Defect("one dead pattern among others", "dead_scope", ".cursor/rules/components.mdc", instead(".cursor/rules/components.mdc", "web/**/*.tsx", "mobile/**/*.tsx")),
    Defect("a pattern that is none", "bad_pattern", RULE, instead(RULE, "src/api/**", "src/[api/**")),
    Defect("a pattern with backslashes", "bad_pattern", RULE, instead(RULE, "src/api/**", "src\\api\\call.ts")),
    Defect("frontmatter without an end", "unreadable_rule", TESTS, instead(TESTS, '"tests/**"\n---\n', '"tests/**"\n')),
    Defect("a rule in UTF-16", "unreadable_rule", TESTS, file(TESTS, COPILOT.encode("utf-16"))),
    Defect("a copy for another tool", "duplicate", ".github/instructions/api.instructions.md", file(".github/instructions/api.instructions.md", COPY.replace("globs:", "applyTo:"))),
    Defect("a rule larger than the reserve", "over_reserve", TESTS, more(TESTS, LONG)),
    Defect("a rule that its tool cuts", "over_tool_limit", ".windsurf/rules/all.md", file(".windsurf/rules/all.md", "---\ntrigger: always_on\n---\n" + "Say it. " * 2000)),
    Defect("a link to nothing", "broken_link", "CLAUDE.md", link("CLAUDE.md", "docs/gone.md")),
    Defect("an include of nothing", "broken_include", "CLAUDE.md", file("CLAUDE.md", "# Claude\n\n@docs/gone.md\n")),
    Defect("a misspelt key", "ignored_key", RULE, instead(RULE, "globs: src/api/**", "glob: src/api/**")),
    Defect("a key of another tool", "ignored_key", CLAUDE, file(CLAUDE, "---\nglobs: src/api/**\n---\n\n# Api\n\nCalls are typed.\n")),
    Defect("a flag as a text", "ignored_key", RULE, instead(RULE, "alwaysApply: false", 'alwaysApply: "true"')),
    Defect("exclusions that leave nothing", "dead_scope", RULE, instead(RULE, "globs: src/api/**", "globs: src/api/**, !src/**")),
    Defect("a rule without a word", "empty_rule", ".github/instructions/empty.instructions.md", file(".github/instructions/empty.instructions.md", '---\napplyTo: "src/**"\n---\n')),
    Defect("an include in what is included", "broken_include", "CLAUDE.md", both(file("CLAUDE.md", "# Claude\n\n@docs/a.md\n"), file("docs/a.md", "See @b.md\n"))),
    Defect("a circle of links", "broken_link", "GEMINI.md", both(link("GEMINI.md", "docs/x.md"), link("docs/x.md", "../GEMINI.md"))),
    Defect("an inclusion without a pattern", "unreadable_rule", ".kiro/steering/api.md", file(".kiro/steering/api.md", "---\ninclusion: fileMatch\n---\n\n# Api\n\nCalls are typed.\n")),
    Defect("a link defined at the end", "missing_document", "AGENTS.md", more("AGENTS.md", "\nSee [the style][s].\n\n[s]: docs/style.md\n")),
    Defect("a path with a line", "missing_path", "AGENTS.md", more("AGENTS.md", "\nPrices: `src/orders/prices.ts:12`.\n")),
    Defect("a decision for files that are gone", "dead_scope", ".archgate/adrs/A-1-x.md", file(".archgate/adrs/A-1-x.md", "---\nid: A-1\nfiles: ['lib/**']\n---\n\n# X\n\nTyped.\n")),
    Defect("more than one tool reads of a chain", "over_tool_limit", "src/AGENTS.md", file("src/AGENTS.md", "# Source\n\n" + "Say it well. " * 3000)),
    Defect("a name that has left its file", "stale", "AGENTS.md", lose_a_name),
)  # fmt: skip


def sound(root: Path) -> Path:
    """The repository before anything is spoilt, committed."""
    write(root, SOUND)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "base")
    return root
