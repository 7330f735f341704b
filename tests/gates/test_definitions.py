"""Gates as a team defines them: presets, overrides, additions, and every slip told at once."""

import json
import re
import subprocess
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hornbook import Workspace
from hornbook.errors import ConfigError
from hornbook.gates.cannot_fail import refusals
from hornbook.gates.definitions import PRESETS, check_gates, define, preset_gates
from hornbook.gates.detection.block import Stack, block
from hornbook.gates.gate import Gate, GateReport, GateResult, GateStatus
from hornbook.gates.gate_list import GateList, GateState, gate_settings, gates_for
from hornbook.gates.reports import schema
from hornbook.settings.load import parse_settings, template
from hornbook.settings.settings import Additional, GateSettings, Override, PresetChoice, Settings
from tests.kit.git import commit, start
from tests.kit.paths import PACKAGE
from tests.kit.workspaces import write

SOURCE = """\
gates:
  preset: go  # Uses built-in Go preset
  overrides:
    - name: coverage
      required: true  # Override: make coverage required
      threshold: 80
  additional:
    - name: custom-check
      command: "./scripts/check-migrations.sh"
      required: true
"""


def gates_of(text: str) -> dict[str, Gate]:
    return {gate.name: gate for gate in define(parse_settings(text.encode()).gates).gates}


def problems_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        parse_settings(text.encode(), check_gates)
    return raised.value.problems


# Presets


def test_the_go_preset_is_that_of_the_source_documents() -> None:
    told = [(gate.name, gate.command, gate.required, gate.threshold) for gate in preset_gates("go")]
    assert told == [
        ("build", "go build ./...", True, None),
        ("vet", "go vet ./...", True, None),
        ("lint", "golangci-lint run", True, None),
        ("test", "go test ./...", True, None),
        ("coverage", "go test -coverprofile=coverage.out ./...", False, 80),
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_states_what_a_gate_has_and_can_fail(name: str) -> None:
    path = PACKAGE / "gates" / "presets" / f"{name}.yaml"
    known = {each.name for each in fields(Gate)} - {"origins"}
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        assert entry.keys() <= known
        assert {"name", "command", "required", "timeout"} <= entry.keys()
    definitions = define(GateSettings(preset=(PresetChoice(name),)))
    assert definitions.problems == ()
    assert {"build", "test"} <= {gate.name for gate in definitions.gates}
    for gate in definitions.gates:
        assert refusals(gate.command, name=gate.name) == []


def test_the_block_of_the_source_documents_is_read_as_it_stands() -> None:
    gates = gates_of(SOURCE)
    assert list(gates) == ["build", "vet", "lint", "test", "coverage", "custom-check"]
    assert (gates["coverage"].required, gates["coverage"].threshold) == (True, 80)
    assert gates["custom-check"].command == "./scripts/check-migrations.sh"


def test_every_value_has_its_origin() -> None:
    gates = gates_of(SOURCE)
    assert dict(gates["coverage"].origins) == {
        "name": "preset go",
        "command": "preset go",
        "required": ".hornbook/config.yaml, line 5 (overrides)",
        "threshold": ".hornbook/config.yaml, line 6 (overrides)",
        "timeout": "preset go",
        "folder": "preset go",
        "after": "preset go",
        "creates": "preset go",
    }
    assert dict(gates["custom-check"].origins)["command"] == (
        ".hornbook/config.yaml, line 9 (additional)"
    )
    assert dict(gates["custom-check"].origins)["timeout"] == "default"


def test_several_presets_get_names_of_their_own_and_folders() -> None:
    gates = gates_of(
        "gates:\n  preset:\n    - {preset: go, folder: backend}\n"
        "    - {preset: typescript, folder: web}\n    - {preset: typescript, folder: apps/admin}\n"
    )
    assert gates["go-test"].folder == "backend"
    assert gates["go-test"].after == ("go-build",)
    assert gates["typescript-web-test"].folder == "web"
    assert gates["typescript-apps-admin-test"].folder == "apps/admin"
    assert gates["go-coverage"].creates == ("coverage.out",)
    assert "test" not in gates


def test_one_preset_in_a_folder_keeps_plain_names() -> None:
    gates = gates_of("gates:\n  preset: {preset: rust, folder: engine/}\n")
    assert list(gates) == ["build", "lint", "test", "coverage"]
    assert {gate.folder for gate in gates.values()} == {"engine"}


def test_a_preset_is_a_name_a_mapping_or_a_list() -> None:
    assert list(gates_of("gates: {preset: [go]}")) == list(gates_of("gates: {preset: go}"))
    assert "python-types" in gates_of("gates: {preset: [go, {preset: python}]}")


def test_a_gate_is_switched_off_visibly_and_nobody_waits_for_it() -> None:
    settings = parse_settings(
        b"gates:\n  preset: go\n  overrides:\n    - {name: build, enabled: false}\n"
    ).gates
    definitions = define(settings)
    assert [gate.name for gate in definitions.disabled] == ["build"]
    assert "build" not in {gate.name for gate in definitions.gates}
    assert {gate.name: gate.after for gate in definitions.gates}["test"] == ()
    origin = dict(definitions.disabled[0].origins)["enabled"]
    assert origin == ".hornbook/config.yaml, line 4 (overrides)"


def test_every_key_of_a_gate_can_be_overridden() -> None:
    gate = gates_of(
        "gates:\n  preset: go\n  overrides:\n    - name: test\n      command: go test -race ./...\n"
        "      timeout: 60\n      folder: api\n      environment: {CGO_ENABLED: 1}\n"
        "      after: [vet]\n      creates: [out/report.xml]\n"
    )["test"]
    assert (gate.command, gate.timeout, gate.folder) == ("go test -race ./...", 60, "api")
    assert gate.environment == (("CGO_ENABLED", "1"),)
    assert gate.after == ("vet",)
    assert gate.creates == ("out/report.xml",)


# Slips

SLIPS = [
    ("gates: {preset: golang}", "line 1: no preset `golang`: "),
    ("gates: {presets: go}", "line 1: unknown setting `gates.presets`: did you mean `preset`?"),
    ("gates: [go]", "line 1: `gates` is 'no mapping': write `key: value` lines below it."),
    ("gates: {preset: 3.5}", "no preset `3.5`"),
    ("gates: {preset: [go, go]}", "preset `go` stands twice for that folder."),
    ("gates: {preset: {preset: go, dir: x}}", "unknown setting `gates.preset[0].dir`"),
    ("gates: {preset: {folder: x}}", "`gates.preset[0]` lacks preset."),
    (
        "gates: {preset: {preset: go, folder: ../x}}",
        "`folder` is '../x': write a path below the root.",
    ),
    ("gates: {preset: {preset: go, folder: /x}}", "`folder` is '/x': write a path below the root."),
    (
        "gates: {preset: go, overrides: [{name: tset}]}",
        "no gate `tset` to override: did you mean `test`?",
    ),
    ("gates: {overrides: [{name: test}]}", "no gate `test` to override: no preset is chosen."),
    ("gates: {preset: go, overrides: {test: {}}}", "`gates.overrides` is 'no list': write a list"),
    ("gates: {preset: go, overrides: [test]}", "`gates.overrides[0]` is 'no mapping'"),
    ("gates: {preset: go, overrides: [{required: true}]}", "`gates.overrides[0]` lacks name."),
    (
        "gates: {preset: go, overrides: [{name: test}, {name: test}]}",
        "`test` is overridden twice",
    ),
    (
        "gates: {preset: go, overrides: [{name: test, requird: true}]}",
        "unknown setting `gates.overrides[0].requird`: did you mean `required`?",
    ),
    (
        "gates: {preset: go, overrides: [{name: test, required: maybe}]}",
        "`gates.overrides[0].required` is 'maybe': write true or false.",
    ),
    (
        "gates: {preset: go, overrides: [{name: test, command: ''}]}",
        "gate `test` has no command: write one, or switch it off (`enabled: false`).",
    ),
    (
        "gates: {preset: go, overrides: [{name: coverage, threshold: 101}]}",
        "`threshold` is 101: write a percentage, 0 to 100.",
    ),
    (
        "gates: {preset: go, overrides: [{name: coverage, threshold: -1}]}",
        "`gates.overrides[0].threshold` is -1: write a whole number.",
    ),
    (
        "gates: {preset: go, overrides: [{name: test, timeout: 0}]}",
        "`timeout` is 0: write seconds, 1 to 86400.",
    ),
    ("gates: {additional: [{name: x}]}", "`gates.additional[0]` lacks command."),
    ("gates: {additional: [{command: x}]}", "`gates.additional[0]` lacks name."),
    ("gates: {additional: [{name: a b, command: x}]}", "a name has letters, digits"),
    (
        "gates: {preset: go, additional: [{name: test, command: x}]}",
        "there is a gate `test` already: rename this one, or override it.",
    ),
    (
        "gates: {additional: [{name: a, command: x}, {name: a, command: y}]}",
        "there is a gate `a` already",
    ),
    (
        "gates: {preset: go, additional: [{name: a, command: x, after: [buidl]}]}",
        "gate `a` comes after `buidl`, which is none: did you mean `build`?",
    ),
    (
        "gates: {additional: [{name: a, command: x, after: [b]}, {name: b, command: x, after: [a]}]}",
        "gates wait for each other: a after b after a.",
    ),
    ("gates: {additional: [{name: a, command: x, after: [a]}]}", "wait for each other: a after a."),
    ("gates: {additional: [{name: a, command: x, creates: ['a[']}]}", "gate `a`: pattern 'a['"),
    ("gates: {additional: [{name: a, command: x, creates: ['!a']}]}", "starts with `!`"),
    (
        "gates: {additional: [{name: a, command: x, environment: {'1x': y}}]}",
        "'1x' is no name of a variable",
    ),
    ("gates: {additional: [{name: a, command: [x]}]}", "`gates.additional[0].command` is ['x']"),
    ("gates: {additional: [{name: a, name: b, command: x}]}", "stands twice"),
    (
        "gates: {preset: rust, overrides: [{name: build, enabled: false}, {name: lint, enabled: false}, {name: test, enabled: false}, {name: coverage, enabled: false}]}",
        "every gate is switched off",
    ),
]


@pytest.mark.parametrize(("text", "told"), SLIPS)
def test_a_slip_is_refused_with_its_remedy(text: str, told: str) -> None:
    assert any(told in problem for problem in problems_of(text)), problems_of(text)


def test_all_slips_are_told_at_once_with_file_and_line() -> None:
    found = problems_of(
        "gates:\n  preset: golng\n  additional:\n    - name: a\n      command: x\n"
        "      threshold: 200\n    - name: b\n      comand: y\nreserv: 1\n"
    )
    assert [problem.partition(": ")[0] for problem in sorted(found)] == [
        ".hornbook/config.yaml, line 2",
        ".hornbook/config.yaml, line 6",
        ".hornbook/config.yaml, line 7",
        ".hornbook/config.yaml, line 8",
        ".hornbook/config.yaml, line 9",
    ]


names = st.sampled_from(["build", "vet", "lint", "test", "coverage"])


@given(st.dictionaries(names, st.tuples(st.booleans(), st.integers(0, 100), st.integers(1, 999))))
def test_an_override_changes_what_it_states_and_nothing_else(
    changes: dict[str, tuple[bool, int, int]],
) -> None:
    overrides = tuple(
        Override(name, required=required, threshold=threshold, timeout=timeout)
        for name, (required, threshold, timeout) in changes.items()
    )
    plain = define(GateSettings(preset=(PresetChoice("go"),))).gates
    merged = define(GateSettings(preset=(PresetChoice("go"),), overrides=overrides)).gates
    for before, after in zip(plain, merged, strict=True):
        assert (after.name, after.command, after.after, after.creates) == (
            before.name, before.command, before.after, before.creates,
        )  # fmt: skip
        said = (after.required, after.threshold, after.timeout)
        assert said == changes.get(before.name, (before.required, before.threshold, before.timeout))


def test_settings_made_in_python_are_checked_too() -> None:
    settings = GateSettings(additional=(Additional("a", " "),))
    assert define(settings).problems == (
        "gates: gate `a` has no command: write one, or switch it off (`enabled: false`).",
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_what_init_writes_is_read_back(preset: str) -> None:
    text = template(block([Stack(preset), Stack(preset, "a b")]))
    settings = parse_settings(text.encode()).gates
    assert [(each.preset, each.folder) for each in settings.preset] == [(preset, (".", "a b"))]
    assert parse_settings(template().encode()).gates == GateSettings()


CHOICE = """\
gates:
  preset:
    - preset: typescript
      folder: [web, api]
      without: [lint]
      commands:
        test: pnpm test
"""


def test_what_is_different_in_a_preset_holds_in_all_its_folders() -> None:
    found = define(parse_settings(CHOICE.encode()).gates)
    assert found.problems == ()
    tests = {each.folder: each for each in found.gates if each.name.endswith("test")}
    assert {each.command for each in tests.values()} == {"pnpm test"}
    assert list(tests) == ["web", "api"]
    place = ".hornbook/config.yaml, line 6 (commands)"
    assert dict(tests["api"].origins)["command"] == place
    assert [each.name for each in found.disabled] == ["typescript-web-lint", "typescript-api-lint"]
    off = dict(found.disabled[0].origins)["enabled"]
    assert off == ".hornbook/config.yaml, line 5 (without)"
    on = CHOICE + "  overrides:\n    - {name: typescript-api-lint, enabled: true}\n"
    again = define(parse_settings(on.encode()).gates)
    assert [each.name for each in again.disabled] == ["typescript-web-lint"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("folder: []", "line 2: preset `go` has no folder: name one, or leave the key out."),
        ("without: [lnt]", "line 2: preset `go` has no gate `lnt`: did you mean `lint`?"),
        ("commands: {tests: x}", "line 2: preset `go` has no gate `tests`: did you mean `test`?"),
        ("without: [test], commands: {test: x}", "`test` has a command and is left out"),
        ("folder: [a, a]", "preset `go` stands twice for that folder."),
        ("commands: {test: ' '}", "gate `test` has no command"),
        ("folder: [a, ../b]", "`folder` is '../b': write a path below the root."),
    ],
)
def test_a_slip_in_what_a_preset_is_taken_with_is_told(line: str, told: str) -> None:
    text = f"gates:\n  preset: {{preset: go, {line}}}\n"
    with pytest.raises(ConfigError) as problem:
        parse_settings(text.encode(), check_gates)
    assert told in str(problem.value)


def test_every_line_of_a_new_config_file_says_the_default_when_its_mark_is_taken_away() -> None:
    marked = (re.match(r"#( {0,3}\w+:(?: .*)?)$", line) for line in template().splitlines())
    stated = "\n".join(found[1].removeprefix(" ") for found in marked if found)
    assert len(stated.splitlines()) > 100
    assert parse_settings(stated.encode()) == Settings()


# Where definitions come from


def test_another_tools_gates_are_read_where_there_is_no_file_of_ours(tmp_path: Path) -> None:
    write(tmp_path, {".semspec/config.yaml": "models: {a: b}\nmodels: 3\n" + SOURCE})
    with Workspace.open(tmp_path) as work:
        found = work.gates()
    assert found.file == ".semspec/config.yaml"
    coverage = next(each.gate for each in found.gates if each.gate.name == "coverage")
    assert dict(coverage.origins)["required"] == ".semspec/config.yaml, line 7 (overrides)"


def test_our_file_wins_even_if_it_says_nothing_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path, {".semspec/config.yaml": SOURCE, ".hornbook/config.yaml": "reserve: 10%\n"})
    with Workspace.open(tmp_path) as work:
        found = work.gates()
    assert (found.gates, found.file, found.sound) == ((), ".hornbook/config.yaml", False)
    assert ".semspec/config.yaml is read only where" in found.message


def test_slips_in_another_tools_gates_stop_only_gates(tmp_path: Path) -> None:
    write(tmp_path, {".semspec/config.yaml": "gates: {preset: java}\n"})
    with Workspace.open(tmp_path) as work:
        work.ingest()
        with pytest.raises(ConfigError, match=r"\.semspec/config\.yaml, line 1: no preset `java`"):
            work.gates()


def test_settings_are_read_from_bytes() -> None:
    files = {".semspec/config.yaml": SOURCE.encode()}
    settings, file = gate_settings(files.get)
    assert (settings.preset[0].preset, file) == ("go", ".semspec/config.yaml")
    assert gate_settings(lambda _path: None) == (GateSettings(), None)
    with pytest.raises(ConfigError, match="not UTF-8"):
        gate_settings({".semspec/config.yaml": b"\xff"}.get)


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(root), *who, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_change_is_judged_by_the_gates_of_its_base(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".hornbook/config.yaml": "gates:\n  additional:\n    - {name: check, command: ./check.sh}\n",
            "check.sh": "#!/bin/sh\npytest\n",
        },
    )
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    base = git(tmp_path, "rev-parse", "HEAD")
    write(
        tmp_path, {".hornbook/config.yaml": "gates:\n  preset: go\n", "check.sh": "#!/bin/sh\n:\n"}
    )
    git(tmp_path, "commit", "-qam", "two")
    with Workspace.open(tmp_path) as work:
        now, then = work.gates(), work.gates(diff="HEAD~1..HEAD")
    assert [each.gate.name for each in now.gates] == ["build", "vet", "lint", "test", "coverage"]
    assert (then.base, then.head) == (base, git(tmp_path, "rev-parse", "HEAD"))
    (check,) = then.gates
    assert check.gate.command == "./check.sh"
    assert check.state is GateState.REFUSED  # the change hollowed the script out
    assert "`./check.sh` is a script that always ends with 0" in check.reasons[0]


def test_scripts_are_read_from_the_gates_folder_and_never_from_outside(tmp_path: Path) -> None:
    write(tmp_path, {"evil.sh": "#!/bin/sh\ntrue\n", "repo/web/go.sh": "#!/bin/sh\ntrue\n"})
    (tmp_path / "repo" / "link.sh").symlink_to(tmp_path / "evil.sh")
    write(
        tmp_path / "repo",
        {
            ".hornbook/config.yaml": "gates:\n  additional:\n"
            "    - {name: a, command: ./go.sh, folder: web}\n"
            "    - {name: b, command: ../evil.sh}\n    - {name: c, command: ./link.sh}\n"
        },
    )
    with Workspace.open(tmp_path / "repo") as work:
        states = {each.gate.name: each.state for each in work.gates().gates}
    assert states == {"a": "refused", "b": "ready", "c": "ready"}


# The schema


def valid(answer: object) -> bool:
    return Draft202012Validator(schema()).is_valid(json.loads(json.dumps(answer)))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


def test_reports_keep_to_the_schema() -> None:
    result = GateResult("test", required=True, status=GateStatus.FAILED, exit_code=1, log="x.log")
    report = GateReport(passed=False, gates=(result,), tree="a" * 40, base="b" * 40, head="c" * 40)
    assert valid(asdict(report))
    assert valid(asdict(GateReport(passed=False)))
    assert not valid(asdict(GateReport(passed=True))), "nothing ran"
    assert not valid({**asdict(report), "extra": 1})
    assert not valid({"passed": True, "gates": [{"name": "test", "status": "fine"}]})
    for status in GateStatus:
        assert valid(asdict(GateReport(passed=False, gates=(GateResult("a", True, status),))))


def test_lists_keep_to_the_schema(tmp_path: Path) -> None:
    from hornbook.cli.commands.gates import answer

    write(tmp_path, {".hornbook/config.yaml": SOURCE})
    with Workspace.open(tmp_path) as work:
        assert valid(answer(work.gates()))
    assert valid(answer(GateList(message="none")))


# Words that YAML takes for truth values


@pytest.mark.parametrize("written", ["off", '"off"', "'off'"])
def test_the_floor_of_tests_can_be_switched_off_by_its_word(written: str) -> None:
    assert parse_settings(f"gates: {{tests: {written}}}".encode(), check_gates).gates.tests == "off"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gates:\n  tests: no\n", "`gates.tests` is 'no': write off, warn or required."),
        ("gates:\n  tests: Off\n", "`gates.tests` is 'Off': write off, warn or required."),
        ("gates:\n  tests: false\n", "`gates.tests` is False: write a text."),
        ("gates:\n  confine: off\n", "`gates.confine` is 'off': write runs, always, never."),
        ("review:\n  gates: on\n", "`review.gates` is 'on': write any or bound."),
        ("serve:\n  log: off\n", "`serve.log` is 'off': write requests or errors."),
        ("reserve: no\n", "`reserve` is 'no': write auto, tokens (4000) or a share (10%)."),
        ("reserve: 300%\n", "`reserve` is '300%': write auto, tokens (4000) or a share (10%)."),
        (
            "reserve: 900000\n",
            (
                "`reserve` is 900000, more than the window of 200000 tokens that the model for "
                "reviews has: write fewer, a share (10%) or auto."
            ),
        ),
        ("gates:\n  network: maybe\n", "`gates.network` is 'maybe': write true or false."),
    ],
)
def test_a_word_that_is_no_choice_is_told_as_it_was_written(text: str, said: str) -> None:
    (problem,) = problems_of(text)
    assert problem.endswith(said)


def test_words_stay_truth_values_where_one_is_wanted_and_texts_where_a_text_is() -> None:
    text = (
        "exclude: [on, no]\ngates:\n  network: yes\n"
        "  additional: [{name: on, command: pytest, environment: {CI: yes}, required: off}]\n"
    )
    settings = parse_settings(text.encode(), check_gates)
    (gate,) = settings.gates.additional
    assert (settings.exclude, settings.gates.network) == (("on", "no"), True)
    assert (gate.name, gate.environment, gate.required) == ("on", {"CI": "yes"}, False)


@pytest.mark.parametrize(
    ("command", "brought", "refused"),
    [
        ("python3 -m unittest discover -s tests", "unittest/__init__.py", True),
        ("python3 -m unittest", "unittest.py", True),
        ("python -m pytest", "pytest.py", True),
        ("python -B -m mypy .", "mypy/__main__.py", True),
        ("make test", "unittest/__main__.py", True),
        ("python3 -m unittest", "src/unittest/__init__.py", False),
        ("python3 -m unittest", "unittest/README.md", False),
        ("python3 -m unittest", "own.py", False),
    ],
)
def test_a_module_of_the_change_does_not_take_the_place_of_a_tool(
    tmp_path: Path, command: str, brought: str, refused: bool
) -> None:
    config = f"gates:\n  additional:\n    - {{name: test, command: '{command}'}}\n"
    start(tmp_path, {".hornbook/config.yaml": config, "Makefile": "test:\n\tpython -m unittest\n"})
    commit(tmp_path, {brought: "# mine\n"})
    (listed,) = gates_for(tmp_path, "main..work").gates
    assert (listed.state is GateState.REFUSED) == refused
    if refused:
        assert f"`{brought}` of the change would run in the place" in listed.reasons[0]
    commit(tmp_path, {"later.py": "# the base has it already\n"})
    (listed,) = gates_for(tmp_path, "work~1..work").gates
    assert listed.state is GateState.READY
