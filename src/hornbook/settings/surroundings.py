"""What surrounds a confined command, as settings state it: its home, its network, its limits."""

from dataclasses import dataclass, field

OPEN_NETWORK = "open"


@dataclass(frozen=True, slots=True)
class HomeSettings:
    """What a call finds of the user's home, each a path below it.

    `read` is bound read-only, `copy` is a copy that is dropped, `back` are JSON files with
    credentials that return after the call if they still have the same keys.
    """

    read: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What a confined agent or gate may use together with all that it starts; 0 is no limit."""

    memory_percent: int = field(
        default=75, metadata={"meaning": "How much of this machine's memory, in percent."}
    )
    processes: int = field(default=4096, metadata={"meaning": "How many processes."})
    disk_megabytes: int = field(
        default=20_480, metadata={"meaning": "By how much the folders that it writes may grow."}
    )
    cpu_minutes: int = field(default=0, metadata={"meaning": "How much processor time."})
