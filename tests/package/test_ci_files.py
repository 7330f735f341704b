"""What ships for CI is what the docs say, calls only what there is, and lets no failure pass."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft7Validator

from hornbook.cli.main import app
from hornbook.review.formats import sarif
from tests.kit.judgements import APPROVED, INVALID, REJECTED
from tests.kit.paths import ROOT
from tests.kit.published_schemas import GITHUB_ACTION, GITHUB_WORKFLOW, published_schema
from tests.kit.workspaces import write

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FORMATS = {"text", "json", "sarif", "junit", "github", "markdown"}
GROUPS = {name for name, command in app.commands.items() if isinstance(command, click.Group)}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of hornbook: the names of the command, and the options."""

    command: tuple[str, ...]
    options: frozenset[str]


def calls(script: str) -> Iterator[Call]:
    """Every call in a script; what stands in arrays counts for the call that expands them."""
    text = script.replace("\\\n", " ")
    arrays = dict(re.findall(r"(\w+)=\(([^)]+)\)", text))
    for match in re.finditer(r"(?<![\w./-])hornbook ([a-z].*)", text):
        line = re.sub(r'"?\$\{(\w+)\[@\]\}"?', lambda name: arrays.get(name[1], "x"), match[1])
        words = re.split(r"\s(?:\|\||&&|>>?|<|;|\))", re.split(r"`", line)[0])[0].split()
        options = frozenset(word for word in words if word.startswith("--"))
        names = [word for word in words if re.fullmatch(r"[a-z]+", word)]
        depth = 2 if names[0] in GROUPS else 1
        yield Call(tuple(names[:depth]), options)


def shipped() -> list[Call]:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    entries = [hook["entry"] for hook in HOOKS]
    return [call for text in (*scripts, *entries, PAGE) for call in calls(text)]


def found(command: tuple[str, ...]) -> click.Command | None:
    """The command as it is; none when it is not there yet."""
    at: click.Command | None = app
    for name in command:
        at = at.commands.get(name) if isinstance(at, click.Group) else None
    return at


def options(command: tuple[str, ...]) -> set[str]:
    there = found(command)
    assert there is not None, command
    return {name for each in there.params for name in each.opts}


def test_every_command_and_option_that_ci_uses_is_there() -> None:
    used = shipped()
    assert {call.command for call in used} == {
        ("ingest",), ("doctor",), ("gates", "run"),
        ("review", "prepare"), ("review", "check"), ("review", "run"),
    }  # fmt: skip
    for call in used:
        assert call.options <= options(call.command), call


def test_every_documented_format_is_one_that_the_command_takes() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, re.MULTILINE))
    assert documented == FORMATS
    command = found(("review", "check"))
    for option in command.params if command else ():
        if "--format" in option.opts:
            assert isinstance(option.type, click.Choice)
            assert set(option.type.choices) == documented


# The action


def test_the_action_is_valid_by_the_published_schema() -> None:
    Draft7Validator(published_schema(GITHUB_ACTION)).validate(ACTION)
    broken = {key: value for key, value in ACTION.items() if key != "runs"}
    assert not Draft7Validator(published_schema(GITHUB_ACTION)).is_valid(broken)


def test_no_input_becomes_part_of_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), step["name"]
        assert step.get("shell", "bash") == "bash"


def test_every_other_action_is_pinned_by_version() -> None:
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    used += re.findall(r"uses: (\S+)", PAGE)
    assert used
    for name in used:
        assert re.fullmatch(r"[\w./-]+@v\d+(\.\d+\.\d+)?", name), name


def test_every_input_of_the_action_is_used_and_documented() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text, name
        assert f"`{name}`" in PAGE, name
    used = set(re.findall(r"inputs\.([\w-]+)", text))
    assert used == set(ACTION["inputs"])


class Runner:
    """Runs steps of the action as GitHub does, with a `hornbook` that writes down its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tools = folder / "tools"
        tools.mkdir()
        fake = tools / "hornbook"
        fake.write_text(
            "#!/bin/bash\n"
            'printf "%s\\n" "$*" >> "$CALLS"\n'
            'for last; do :; done\n'
            'if [ -e "$ANSWERS/$last" ]; then cat "$ANSWERS/$last"; fi\n'
            'exit "$CODE"\n'
        )  # fmt: skip
        fake.chmod(0o755)
        self.answers = folder / "answers"
        self.answers.mkdir()
        self.environment = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "CALLS": str(folder / "calls"),
            "ANSWERS": str(self.answers),
        }

    def run(self, step: str, code: int, **environment: str) -> int:
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c"]
        done = subprocess.run(
            [*command, STEPS[step]["run"]],
            cwd=self.folder,
            env=self.environment | environment | {"CODE": str(code)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


INPUTS = {
    "BASE": "b",
    "HEAD": "h",
    "RECEIPT": "packet/receipt.json",
    "REVIEWS": "one review.json\n\ntwo.json\n",
    "GATES": "true",
    "FORMAT": "github",
    "SUMMARY": "true",
    "SARIF": "",
    "JUNIT": "",
    "UPLOAD": "false",
}


def test_the_environment_of_a_step_is_what_its_script_reads() -> None:
    given = set(STEPS["Check the reviews"]["env"])
    assert given == set(INPUTS)
    script = STEPS["Check the reviews"]["run"]
    assert given <= set(re.findall(r"\$(\w+)", script))


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_review_run_asks_every_agent_and_ends_as_the_command_ended(
    runner: Runner, code: int
) -> None:
    given = {"BASE": "b", "HEAD": "h", "OUTPUT": "packet", "GATES": "false", "FORMAT": "github"}
    (runner.folder / "packet").mkdir()
    (runner.folder / "packet/judgement.json").write_text('{"outcome": "escalate"}')
    assert runner.run("Have the change reviewed", code, AGENTS="claude\n\ncodex\n", **given) == code
    called = "review run --diff b..h --agent claude --agent codex --no-gates"
    assert runner.lines("calls") == [f"{called} --output packet --format github"]
    assert runner.lines("outputs") == ["outcome=escalate"]


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_check_ends_as_the_command_ended(runner: Runner, code: int) -> None:
    (runner.answers / "json").write_text('{"outcome": "rejected"}')
    assert runner.run("Check the reviews", code, **INPUTS) == code
    gates = f"--gates {runner.folder}/hornbook-gates.json --require-bound-gates"
    told = f"review check one review.json two.json --receipt packet/receipt.json --diff b..h {gates} --format"
    assert runner.lines("calls") == [f"{told} {name}" for name in ("github", "json", "markdown")]
    assert runner.lines("outputs") == (["outcome=rejected"] if code < 2 else [])


def test_the_check_does_without_gates_summary_or_files_when_told(runner: Runner) -> None:
    (runner.answers / "json").write_text('{"outcome": "approved"}')
    quiet = INPUTS | {"GATES": "false", "SUMMARY": "false", "REVIEWS": "a.json"}
    assert runner.run("Check the reviews", 0, **quiet) == 0
    assert all("--gates" not in line for line in runner.lines("calls"))
    assert runner.lines("summary") == []
    assert runner.lines("outputs") == ["outcome=approved"]


@pytest.mark.parametrize("judgement", [APPROVED, REJECTED, INVALID], ids=lambda each: each.outcome)
def test_what_is_uploaded_is_what_did_not_pass(runner: Runner, judgement: Any) -> None:
    (runner.answers / "json").write_text('{"outcome": "x"}')
    (runner.answers / "sarif").write_text(sarif.render(judgement, version="1"))
    (runner.answers / "junit").write_text("<testsuites/>")
    files = {"SARIF": "whole.sarif", "JUNIT": "report.xml", "UPLOAD": "true"}
    assert runner.run("Check the reviews", 1, **(INPUTS | files)) == 1
    (alerts,) = [line for line in runner.lines("outputs") if line.startswith("alerts=")]
    uploaded = json.loads(Path(alerts.removeprefix("alerts=")).read_text(encoding="utf-8"))
    whole = json.loads((runner.folder / "whole.sarif").read_text(encoding="utf-8"))
    kinds = [each["kind"] for each in whole["runs"][0]["results"]]
    assert [each["kind"] for each in uploaded["runs"][0]["results"]] == [
        kind for kind in kinds if kind not in {"pass", "notApplicable"}
    ]
    assert runner.lines("report.xml") == ["<testsuites/>"]


@pytest.mark.parametrize(("code", "ended"), [(0, 0), (1, 0), (2, 2), (127, 127)])
def test_a_failed_gate_goes_on_to_the_check_and_a_broken_one_stops(
    runner: Runner, code: int, ended: int
) -> None:
    (runner.answers / "--json").write_text('{"passed": false}')
    assert runner.run("Run the gates", code, BASE="main", HEAD="topic") == ended
    assert runner.lines("calls") == ["gates run --diff main..topic --json"]
    assert runner.lines("hornbook-gates.json") == ['{"passed": false}']


def test_the_packet_is_refused_when_the_command_refuses(runner: Runner) -> None:
    given = {"BASE": "main", "HEAD": "topic", "OUTPUT": "my packet"}
    assert runner.run("Prepare the review", 1, **given) == 1
    assert runner.lines("calls") == ["review prepare --diff main..topic --output my packet"]


def test_a_checkout_without_history_is_refused(runner: Runner) -> None:
    git = shutil.which("git")
    assert git is not None
    base = {"BASE": "HEAD", "COMMAND": "check", "HOME": str(runner.folder)}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([git, "init", "-q"], cwd=runner.folder, check=True)
    subprocess.run(
        [git, *who, "commit", "-q", "--allow-empty", "-m", "x"], cwd=runner.folder, check=True
    )
    assert runner.run("Look at the inputs", 0, **base, HEAD="HEAD") == 0
    assert runner.run("Look at the inputs", 0, **base, HEAD="b" * 40) == 2
    assert runner.run("Look at the inputs", 0, **base, HEAD="") == 2
    assert runner.run("Look at the inputs", 0, **(base | {"COMMAND": "rm"}), HEAD="HEAD") == 2


# The hooks and the docs


def test_the_hooks_are_hooks_of_a_python_package() -> None:
    assert [hook["id"] for hook in HOOKS] == ["hornbook-ingest", "hornbook-gates"]
    for hook in HOOKS:
        assert hook.keys() >= {"id", "name", "description", "entry", "language"}
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False
        assert shlex.split(hook["entry"])[0] == "hornbook"
        assert f"`{hook['entry']}`" in PAGE


def test_the_documented_jobs_are_jobs() -> None:
    parsed = [yaml.safe_load(text) for language, text in BLOCKS if language == "yaml"]
    workflow, gitlab, hooks = parsed
    # YAML 1.1 reads the key `on` as true, which is how GitHub does not.
    workflow["on"] = workflow.pop(True)
    Draft7Validator(published_schema(GITHUB_WORKFLOW)).validate(workflow)
    steps = workflow["jobs"]["review"]["steps"]
    assert steps[0]["with"]["fetch-depth"] == 0
    for step in steps:
        if "hornbook@" in step.get("uses", ""):
            assert step["with"].keys() <= ACTION["inputs"].keys()
    assert gitlab["review"]["variables"]["GIT_DEPTH"] == "0"
    listed = {hook["id"] for hook in hooks["repos"][0]["hooks"]}
    assert listed == {hook["id"] for hook in HOOKS}


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_documented_jobs_fail_when_the_check_does(runner: Runner, code: int) -> None:
    agent = runner.folder / "tools" / "your-agent"
    agent.write_text("#!/bin/bash\ncat\n")
    agent.chmod(0o755)
    (runner.folder / "packet").mkdir()
    (runner.folder / "packet" / "prompt.md").write_text("review this")
    (shell,) = [text for language, text in BLOCKS if language == "text" and "set -eu" in text]
    gitlab = yaml.safe_load([text for language, text in BLOCKS if language == "yaml"][1])["review"]
    lines = "\n".join(gitlab["script"])
    for script in (shell.replace("git merge-base origin/main HEAD", "echo main"), lines):
        # The packet is written, then the gates and the check end with the code.
        fake = runner.folder / "tools" / "hornbook"
        fake.write_text('#!/bin/bash\ncase "$*" in *prepare*) exit 0 ;; esac\nexit "$CODE"\n')
        environment = runner.environment | {"CODE": str(code), "REVIEWER": "your-agent --print"}
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=runner.folder, env=environment, check=False
        )
        assert done.returncode == code
        assert (runner.folder / "packet" / "review.json").read_text() == "review this"


def test_the_ingest_hook_runs_for_every_kind_of_rule_file_and_for_no_other() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)` \| (.*?) \|", (ROOT / "docs/formats.md").read_text(), re.MULTILINE
    )
    ours = {"record", "plan", "code", "plain"}
    paths = [
        path
        for tool, cell in rows
        if tool not in ours
        for path in re.findall(r"`([^#@].*?)`", cell)
    ]
    assert len(paths) > 25
    files = re.compile(HOOKS[0]["files"])
    assert [path for path in [*paths, ".hornbook/config.yaml"] if not files.search(path)] == []
    others = ["src/app.py", "README.md", "docs/agents.md", ".github/workflows/ci.yml"]
    others += [".hornbook/records/receipts/a.json", ".hornbook/plans/a/plan.md", "my.rules.md"]
    assert [path for path in others if files.search(path)] == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("---\nglobs: **/*.ts\nalwaysApply: false\n---\nUse strict mode.\n", 0),
        ('---\npaths: "*.ts"\nglobs: "*.ts"\n---\nUse strict mode.\n', 0),
        ('---\nglobs: "[a"\n---\nUse strict mode.\n', 1),
        ('---\nalwaysAply: true\nglobs: "*.ts"\n---\nUse strict mode.\n', 1),
    ],
)
def test_the_ingest_hook_does_not_fail_on_a_tools_own_spelling(
    tmp_path: Path, rule: str, code: int
) -> None:
    write(tmp_path, {".cursor/rules/a.mdc": rule})
    arguments = shlex.split(HOOKS[0]["entry"])[1:]
    done = CliRunner().invoke(app, ["--root", str(tmp_path), *arguments])
    assert done.exit_code == code, done.output
