"""`confine check`: each part of the confinement is missed when it is taken away."""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner

from hornbook.cli.app import app
from hornbook.process.confine_check import PROBES, Cell, confine_check, tried
from hornbook.process.confinement import Machine, Means, this_machine
from tests.kit.confinements import MEANS, machine_with

Words = Sequence[str]


def without(*removed: str, after: int = 0) -> Callable[[Words], list[str]]:
    """Leave out words of a command line, each with so many words behind it."""

    def altered(words: Words) -> list[str]:
        found = list(words)
        for each in removed:
            place = found.index(each)
            del found[place : place + after + 1]
        return found

    return altered


def without_mount(ending: str) -> Callable[[Words], list[str]]:
    """Leave out what is laid over a place whose path ends so."""

    def altered(words: Words) -> list[str]:
        found = list(words)
        place = next(
            n
            for n in range(2, found.index("--"))
            if found[n].endswith(ending) and found[n - 2] in {"--bind", "--ro-bind"}
        )
        del found[place - 2 : place + 1]
        return found

    return altered


def writable_root(words: Words) -> list[str]:
    found = list(words)
    found[found.index("--ro-bind")] = "--bind"
    return found


def writable_everywhere(words: Words) -> list[str]:
    return ["--bind" if each == "--ro-bind" else each for each in words]


def all_rights(words: Words) -> list[str]:
    return without(*this_machine().users)(without("--cap-drop", after=1)(words))


def without_kernel_settings(words: Words) -> list[str]:
    return without("--ro-bind-try", after=2)(words)


def without_filter(words: Words) -> list[str]:
    return [each.replace("--seccomp 9 ", "") for each in words]


def with_our_devices(words: Words) -> list[str]:
    found = list(words)
    place = found.index("--dev")
    return [*found[:place], "--dev-bind", "/dev", *found[place + 1 :]]


def without_own_temporary(words: Words) -> list[str]:
    found = list(words)
    place = next(
        n for n in range(len(found) - 1, 0, -1) if found[n - 1 : n + 1] == ["--tmpfs", "/tmp"]
    )
    return [*found[: place - 1], *found[place + 1 :]]


PARTS = {
    "remount": all_rights,
    "write_etc": writable_root,
    "kernel_settings": without_kernel_settings,
    "read_home": without_mount("/home"),
    "host_loopback": without("--unshare-net"),
    "unix_socket": without_mount("/s"),
    "abstract_socket": without("--unshare-net"),
    "ptrace": lambda words: all_rights(without("--unshare-pid")(words)),
    "kill_outside": without("--unshare-pid"),
    "change_limits": lambda words: without_filter(without("--unshare-pid")(words)),
    "user_program": without_filter,
    "shared_memory": without("--unshare-ipc"),
    "read_key": without_filter,
    "vm_socket": without_filter,
    "terminal": with_our_devices,
    "other_calls": without_own_temporary,
    "change_mode": writable_everywhere,
    "git_write": without_mount("/.git"),
}
KERNELS_OWN = {"read_key", "vm_socket"}
ROOTS_OWN = {"remount", "write_etc", "kernel_settings", "ptrace"}
"""The last one since others have users of their own in bubblewrap, whatever is left out."""


def test_every_probe_has_a_part_that_holds_it() -> None:
    assert PARTS.keys() == PROBES.keys()


@pytest.mark.parametrize("probe", PARTS)
def test_without_its_part_a_cell_turns_red(probe: str) -> None:
    machine = this_machine()
    if machine.bubblewrap is None or not machine.apart:
        pytest.skip("bubblewrap is not installed, or does not work here")
    if probe in ROOTS_OWN and os.getuid() != 0:
        pytest.skip("only root could do that anyway")
    if probe in KERNELS_OWN and tried(Machine(None, 0, apart=False))[probe] is Cell.HELD:
        pytest.skip("this kernel has none")
    assert tried(machine, PARTS[probe])[probe] is Cell.OPEN


def test_bubblewrap_holds_everything() -> None:
    machine = this_machine()
    if machine.bubblewrap is None or not machine.apart:
        pytest.skip("bubblewrap is not installed, or does not work here")
    assert tried(machine) == dict.fromkeys(PROBES, Cell.HELD)


def test_landlock_leaves_the_memory_of_others_with_their_network() -> None:
    machine = replace(this_machine(), bubblewrap=None)
    if not machine.landlock or not machine.apart:
        pytest.skip("no Landlock here, or no network of its own")
    found = tried(machine)
    assert found["shared_memory"] is Cell.HELD
    assert {found[each] for each in ("read_key", "vm_socket", "terminal", "other_calls")} == {
        Cell.HELD
    }
    assert found["change_mode"] is Cell.OPEN  # which is why a run with it has a warning


@pytest.mark.parametrize("means", MEANS)
def test_what_others_are_told_is_held_wherever_temporary_files_and_the_home_lie(
    means: Means, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_with(means)
    if machine is None:
        pytest.skip(f"no {means} here")
    with tempfile.TemporaryDirectory(
        dir="/var/tmp"
    ) as place:  # no part of /tmp, which is hidden anyway
        monkeypatch.setattr(tempfile, "tempdir", place)  # the home of the probe lies in it, too
        found = tried(machine)
    assert (found["other_calls"], found["read_home"]) == (Cell.HELD, Cell.HELD)


def test_nothing_holds_nothing_that_is_everybodys() -> None:
    found = confine_check(Machine(None, 0, apart=False))
    assert (found.means, found.holds) == (Means.NOTHING, False)
    open_to_all = {row.probe for row in found.rows if row.nothing is Cell.OPEN}
    assert open_to_all >= {"read_home", "host_loopback", "unix_socket", "git_write"}
    assert {row.bubblewrap for row in found.rows} == {Cell.NOT_TRIED}


def test_the_command_answers_in_the_shape_of_its_table() -> None:
    done = CliRunner().invoke(app, ["confine", "check", "--json"])
    told = json.loads(done.output)
    assert told.keys() == {"user", "rows", "network", "limits"}
    assert [row["probe"] for row in told["rows"]] == list(PROBES)
    assert {row.keys() == {"probe", *Means} for row in told["rows"]} == {True}
