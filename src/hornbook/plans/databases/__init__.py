"""The databases that events are kept in: SQLite, or a Postgres that machines share."""
