"""What a command uses beyond its limits ends it, with the number; this machine is unharmed."""

import os
import sys
from pathlib import Path

import pytest

from hornbook.gates.gate import Gate, GateStatus
from hornbook.gates.gate_confinement import gate_shell
from hornbook.gates.runner import run_gates
from hornbook.process import keeper
from hornbook.process.confinement import Means, this_machine
from hornbook.process.shell_command import Finished, UseLimits, run_command
from hornbook.settings.surroundings import LimitSettings
from tests.kit.waiting import SAFETY

MEGABYTE = 1024 * 1024
PYTHON = f"exec {sys.executable} -I -S -c"


def used(tmp_path: Path, command: str, limits: UseLimits) -> Finished:
    return run_command(
        command,
        folder=tmp_path,
        environment={"PATH": os.environ["PATH"]},
        timeout=SAFETY,
        log=tmp_path / "log",
        limits=limits,
    )


@pytest.mark.parametrize(
    ("command", "limits", "told"),
    [
        ("while :; do sleep 300 & done", UseLimits(processes=40), "processes: "),
        (
            f"{PYTHON} 'x = b\"1\" * {300 * MEGABYTE}\nwhile True: pass'",
            UseLimits(memory=100 * MEGABYTE),
            "memory: ",
        ),
        (f"{PYTHON} 'while True: pass'", UseLimits(cpu_seconds=1), "CPU: "),
    ],
    ids=["processes", "memory", "cpu"],
)
def test_who_uses_too_much_is_ended_with_the_number(
    tmp_path: Path, command: str, limits: UseLimits, told: str
) -> None:
    ended = used(tmp_path, command.replace("\\n", "\n"), limits)
    assert ended.over.startswith(told)
    assert not ended.timed_out


def test_a_folder_that_grows_too_much_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    code = (
        "import itertools, time\n"
        "for n in itertools.count():\n"
        "    open(f'full/{n % 400}', 'wb').write(bytes(131072)); time.sleep(0.01)"
    )
    limits = UseLimits(disk=4 * MEGABYTE, folders=(tmp_path / "full",))
    ended = used(tmp_path, f'{PYTHON} "{code}"', limits)
    assert ended.over.startswith("disk: ")


def test_one_file_never_passes_the_limit_of_the_disk(tmp_path: Path) -> None:
    command = "head -c 20000000 /dev/zero > big; echo $?"
    ended = used(tmp_path, command, UseLimits(disk=4 * MEGABYTE, folders=(tmp_path,)))
    assert ended.output.split()[-1] != "0"
    assert (tmp_path / "big").stat().st_size <= 4 * MEGABYTE


def test_what_stays_within_its_limits_is_left_alone(tmp_path: Path) -> None:
    limits = UseLimits(1000 * MEGABYTE, 100, 100 * MEGABYTE, 100, (tmp_path,))
    ended = used(tmp_path, "echo fine", limits)
    assert (ended.code, ended.output, ended.over) == (0, "fine\n", "")


def test_a_gate_that_was_ended_says_nothing_of_the_change(tmp_path: Path) -> None:
    machine = this_machine()
    if machine.means is Means.NOTHING:
        pytest.skip("nothing confines commands here")
    (tmp_path / "tree").mkdir()
    bomb = Gate(name="bomb", command="while :; do sleep 300 & done")
    used = LimitSettings(processes=40)
    with gate_shell(tmp_path / "tree", machine, used=used) as shell:
        report = run_gates([bomb], tmp_path / "tree", logs=tmp_path / "logs", wrap=shell)
    assert [each.status for each in report.gates] == [GateStatus.REFUSED]
    assert "passed a limit (processes: " in report.gates[0].message


def test_a_folder_that_is_no_control_group_is_not_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where only older groups are mounted, below a folder in memory that root may write.
    monkeypatch.setattr(keeper, "GROUPS", str(tmp_path))
    for folder, _ in keeper._control_groups():
        Path(folder).mkdir(parents=True, exist_ok=True)
    group = keeper.ControlGroup(keeper.Limits(["1000000", "10", "0", "0"]))
    assert group.folders == []
    assert not list(tmp_path.rglob("hornbook-*"))
