"""What can confine a command on this machine, one means at a time."""

from hornbook.process.confinement import Machine, Means, this_machine

MEANS = (Means.BUBBLEWRAP, Means.LANDLOCK)


def machine_with(means: Means) -> Machine | None:
    """This machine with one of its means alone; None if it has not got that."""
    here = this_machine()
    if means is Means.BUBBLEWRAP:
        return here if here.bubblewrap is not None else None
    return Machine(None, here.landlock, here.apart) if here.landlock else None


def any_machine() -> Machine:
    """This machine with the best that it has."""
    return this_machine()
