"""Hornbook: the referee for coding agents."""

TYPE_CHECKING = False  # importing typing would cost every hook some of its start-up time
if TYPE_CHECKING:
    from hornbook.workspace.workspace import Workspace

__all__ = ["Workspace", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load the workspace only when it is asked for: importing hornbook stays cheap."""
    if name == "Workspace":
        from hornbook.workspace.workspace import Workspace  # noqa: PLC0415  # start-up time

        return Workspace
    raise AttributeError(f"module 'hornbook' has no attribute {name!r}")
