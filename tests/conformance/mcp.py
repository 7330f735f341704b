"""The MCP suites of others against our own server: conformance scenarios, and the inspector.

Runs with `make conformance`, or alone with `python -m tests.conformance.mcp`; needs npm, and a
network the first time. Packages go to the virtual environment, or to HORNBOOK_CONFORMANCE.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any  # what the suite writes is JSON

from hornbook import Workspace
from tests.kit.paths import SOURCES
from tests.kit.servers import on_a_port
from tests.kit.workspaces import with_the_example_sop, write

PACKAGES = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
}
NODE = "24.21.0"
OLDEST_NODE = (22, 19)

BOTH = (
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
SCENARIOS = {
    "2025-11-25": ("server-initialize", "ping", *BOTH),
    "2026-07-28": (
        "server-stateless",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "server-sse-multiple-streams",
        *BOTH,
    ),
}
# Checks that call a tool which only a server made for the suite has, each with that tool. None of
# them can be met by a server without it: the suite says so in `untestable`, and only then is the
# check passed over. What they are about, this server does not do at all.
NEED_FIXTURES = {
    # A tool that needs a capability which the client did not declare; ours need none.
    "sep-2575-server-rejects-undeclared-capability": "test_missing_capability",
    "sep-2575-missing-capability-http-400": "test_missing_capability",
    # A tool that asks the client something while it works; ours answer in one JSON body.
    "sep-2575-http-server-no-independent-requests-on-stream": "test_streaming_elicitation",
    # A tool that logs to the client; ours never do.
    "sep-2575-server-no-log-without-loglevel": "test_logging_tool",
}
METHODS = (
    ("tools/list", "--strict"),
    ("tools/call", "--tool-name", "rules_for_files", "--tool-arg", 'files=["a.go"]'),
    ("resources/list",),
    ("resources/templates/list",),
    ("resources/read", "--uri", "rule://source.doc.sops.error-handling"),
    ("prompts/list",),
    ("prompts/get", "--prompt-name", "review_change", "--prompt-args", "files=a.go"),
)


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command says, all of it."""
    return subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False
    )


def installed() -> Path:
    """The folder with the packages, filled once for each set of versions."""
    kept = Path(os.environ.get("HORNBOOK_CONFORMANCE", Path(sys.prefix) / "conformance" / "mcp"))
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    if _old_node():
        wanted.append(f"node@{NODE}")
    folder = kept / re.sub(r"[^0-9A-Za-z.]+", "-", "-".join(wanted))
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        found = run("npm", "install", "--no-audit", "--no-fund", *wanted, folder=folder)
        if found.returncode:
            sys.exit(f"npm install failed:\n{found.stderr}")
        (folder / "complete").touch()
    return folder


def _old_node() -> bool:
    found = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    parts = re.findall(r"\d+", found.stdout)
    return tuple(map(int, parts[:2])) < OLDEST_NODE


def scenario(packages: Path, address: str, revision: str, name: str) -> Iterator[str]:
    """What is wrong with one scenario."""
    suite = packages / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    with tempfile.TemporaryDirectory() as results:
        asked = ("--url", address, "--scenario", name, "--spec-version", revision, "-o", results)
        said = run(_node(packages), suite, "server", *asked, folder=packages)
        files = list(Path(results).rglob("checks.json"))
        if len(files) != 1:
            yield f"{revision} {name}: no results: {said.stdout[-2000:]}{said.stderr[-2000:]}"
            return
        checks = json.loads(files[0].read_text(encoding="utf-8"))
    passed = [check["id"] for check in checks if check["status"] == "SUCCESS"]
    if not passed:
        yield f"{revision} {name}: nothing was checked"
    bad = [check for check in checks if check["status"] in {"FAILURE", "WARNING"}]
    wrong = [check for check in bad if not _needs_fixture(check)]
    for check in wrong:
        yield f"{revision} {name}: {check['id']}: {check.get('errorMessage')}"
    apart = f", {len(bad) - len(wrong)} need a fixture" if len(bad) > len(wrong) else ""
    print(f"{revision} {name}: {len(passed)} checks passed{apart}", flush=True)


def _needs_fixture(check: dict[str, Any]) -> bool:
    """Whether the suite itself says that it could not try this for want of its own tool."""
    tool = NEED_FIXTURES.get(check["id"])
    untestable = (check.get("details") or {}).get("untestable") is True
    return tool is not None and untestable and f"'{tool}'" in str(check.get("errorMessage"))


def inspected(packages: Path, target: tuple[str, ...], method: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with one method as the inspector sees it."""
    inspector = packages / "node_modules/.bin/mcp-inspector"
    # Clients start servers with a bare environment, so this one must be told where our code is.
    asked = ("--cli", *target, "-e", f"PYTHONPATH={SOURCES}", "--method", *method)
    said = run(_node(packages), inspector.resolve(), *asked, folder=packages)
    name = f"inspector {target[0].partition(':')[0]} {' '.join(method)}"
    if said.returncode:
        yield f"{name}: exit {said.returncode}: {said.stdout[-2000:]}{said.stderr[-2000:]}"
        return
    answer = json.loads(said.stdout)
    if answer.get("isError"):
        yield f"{name}: {said.stdout[-2000:]}"
    print(f"{name}: ok", flush=True)


def _node(packages: Path) -> str:
    own = packages / "node_modules/node/bin/node"
    return str(own) if own.exists() else shutil.which("node") or "node"


def problems(packages: Path, root: Path) -> Iterator[str]:
    """Everything that is wrong."""
    stdio = (sys.executable, "-m", "hornbook", "--root", str(root), "mcp")
    # The whole server: what refuses foreign hosts and origins stands before MCP.
    with on_a_port(root) as server:
        address = f"{server}/mcp"
        for revision, names in SCENARIOS.items():
            for name in names:
                yield from scenario(packages, address, revision, name)
        for method in METHODS:
            yield from inspected(packages, (address,), method)
    for method in METHODS:
        yield from inspected(packages, stdio, method)


def main() -> None:
    """Run all; exit 1 if anything is wrong."""
    packages = installed()
    with tempfile.TemporaryDirectory() as folder:
        root = with_the_example_sop(Path(folder))
        write(root, {"a.go": "package a\n"})
        with Workspace.open(root) as work:
            work.ingest()
        found = list(problems(packages, root))
    for problem in found:
        print(problem, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
