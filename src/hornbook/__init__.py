"""Hornbook: the referee for coding agents."""

TYPE_CHECKING = False  # importing typing would cost every hook some of its start-up time
if TYPE_CHECKING:
    from hornbook.version import __version__
    from hornbook.workspace import Workspace

__all__ = ["Workspace", "__version__"]

# ruff: noqa: PLC0415  # importing hornbook stays cheap: each is loaded when it is asked for


def __getattr__(name: str) -> object:
    """Load the workspace, and the version, only when they are asked for."""
    if name == "Workspace":
        from hornbook.workspace import Workspace

        return Workspace
    if name == "__version__":
        from hornbook.version import __version__

        return __version__
    raise AttributeError(f"module 'hornbook' has no attribute {name!r}")
