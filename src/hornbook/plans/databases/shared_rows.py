"""The rows that a repository has in a database that several share, as lines of JSON."""

import base64
import json
from collections.abc import Iterator

import sqlalchemy as sql

from hornbook.plans.databases.shared_database import SCHEMA, checked_url

OURS = "hornbook_"


def rows_of_repository(database: str, repository: str) -> Iterator[tuple[str, bytes]]:
    """Each table of ours with the repository's rows in it, all of one moment.

    Raises:
        UsageError: The URL names no database that we can use.
    """
    engine = sql.create_engine(checked_url(database), isolation_level="REPEATABLE READ")
    try:
        with engine.connect() as connection:
            tables = sql.MetaData()
            tables.reflect(connection, schema=SCHEMA, only=lambda name, _: name.startswith(OURS))
            for table in tables.sorted_tables:
                if "repository" not in table.c:
                    continue
                asked = table.select().where(table.c.repository == repository)
                rows = connection.execute(asked.order_by(*table.primary_key)).mappings()
                lines = (json.dumps({k: _plain(v) for k, v in row.items()}) for row in rows)
                yield table.name, "".join(f"{line}\n" for line in lines).encode()
    finally:
        engine.dispose()


def _plain(value: object) -> object:
    """A value as JSON has it; bytes in base64."""
    if isinstance(value, bytes | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode("ascii")}
    return value if isinstance(value, int | float | str | bool | None) else str(value)
