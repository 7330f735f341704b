"""Confines itself with Landlock and becomes a command: run as a script of its own, not imported.

Landlock is the kernel's way for a process to give up rights for good, without being root: it makes
a ruleset that names the rights it wants to have handled, adds the folders below which each of them
stays allowed, and restricts itself; what it starts inherits that. There is no way to except a path
from a folder that is allowed, so the order lists what is left, never what is taken. Later kernels
know more rights (moving between folders, truncating, TCP, signals and sockets of others); what this
kernel does not know is not asked for, and the caller is warned of what stays open. Capabilities are
given up too, for good: root with none of them is held by the same rules as everyone.

Its first argument is JSON: `write` has the paths that may be written, `read` those that may be
read or is null for all of them, and `network` is false to take the network away, by a network of
its own if `apart` is true; `filter` is a program for the kernel that refuses system calls, in hex.
With `--probe` alone it prints what this machine can do. What it was told to do and cannot do ends
it with 126: it never runs a command less confined than it was told.
"""

import ctypes
import fcntl
import json
import os
import socket
import stat
import struct
import sys

CREATE, ADD, RESTRICT = 444, 445, 446
NO_NEW_PRIVILEGES = 38
FILTER_CALLS, BY_PROGRAM, INSTRUCTION = 22, 2, 8
DROP_BOUND, AMBIENT, CLEAR_ALL = 24, 47, 4
CAPABILITY_VERSION = 0x20080522
HIGHEST_CAPABILITY = 63
BENEATH = 1
NEW_USERS, NEW_NETWORK, NEW_MEMORY = 0x10000000, 0x40000000, 0x08000000
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1, 2, 4, 8
MAKE_AND_REMOVE = 0x1FF0  # remove folder and file; make device, folder, file, socket, pipe, link
MOVE, TRUNCATE, DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
READING = EXECUTE | READ_FILE | READ_FOLDER
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL
TCP = 3
SCOPED = 3
REFUSED = 126


def version() -> int:
    """The version of Landlock that the kernel has; 0 if it has none."""
    found = int(_libc().syscall(CREATE, None, 0, 1))
    return max(found, 0)


def writing(abi: int) -> int:
    """Every right to change something that this version knows."""
    rights = WRITE_FILE | MAKE_AND_REMOVE
    rights |= MOVE if abi >= 2 else 0
    rights |= TRUNCATE if abi >= 3 else 0
    return rights


def confine(order: dict[str, object]) -> None:
    """Give up every right that the order does not leave."""
    abi = version()
    if abi == 0:
        raise OSError("this kernel has no Landlock")
    allowed = order.get("read")
    handled = writing(abi) | (READING if allowed is not None else 0)
    # In a network of its own a command may talk to itself.
    tcp = TCP if order.get("network") is False and not order.get("apart") else 0
    data = _ruleset(abi, handled, tcp)
    ruleset = _checked(_libc().syscall(CREATE, data, len(data), 0), "create a ruleset")
    rights = ((allowed, READING), (order.get("list"), READ_FOLDER), (order.get("write"), handled))
    for paths, right in rights:
        for path in _paths(paths):
            _allow(ruleset, path, handled & right)
    _checked(_libc().prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "give up new privileges")
    give_up_capabilities()
    _checked(_libc().syscall(RESTRICT, ruleset, 0), "restrict itself")
    os.close(ruleset)
    filter_calls(bytes.fromhex(str(order.get("filter") or "")))


def filter_calls(program: bytes) -> None:
    """Have the kernel judge each system call by a program; none judges nothing."""
    if not program:
        return
    kept = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("@HP", len(program) // INSTRUCTION, ctypes.addressof(kept))
    _checked(_libc().prctl(FILTER_CALLS, BY_PROGRAM, given, 0, 0), "filter system calls")


def give_up_capabilities() -> None:
    """Have none, and get none back by becoming another program, not even as root."""
    library = _libc()
    library.prctl(AMBIENT, CLEAR_ALL, 0, 0, 0)
    for number in range(HIGHEST_CAPABILITY + 1):
        # Beyond the last one that the kernel knows, and for who has none anyway, this fails.
        library.prctl(DROP_BOUND, number, 0, 0, 0)
    header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
    _checked(library.capset(header, struct.pack("=6I", *(0,) * 6)), "give up capabilities")


def _ruleset(abi: int, handled: int, tcp: int) -> bytes:
    """The kernel's struct: files from version 1 on, TCP from 4, signals and sockets from 6."""
    fields = (handled, tcp, SCOPED)[: 1 if abi < 4 else 2 if abi < 6 else 3]
    return struct.pack(f"={len(fields)}Q", *fields)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        found = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # what is not there, or not ours to reach, needs no right
    try:
        if not stat.S_ISDIR(os.fstat(found).st_mode):
            rights &= ON_FILES
        if rights:
            rule = struct.pack("=Qi", rights, found)
            _checked(_libc().syscall(ADD, ruleset, BENEATH, rule, 0), f"allow {path}")
    finally:
        os.close(found)


def leave_network() -> bool:
    """Whether this process now has a network of its own, with nothing in it but loopback.

    Memory and queues that others share by a number are left with it.
    """
    users, groups = os.getuid(), os.getgid()
    own = NEW_NETWORK | NEW_MEMORY
    if _libc().unshare(own) != 0:
        if _libc().unshare(NEW_USERS | own) != 0:
            return False
        _write("setgroups", "deny")
        _write("uid_map", f"{users} {users} 1")
        _write("gid_map", f"{groups} {groups} 1")
    up = struct.pack("16sh14x", b"lo", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        fcntl.ioctl(line, 0x8914, up)
    return True


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123  # pathlib costs every command 10 ms
        file.write(text)


def main(arguments: list[str]) -> None:
    """Probe, or confine this process and become the command."""
    if arguments == ["--probe"]:
        abi = version()
        print(json.dumps({"abi": abi, "network": leave_network()}))  # noqa: T201  # its answer
        return
    order = json.loads(arguments[0])
    try:
        if order.get("network") is False and order.get("apart"):
            _checked(0 if leave_network() else -1, "leave the network")
        confine(order)
    except OSError as problem:
        sys.stderr.write(f"cannot confine {arguments[1]}: {problem}\n")
        sys.exit(REFUSED)
    try:
        os.execvp(arguments[1], arguments[1:])  # noqa: S606  # the confined program itself
    except OSError as problem:
        sys.stderr.write(f"{arguments[1]}: {problem.strerror}\n")
        sys.exit(127)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _paths(found: object) -> list[str]:
    return [str(each) for each in found] if isinstance(found, list) else []


def _checked(answer: int, what: str) -> int:
    if answer < 0:
        raise OSError(f"cannot {what}: {os.strerror(ctypes.get_errno())}")
    return answer


if __name__ == "__main__":
    main(sys.argv[1:])
