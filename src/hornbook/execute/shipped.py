"""The templates that ship with Hornbook."""

from functools import cache
from importlib.resources import files

from hornbook.execute.templates import TaskTemplate, require_template

SHIPPED = ("loop", "developer", "gates", "reviewer", "decomposition")


@cache
def shipped_template(name: str) -> TaskTemplate:
    """One of the `SHIPPED` templates.

    Raises:
        FileNotFoundError: None has that name.
    """
    file = files("hornbook.execute") / "templates" / f"{name}.xml"
    return require_template(file.read_bytes(), f"{name}.xml")
