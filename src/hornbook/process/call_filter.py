"""A filter of system calls, for what no namespace and no right keeps from a confined command.

It is a program for the kernel, which runs it before each call. Refused are keys of the kernel, and
sockets to the host of a virtual machine, which belong to no network; rings, by which sockets could
be made past any filter; changing the limits of another process, by which it can be ended; and
giving a file the bit with which whoever starts it becomes its owner: a file that is made inside
keeps it outside. A call that hides such a bit in memory is said to be none, and its callers then
use the older one.
"""

import struct
from typing import NamedTuple

_LOAD, _IS, _IS_AT_LEAST, _HAS, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NOT_PERMITTED, _NO_SUCH_CALL, _NO_SUCH_FAMILY = 1, 38, 97
_OTHER_NUMBERS = 0x40000000  # the same calls once more, for programs that nobody has
_VIRTUAL_MACHINES = 40
_RUNS_AS_OWNER = 0o4000
_MAKES_FILE = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE
_ARCHITECTURE = 4
# These have one number everywhere.
_MAKE_RING, _OPEN_BY_STRUCT, _CHANGE_MODE_AT = 425, 437, 452

_Instruction = tuple[int, int, int, int]


class _Calls(NamedTuple):
    """How an architecture numbers its calls: `modes` and `opens` by the place of their mode."""

    architecture: int
    keys: tuple[int, int, int]
    make_socket: int
    limits: int
    modes: tuple[tuple[int, int], ...]
    opens: tuple[tuple[int, int], ...]
    hidden: tuple[int, ...] = ()


# For each machine the architectures that its programs may have. Of `keys` these are add_key,
# request_key, keyctl; of `modes` chmod, fchmod, fchmodat, mknod, mknodat, creat; of `opens` open
# and openat, whose flags stand before the mode; `hidden` are calls that hide their arguments.
_MACHINES = {
    "x86_64": (
        _Calls(
            0xC000003E,
            (248, 249, 250),
            41,
            302,
            ((90, 1), (91, 1), (268, 2), (133, 1), (259, 2), (85, 1)),
            ((2, 2), (257, 3)),
        ),
        _Calls(
            0x40000003,
            (286, 287, 288),
            359,
            340,
            ((15, 1), (94, 1), (306, 2), (14, 1), (297, 2), (8, 1)),
            ((5, 2), (295, 3)),
            (102,),
        ),
    ),
    "aarch64": (
        _Calls(0xC00000B7, (217, 218, 219), 198, 261, ((52, 1), (53, 2), (33, 2)), ((56, 3),)),
        _Calls(
            0x40000028,
            (309, 310, 311),
            281,
            369,
            ((15, 1), (94, 1), (333, 2), (14, 1), (324, 2), (8, 1)),
            ((5, 2), (322, 3)),
            (102,),
        ),
    ),
}


def call_filter(machine: str) -> bytes:
    """The kernel's program that refuses those calls; empty for a machine that nobody looked up."""
    found: list[_Instruction] = []
    for calls in _MACHINES.get(machine, ()):
        own = [
            (_LOAD, 0, 0, 0),
            (_IS_AT_LEAST, 0, 1, _OTHER_NUMBERS),
            _refused(_NO_SUCH_CALL),
        ]
        for number in (*calls.keys, *calls.hidden, _MAKE_RING, _OPEN_BY_STRUCT):
            own += _call(number, [_refused(_NO_SUCH_CALL)])
        for number, place in (*calls.modes, (_CHANGE_MODE_AT, 2)):
            own += _call(number, _refused_with(place, _RUNS_AS_OWNER))
        for number, place in calls.opens:
            makes = [_load(place - 1), (_HAS, 1, 0, _MAKES_FILE), (_ANSWER, 0, 0, _ALLOW)]
            own += _call(number, [*makes, *_refused_with(place, _RUNS_AS_OWNER)])
        own += _call(calls.limits, _OF_ANOTHER)
        family = [_load(0), (_IS, 0, 1, _VIRTUAL_MACHINES), _refused(_NO_SUCH_FAMILY)]
        own += _call(calls.make_socket, [*family, (_ANSWER, 0, 0, _ALLOW)])
        own.append((_ANSWER, 0, 0, _ALLOW))
        # Each block judges its own architecture, and jumps over itself for another.
        found += [(_LOAD, 0, 0, _ARCHITECTURE), (_IS, 0, len(own), calls.architecture), *own]
    whole = [*found, _refused(_NO_SUCH_CALL)] if found else []
    return b"".join(struct.pack("=HBBI", *each) for each in whole)


def _call(number: int, judged: list[_Instruction]) -> list[_Instruction]:
    """What is done for a call, which ends with an answer; others are looked at further on."""
    return [(_IS, 0, len(judged), number), *judged]


def _load(place: int, half: int = 0) -> _Instruction:
    """Look at the lower half of an argument, or the upper one."""
    return (_LOAD, 0, 0, 16 + 8 * place + 4 * half)


def _refused(error: int) -> _Instruction:
    return (_ANSWER, 0, 0, _REFUSE | error)


def _refused_with(place: int, bits: int) -> list[_Instruction]:
    """Refuse a call with any of these bits in an argument."""
    refuse = _refused(_NOT_PERMITTED)
    return [_load(place), (_HAS, 0, 1, bits), refuse, (_ANSWER, 0, 0, _ALLOW)]


# A process other than the caller, which is 0, and a new limit, whose address is not 0.
_OF_ANOTHER: list[_Instruction] = [
    _load(0),
    (_IS, 5, 0, 0),
    _load(2),
    (_IS, 0, 2, 0),
    _load(2, 1),
    (_IS, 1, 0, 0),
    _refused(_NOT_PERMITTED),
    (_ANSWER, 0, 0, _ALLOW),
]
