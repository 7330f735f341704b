"""What is around the work, as settings state it: homes and limits, the engine, the server."""

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


@dataclass(frozen=True, slots=True)
class CostSettings:
    """What agents may cost in cents before a person is asked; 0 is no limit."""

    run: int = field(default=0, metadata={"meaning": "Of a run, in cents; 0 is no limit."})
    plan: int = field(default=0, metadata={"meaning": "Of all runs of a plan, in cents."})
    day: int = field(default=0, metadata={"meaning": "Of all runs in the last day, in cents."})
    repository: int = field(
        default=0, metadata={"meaning": "Of all runs of the repository, in cents."}
    )


@dataclass(frozen=True, slots=True)
class AtOnceSettings:
    """How many steps of all machines may use something at the same time; unnamed is unlimited."""

    agents: dict[str, int] = field(
        default_factory=dict, metadata={"meaning": "For an agent by its name: how many at a time."}
    )
    endpoints: dict[str, int] = field(
        default_factory=dict,
        metadata={"meaning": "For a model's host, with its port, or provider: how many at a time."},
    )


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Where events are kept, and what the loop may do and cost."""

    database: str = field(
        default="",
        metadata={
            "meaning": "The URL of a shared database for events; empty is SQLite in `.hornbook`."
        },
    )
    exchange: str = field(
        default="database",
        metadata={
            "meaning": "How machines hand each other commits: `database`, or `git` by a remote."
        },
    )
    remote: str = field(
        default="origin",
        metadata={"meaning": "The remote that commits are pushed to with `exchange: git`."},
    )
    agent: str = field(
        default="",
        metadata={"meaning": "Who works unless `--agent` says so: `claude`, `claude,codex` …"},
    )
    parallel: int = field(
        default=2, metadata={"meaning": "How many runs one process works on at the same time."}
    )
    run_minutes: int = field(
        default=0,
        metadata={"meaning": "How long a run may work and wait for agents; 0 is no limit."},
    )
    heartbeat_seconds: int = field(
        default=5, metadata={"meaning": "How often a worker tells that it lives."}
    )
    dead_after_seconds: int = field(
        default=30,
        metadata={"meaning": "After how long without a word others take a worker's runs."},
    )
    database_wait_seconds: int = field(
        default=300,
        metadata={"meaning": "How long a database that is away is waited for; told once."},
    )
    keep_days: int = field(
        default=0,
        metadata={
            "meaning": "How many days shared commits and files of plans that are over are kept; "
            "0: for ever."
        },
    )
    attempts: int = field(
        default=3,
        metadata={
            "meaning": "Attempts at a task before a person decides; a run keeps what it began with."
        },
    )
    reask: int = field(
        default=1,
        metadata={"meaning": "How often a reviewer is asked again when a review is invalid."},
    )
    subtasks: int = field(
        default=3, metadata={"meaning": "How many subtasks a developer may ask for in a task."}
    )
    red_first: bool = field(
        default=False,
        metadata={
            "meaning": "Whether failing tests are written, judged and reviewed before a feature."
        },
    )
    most_steps: int = field(
        default=400,
        metadata={
            "meaning": "Steps of a run before a person decides; a developer's grow up to it."
        },
    )
    most_tokens: int = field(
        default=0,
        metadata={"meaning": "Tokens of a run, as agents tell them; 0 is no limit."},
    )
    most_seconds: int = field(
        default=7200,
        metadata={"meaning": "Seconds of work of a run; waiting does not count; 0 is no limit."},
    )
    cost: CostSettings = field(
        default=CostSettings(),
        metadata={"meaning": "What agents may cost in cents, as they tell it; 0 is no limit."},
    )
    limits: LimitSettings = field(
        default=LimitSettings(), metadata={"meaning": "What a confined agent may use in a call."}
    )
    at_once: AtOnceSettings = field(
        default=AtOnceSettings(),
        metadata={"meaning": "How many steps of all machines may use an agent or a model at once."},
    )


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Where it is told that something waits for a person, and how that is signed."""

    url: str = field(
        default="",
        metadata={"meaning": "Who is told each question to a person: an address, empty is nobody."},
    )
    secret_variable: str = field(
        default="",
        metadata={"meaning": "The environment variable with the secret that signs what is told."},
    )
    private: tuple[str, ...] = field(
        default=(),
        metadata={
            "meaning": "Addresses with a port, of this machine or a private network, that may be."
        },
    )
    hours: int = field(
        default=24, metadata={"meaning": "For how long it is tried again to tell a question."}
    )


EMBEDDED_STORE = "embedded"


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """Where the graph lies, and how a store that somebody else runs is asked."""

    store: str = field(
        default=EMBEDDED_STORE,
        metadata={"meaning": "`embedded`, or the URL of a SPARQL 1.1 store that others run."},
    )
    credentials: str = field(
        default="",
        metadata={
            "meaning": "The environment variable with the store's `user:password`, or a token."
        },
    )
    query_path: str = field(
        default="query", metadata={"meaning": "Where below the URL the store answers queries."}
    )
    update_path: str = field(
        default="update", metadata={"meaning": "Where below the URL it takes updates."}
    )
    graphs_path: str = field(
        default="store",
        metadata={"meaning": "Where below the URL it speaks the Graph Store protocol."},
    )
    read_only: bool = field(
        default=False,
        metadata={"meaning": "Whether the store is only read here: an ingest publishes nothing."},
    )
    keep_minutes: int = field(
        default=60,
        metadata={"meaning": "How long graphs that no generation lists any more stay there."},
    )
    wait_seconds: int = field(
        default=5, metadata={"meaning": "How long a store that is away is asked again."}
    )
    timeout_seconds: int = field(
        default=300, metadata={"meaning": "How long one request to the store may take."}
    )

    @property
    def is_remote(self) -> bool:
        """Whether somebody else runs the store."""
        return self.store != EMBEDDED_STORE


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How long it is kept who did what."""

    keep_days: int = field(
        default=0,
        metadata={
            "meaning": "After how many days `audit drop` drops the log of a plan that is over; "
            "0: never."
        },
    )


HUMAN_WAYS = ("cli", "secret", "session", "token", "oidc", "forge")
"""How a person can be known."""


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Whose word counts where a person is needed."""

    via: tuple[str, ...] = field(
        default=HUMAN_WAYS,
        metadata={"meaning": "How a person must be known to answer a run or to overrule."},
    )


INTROSPECTION = ("loopback", "always", "never")
LOGGED = ("requests", "errors")
READ = ("open", "secret")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What the server lets in, and where it stops; numbers are limits of one request."""

    hosts: tuple[str, ...] = field(
        default=(), metadata={"meaning": "Host names that the server is addressed by."}
    )
    origins: tuple[str, ...] = field(
        default=(), metadata={"meaning": "Web origins beside its own that may call the server."}
    )
    proxies: tuple[str, ...] = field(
        default=("127.0.0.1", "::1"),
        metadata={"meaning": "Addresses of proxies whose `X-Forwarded-…` headers count."},
    )
    base_path: str = field(
        default="", metadata={"meaning": "The path that the server lies below, such as `/rules`."}
    )
    tokens: str = field(
        default=".hornbook/tokens",
        metadata={"meaning": "The file of bearer tokens, read beside `HORNBOOK_TOKENS`."},
    )
    read: str = field(
        default="open",
        metadata={
            "meaning": "Who may read on loopback without tokens: `open` for every account of this "
            "machine, `secret` for those who know `.hornbook/secret`."
        },
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
