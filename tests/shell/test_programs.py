"""Every wrapper of the table goes through both readers: what it hides, neither overlooks."""

from pathlib import Path

import pytest

from hornbook.gates.cannot_fail import refusals
from hornbook.gates.test_output import tools_run
from hornbook.shell.guard import writers
from hornbook.shell.programs import (
    ANY,
    BEHIND,
    FOLDER_OPTIONS,
    SCRIPT_OPTIONS,
    WRAPPERS,
    WRITERS,
    WRITES_OPERANDS,
)
from hornbook.shell.wrappers import inner_command
from tests.kit.hook_calls import ask, decision, guarded, payload

HEARD = {"script": "-e", "systemd-run": "--wait"}
"""What a gate must say besides, so that a wrapper ends as its command does."""


def forms(name: str) -> list[str]:
    """Every way in which a wrapper is called, with `INNER` where its command stands."""
    verbs, takes, operands = WRAPPERS[name]
    said = HEARD.get(name, "")
    starts = [f"{name} {said} {verb}".strip() for verb in verbs or ("",)]
    between = "--" if operands == ANY else " ".join(["1"] * operands)
    between = BEHIND.get(name, between).split(" ")[0] if operands else ""
    found = [f"{start} {between} INNER" for start in starts]
    found += [
        f"{start} {option} value {between} INNER" for start in starts for option in takes.split()
    ]
    options = SCRIPT_OPTIONS.get(name, "").split()
    found = [each for each in found if not set(options) & set(each.split())]
    found += [
        f"{start} {'1 ' * max(operands, 0)}{option} 'INNER'"
        for start in starts
        for option in options
    ]
    found += [each.replace(name, f"env A=1 {name}", 1) for each in found[:1]]
    return [each for each in found if not folder_is_changed(name, each)]


def folder_is_changed(name: str, form: str) -> bool:
    return not set(FOLDER_OPTIONS.get(name, "").split()).isdisjoint(form.split())


FORMS = [form for name in WRAPPERS for form in forms(name)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guarded(tmp_path_factory.mktemp("guarded"))


def judged(root: Path, command: str) -> str:
    return decision(ask(root, "pre-tool-use", payload(root, "Bash", command=command)))


@pytest.mark.parametrize("form", FORMS)
def test_no_wrapper_hides_a_check_that_checks_nothing(form: str) -> None:
    assert refusals(form.replace("INNER", "pytest --collect-only"))
    assert refusals(form.replace("INNER", "pytest -q")) == []


@pytest.mark.parametrize("form", FORMS)
def test_no_wrapper_hides_a_write_out_of_scope(root: Path, form: str) -> None:
    assert judged(root, form.replace("INNER", "rm README.md")) == "deny"
    assert judged(root, form.replace("INNER", "cat README.md")) == "silent"


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_test_tool_behind_a_wrapper_is_seen(name: str) -> None:
    assert tools_run(forms(name)[0].replace("INNER", "pytest -q")) == ("pytest",)


@pytest.mark.parametrize(
    "command",
    [
        "uvx pytest@8 --collect-only", "uvx 'pytest==8.3' --co", "npx jest@29 --listTests", "uv tool run ruff@latest check --exit-zero",
        "uv --directory web run pytest --co", "poetry -C web run pytest --co", "nix develop .#ci -c pytest --co",
        "mise x python@3.12 -- pytest --co", "su - me -c 'pytest || true'", "sudo env A=1 timeout 5 pipx run pytest --co",
        "npm exec --package=jest -- jest --listTests", "flock -n lock -c 'pytest; true'",
    ],
)  # fmt: skip
def test_a_gate_that_checks_nothing_is_refused_however_it_is_wrapped(command: str) -> None:
    assert refusals(command, name="test")


@pytest.mark.parametrize(
    "command",
    [
        "pipenv run rm README.md", "cross-env A=1 rm README.md", "npm exec rm README.md", "pixi run rm README.md",
        "npm exec -c 'rm README.md'", "su -c 'rm README.md'", "su - me -c 'rm README.md'", "flock lock -c 'rm README.md'",
        "uv run --directory docs rm page.md", "sudo -D docs rm page.md", "nix-shell -p git --run 'rm README.md'",
        "echo README.md | xargs --replace cp src/a.py docs/{}", "sudo xargs rm docs/page.md", "script -qc 'rm README.md' log",
    ],
)  # fmt: skip
def test_a_write_out_of_scope_is_denied_however_it_is_wrapped(root: Path, command: str) -> None:
    assert judged(root, command) == "deny"


@pytest.mark.parametrize(
    "command",
    ["uv run --directory src rm a.py", "command cd src && rm a.py", "uv sync", "npm test", "xargs", "su", "env"],
)  # fmt: skip
def test_a_wrapper_that_writes_in_scope_or_nothing_is_left_to_the_host(
    root: Path, command: str
) -> None:
    assert judged(root, command) == "silent"


@pytest.mark.parametrize(
    "words", [[], ["pytest"], ["uv", "sync"], ["command", "-v", "rm"], ["npm", "test"]]
)
def test_what_runs_no_other_command_is_no_wrapper(words: list[str]) -> None:
    assert inner_command(words) is None


def test_every_writer_of_the_table_is_read() -> None:
    assert {*WRITES_OPERANDS, *writers._OPERANDS_BEHIND_FIRST, *writers._READERS} == WRITERS
