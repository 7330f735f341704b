"""The database that a URL names: checked before anything connects to it."""

from importlib.util import find_spec

import sqlalchemy as sql

from hornbook.errors import UsageError

POSTGRES = "postgresql+psycopg"
_POSTGRES_NAMES = frozenset({"postgres", "postgresql", POSTGRES})
_SQLITE_NAMES = frozenset({"sqlite", "sqlite+pysqlite"})


def checked_url(text: str) -> sql.URL:
    """The URL of a database that we can use, with the driver that we use for it.

    Raises:
        UsageError: It is no URL, names another kind of database, or the driver is not installed.
    """
    try:
        url = sql.make_url(text)
    except sql.exc.ArgumentError as problem:
        raise UsageError(
            "`engine.database` is no URL: write one such as postgresql+psycopg://host/name."
        ) from problem
    if url.drivername in _SQLITE_NAMES:
        return url
    if url.drivername not in _POSTGRES_NAMES:
        raise UsageError(
            f"`engine.database` begins with {url.drivername}://, which no driver of ours reads: "
            "write postgresql+psycopg://host/name, or leave it out for SQLite."
        )
    if find_spec("psycopg") is None:
        raise UsageError(
            "`engine.database` names a Postgres, but its driver is not installed: "
            "install hornbook[postgres]."
        )
    if not url.database:
        raise UsageError(
            f"`engine.database` ({url.render_as_string(hide_password=True)}) names no database: "
            "add its name after the host, such as postgresql+psycopg://host/name."
        )
    return url.set(drivername=POSTGRES)
