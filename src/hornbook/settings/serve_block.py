"""The settings of `hornbook serve`: who may ask, and how much one request may cost."""

from dataclasses import dataclass, field, fields

from hornbook.located import FileReading

INTROSPECTION = ("loopback", "always", "never")
LOGGED = ("requests", "errors")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What the server lets in, and where it stops; numbers are limits of one request."""

    hosts: tuple[str, ...] = field(
        default=(), metadata={"meaning": "Host names that the server is addressed by."}
    )
    origins: tuple[str, ...] = field(
        default=(), metadata={"meaning": "Web origins beside its own that may call the server."}
    )
    tokens: str = field(
        default=".hornbook/tokens",
        metadata={"meaning": "The file of bearer tokens, read beside `HORNBOOK_TOKENS`."},
    )
    introspection: str = field(
        default="loopback",
        metadata={"meaning": "Where introspection and pages work: `loopback`, `always`, `never`."},
    )
    log: str = field(
        default="requests",
        metadata={"meaning": "What is logged: all `requests`, or `errors` only."},
    )
    body_bytes: int = field(default=1_048_576, metadata={"meaning": "Bytes of a request's body."})
    query_tokens: int = field(default=2000, metadata={"meaning": "Tokens of a GraphQL document."})
    query_depth: int = field(
        default=10, metadata={"meaning": "Levels of a GraphQL document, introspection aside."}
    )
    query_aliases: int = field(
        default=30, metadata={"meaning": "Aliases of a GraphQL document, fragments spread out."}
    )
    query_cost: int = field(
        default=50_000, metadata={"meaning": "Fields times page of a GraphQL document."}
    )
    deadline_seconds: int = field(
        default=30, metadata={"meaning": "Seconds until an answer; an ingest may take longer."}
    )
    concurrency: int = field(
        default=64, metadata={"meaning": "Requests that are worked on at a time."}
    )
    waiting: int = field(
        default=1024, metadata={"meaning": "Requests that may wait for their turn."}
    )
    streams: int = field(
        default=100,
        metadata={"meaning": "Subscriptions and event streams that are open at a time."},
    )
    rate_per_minute: int = field(
        default=600, metadata={"meaning": "Requests a minute of one token."}
    )
    failures_per_minute: int = field(
        default=120, metadata={"meaning": "Wrong tokens a minute that one address may send."}
    )
    sparql_rows: int = field(default=10_000, metadata={"meaning": "Rows of a SPARQL answer."})
    sparql_bytes: int = field(default=33_554_432, metadata={"meaning": "Bytes of a SPARQL answer."})
    sparql_seconds: int = field(
        default=10, metadata={"meaning": "Seconds that a SPARQL query may take."}
    )
    sparql_workers: int = field(
        default=2, metadata={"meaning": "SPARQL queries that run at a time."}
    )
    sparql_megabytes: int = field(
        default=2048, metadata={"meaning": "Memory that a SPARQL query may use."}
    )
    cache_megabytes: int = field(
        default=64, metadata={"meaning": "Memory for entities that are ready to be sent."}
    )


def check_serve(settings: ServeSettings, reading: FileReading) -> None:
    """Note what is wrong with the `serve` block of a config file."""
    for key, value, known in (
        ("introspection", settings.introspection, INTROSPECTION),
        ("log", settings.log, LOGGED),
    ):
        reading.check(
            f"serve.{key}",
            f"`serve.{key}` is {value!r}: write {' or '.join(known)}.",
            valid=value in known,
        )
    for each in fields(settings):
        value = getattr(settings, each.name)
        if isinstance(value, int):
            reading.check(
                f"serve.{each.name}", f"`serve.{each.name}` must be above 0.", valid=value > 0
            )
    for origin in settings.origins:
        scheme, _, rest = origin.partition("://")
        reading.check(
            "serve.origins",
            f"`{origin}` is no origin: write it as https://host or http://host:port.",
            valid=scheme in {"http", "https"} and bool(rest) and "/" not in rest,
        )
