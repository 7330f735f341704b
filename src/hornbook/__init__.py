"""Hornbook: the referee for coding agents."""

from hornbook.version import __version__

TYPE_CHECKING = False  # importing typing would cost every hook some of its start-up time
if TYPE_CHECKING:
    from hornbook.workspace import Workspace

__all__ = ["Workspace", "__version__"]


def __getattr__(name: str) -> object:
    """Load the workspace only when it is asked for: importing hornbook stays cheap."""
    if name == "Workspace":
        from hornbook.workspace import Workspace  # noqa: PLC0415  # start-up time

        return Workspace
    raise AttributeError(f"module 'hornbook' has no attribute {name!r}")
