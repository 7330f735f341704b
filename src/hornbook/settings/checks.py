"""What only this room can say of the settings: each block's check, in the order of the blocks."""

import re
import shlex
from dataclasses import fields
from datetime import date
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path, PurePosixPath
from string import Formatter

from hornbook.errors import BadGlob
from hornbook.located import FileReading
from hornbook.settings.models import CAPABILITIES, SHIPPED_MODELS, ModelSettings, web_address
from hornbook.settings.reserve import AUTO, is_reserve
from hornbook.settings.settings import (
    JSON_PATHS,
    PLACEHOLDERS,
    RESERVED,
    REVIEW_WARNINGS,
    ROLES,
    SHIPPED,
    AcceptedUnread,
    Confine,
    GateSettings,
    GuardSettings,
    Output,
    OwnCommand,
    PromptBy,
    ReviewSettings,
    Settings,
    Sight,
)
from hornbook.settings.surroundings import (
    HUMAN_WAYS,
    INTROSPECTION,
    LOGGED,
    OPEN_NETWORK,
    READ,
    GraphSettings,
    NotifySettings,
    ServeSettings,
)
from hornbook.text.globs import parse, parse_set
from hornbook.text.tokens import COUNTERS
from hornbook.vocabulary.terms import Severity

_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9-]{0,219}")
_BASE_IRI = re.compile(r"https?://[A-Za-z0-9._~:/%-]+/")
_HOST_PORT = re.compile(r"(?:[^\s:/@*\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


def check_settings(settings: Settings, reading: FileReading) -> None:
    """Note everything that is wrong with what a config file states."""
    _check(settings, reading)
    _check_reserve(settings, reading)
    _check_names(settings, reading)
    _check_models(settings.models, reading)
    _check_agents(settings, reading)
    _check_guard(settings.guard, reading)
    _check_serve(settings.serve, reading)
    _check_graph(settings.graph, reading)
    unknown = sorted(set(settings.answer.via) - set(HUMAN_WAYS))
    reading.check(
        "answer.via",
        f"`answer.via` has {', '.join(unknown) or 'nothing'}: write some of "
        f"{', '.join(HUMAN_WAYS)}.",
        valid=bool(settings.answer.via) and not unknown,
    )


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STORE = re.compile(
    r"https?://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(:(?P<port>\d{1,5}))?(/[^\s?#@]*)?"
)
_LAST_PORT = 65535
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PATH = re.compile(r"[A-Za-z0-9._~/-]*")


def _check_graph(graph: GraphSettings, reading: FileReading) -> None:
    url = _STORE.fullmatch(graph.store)
    reading.check(
        "graph.store",
        f"`graph.store` is {_without_login(graph.store)!r}: write embedded, or a URL as "
        "http://127.0.0.1:7878, without a log-in in it (`graph.credentials` names its variable).",
        valid=not graph.is_remote or (url is not None and int(url["port"] or 1) <= _LAST_PORT),
    )
    reading.check(
        "graph.credentials",
        "`graph.credentials` is no name: write that of an environment variable, never a secret.",
        valid=not graph.credentials or _VARIABLE.fullmatch(graph.credentials) is not None,
    )
    open_way = url is not None and graph.store.startswith("http:") and url["host"] not in _LOOPBACK
    reading.check(
        "graph.credentials",
        "`graph.credentials` would be sent unencrypted: write `graph.store` with https.",
        valid=not (graph.credentials and open_way),
    )
    for name in ("query_path", "update_path", "graphs_path"):
        reading.check(
            f"graph.{name}",
            f"`graph.{name}` is no path below the store's URL: write it as query or ds/query.",
            valid=_PATH.fullmatch(getattr(graph, name)) is not None,
        )
    reading.check(
        "graph.keep_minutes",
        f"`graph.keep_minutes` is {graph.keep_minutes}: write 1 or more. Whoever reads or writes "
        "needs the time, and a writer says three times a minute that it is at work.",
        valid=graph.keep_minutes >= 1,
    )
    reading.check(
        "graph.read_only",
        "`graph.read_only` is for a store that others run: name it in `graph.store`.",
        valid=graph.is_remote or not graph.read_only,
    )
    reading.check(
        "graph.timeout_seconds",
        f"`graph.timeout_seconds` is {graph.timeout_seconds}: write 1 or more.",
        valid=graph.timeout_seconds >= 1,
    )


def _without_login(url: str) -> str:
    """A URL as it may be shown."""
    return re.sub(r"//[^/]*@", "//[masked]@", url)


def _is_host_port(text: str) -> bool:
    """Whether a text is a host with a port that there is."""
    found = _HOST_PORT.fullmatch(text)
    return found is not None and 0 < int(found["port"]) <= _LAST_PORT


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, written as 2026-12-31."""
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) and date.fromisoformat(text))
    except ValueError:
        return False


def _check_unread(accepted: tuple[AcceptedUnread, ...], reading: FileReading) -> None:
    for number, each in enumerate(accepted):
        key = f"review.unread[{number}]"
        reading.check(
            f"{key}.until",
            f"`{each.until}` is no day: write it as 2026-12-31.",
            valid=is_day(each.until),
        )
        for name in ("path", "reason"):
            text = f"`{name}` of what may stay unread is empty: write one."
            reading.check(f"{key}.{name}", text, valid=bool(getattr(each, name).strip()))


def _check_opinions(review: ReviewSettings, reading: FileReading) -> None:
    percent = review.confidence_percent
    number = percent.isascii() and percent.isdigit() and len(percent) < 4
    reading.check(
        "review.confidence_percent",
        f"`review.confidence_percent` is {percent!r}: write auto, or a number up to 100.",
        valid=percent == AUTO or (number and int(percent) <= 100),
    )
    reading.check(
        "review.reviewers",
        f"`review.reviewers` is {review.reviewers}: write 1, or 2 for a second opinion.",
        valid=review.reviewers in {1, 2},
    )
    reading.check(
        "review.canary",
        f"`review.canary` is {review.canary}: write 0, or of how many changes one is a trial.",
        valid=review.canary >= 0,
    )


def _check_names(settings: Settings, reading: FileReading) -> None:
    reading.check(
        "base_iri",
        f"`base_iri` is {settings.base_iri!r}: write an IRI that ends with a slash, such as "
        "https://rules.example.org/.",
        valid=_BASE_IRI.fullmatch(settings.base_iri) is not None,
    )


def _check_reserve(settings: Settings, reading: FileReading) -> None:
    reading.check(
        "reserve",
        f"`reserve` is {settings.reserve!r}: write auto, tokens (4000) or a share (10%).",
        valid=is_reserve(settings.reserve),
    )
    tokens = int(settings.reserve) if _is_tokens(settings.reserve) else 0
    window = settings.window
    reading.check(
        "reserve",
        f"`reserve` is {tokens}, more than the window of {window} tokens that the model for "
        "reviews has: write fewer, a share (10%) or auto.",
        valid=not window or tokens <= window,
    )


def _is_tokens(reserve: str) -> bool:
    return is_reserve(reserve) and reserve.isdecimal()


def _check(settings: Settings, reading: FileReading) -> None:
    counters = [name for name in COUNTERS if name != "heuristic"]
    reading.check(
        "counter",
        f"`counter` is {settings.counter!r}: write {' or '.join(counters)}.",
        valid=settings.counter in counters,
    )
    reading.check(
        "agents_merge",
        f"`agents_merge` is {settings.agents_merge!r}: write chain or nearest.",
        valid=settings.agents_merge in {"chain", "nearest"},
    )
    ordered = 0 < settings.chunk_minimum <= settings.chunk_target <= settings.chunk_maximum
    for key in ("chunk_minimum", "chunk_target", "chunk_maximum"):
        reading.check(
            key, "0 < chunk_minimum <= chunk_target <= chunk_maximum must hold.", valid=ordered
        )
    reading.check(
        "largest_file", "`largest_file` must be above 0.", valid=settings.largest_file > 0
    )
    reading.check(
        "review.block_on",
        f"`review.block_on` is {settings.review.block_on!r}: write {', '.join(Severity)}.",
        valid=settings.review.block_on in list(Severity),
    )
    reading.check(
        "review.gates",
        f"`review.gates` is {settings.review.gates!r}: write any or bound.",
        valid=settings.review.gates in {"any", "bound"},
    )
    unknown = [each for each in settings.review.escalate_on if each not in REVIEW_WARNINGS]
    reading.check(
        "review.escalate_on",
        f"`review.escalate_on` has {', '.join(unknown)}: write some of "
        f"{', '.join(REVIEW_WARNINGS)}.",
        valid=not unknown,
    )
    reading.check(
        "gates.tests",
        f"`gates.tests` is {settings.gates.tests!r}: write off, warn or required.",
        valid=settings.gates.tests in {"off", "warn", "required"},
    )
    _check_gate_run(settings.gates, reading)
    _check_opinions(settings.review, reading)
    reading.check(
        "review.section_tokens",
        "`review.section_tokens` must be above 0.",
        valid=settings.review.section_tokens > 0,
    )
    _check_unread(settings.review.unread, reading)
    reading.check(
        "checkpoint.percent",
        "`checkpoint.percent` must lie between 1 and 100.",
        valid=1 <= settings.checkpoint.percent <= 100,
    )
    _check_sharing(settings, reading)
    reading.check(
        "engine.parallel", "`engine.parallel` must be above 0.", valid=settings.engine.parallel > 0
    )
    beat, dead = settings.engine.heartbeat_seconds, settings.engine.dead_after_seconds
    for key in ("engine.heartbeat_seconds", "engine.dead_after_seconds"):
        text = "0 < heartbeat_seconds and 2 * heartbeat_seconds < dead_after_seconds must hold."
        reading.check(key, text, valid=0 < 2 * beat < dead)
    for key, patterns in (
        ("exclude", settings.exclude),
        ("code", settings.code),
        ("generated", settings.generated),
    ):
        for pattern in patterns:
            try:
                negated = parse(pattern).negated
            except BadGlob as problem:
                reading.check(key, str(problem), valid=False)
            else:
                text = f"`{pattern}` starts with `!`, which means nothing here: remove it."
                reading.check(key, text, valid=not negated)


def _check_sharing(settings: Settings, reading: FileReading) -> None:
    """What several machines and repositories need to agree on."""
    for name in ("run", "plan", "day", "repository"):
        key = f"engine.cost.{name}"
        valid = getattr(settings.engine.cost, name) >= 0
        reading.check(key, f"`{key}` is a number of cents: write 0 for no limit.", valid=valid)
    _check_at_once(settings, reading)
    _check_notify(settings.notify, reading)
    database, exchange, remote = (
        settings.engine.database,
        settings.engine.exchange,
        settings.engine.remote,
    )
    reading.check(
        "repository",
        f"`repository` is {settings.repository!r}: write small letters, digits and dashes, "
        "at most 220, such as github-com-acme-shop-1a2b3c.",
        valid=not settings.repository or _REPOSITORY.fullmatch(settings.repository) is not None,
    )
    reading.check(
        "engine.database",
        f"`engine.database` is {database!r}: write a URL such as postgresql+psycopg://host/name.",
        valid=not database or "://" in database,
    )
    reading.check(
        "engine.keep_days",
        "`engine.keep_days` is a number of days: write 0 to keep for ever.",
        valid=settings.engine.keep_days >= 0,
    )
    reading.check(
        "engine.exchange",
        f"`engine.exchange` is {exchange!r}: write database or git.",
        valid=exchange in {"database", "git"},
    )
    reading.check(
        "engine.remote",
        f"`engine.remote` is {remote!r}: write the name of a remote, such as origin.",
        valid=bool(remote) and not remote.startswith("-"),
    )


def _check_notify(told: NotifySettings, reading: FileReading) -> None:
    """What is told goes where people said, signed, and encrypted unless it stays at home."""
    parts = web_address(told.url)
    reading.check(
        "notify.url",
        f"`notify.url` is {_without_login(told.url)!r}: write an https:// address, or http:// and "
        "its host and port in `notify.private`.",
        valid=not told.url
        or (parts is not None and (parts.scheme == "https" or parts.netloc in told.private)),
    )
    for each in told.private:
        text = f"`notify.private` has {each!r}: write a host with its port, as 127.0.0.1:9000."
        reading.check("notify.private", text, valid=_is_host_port(each))
    reading.check(
        "notify.url",
        "`notify.secret_variable` is empty: name the environment variable with the secret, which "
        "signs what is told.",
        valid=not told.url or bool(told.secret_variable),
    )
    reading.check("notify.hours", "`notify.hours` must be above 0.", valid=told.hours > 0)


def _check_at_once(settings: Settings, reading: FileReading) -> None:
    """Limits are for agents and endpoints that there are, and leave room for one."""
    told = settings.engine.at_once
    hosts = {each.host for each in settings.registry().endpoints.values()}
    for kind, limits, known in (
        ("agents", told.agents, {*RESERVED, *settings.agents}),
        ("endpoints", told.endpoints, hosts),
    ):
        for name, most in limits.items():
            key = f"engine.at_once.{kind}"
            text = f"`{key}` has {name!r}: write one of {', '.join(sorted(known))}."
            reading.check(key, text, valid=name in known)
            text = f"`{key}` allows {name} {most} at a time: write at least 1."
            reading.check(key, text, valid=most > 0)


def _check_gate_run(gates: GateSettings, reading: FileReading) -> None:
    reading.check(
        "gates.base_tests",
        f"`gates.base_tests` is {gates.base_tests!r}: write auto or off.",
        valid=gates.base_tests in {"auto", "off"},
    )
    reading.check(
        "gates.mutate_seconds",
        "`gates.mutate_seconds` must be above 0.",
        valid=gates.mutate_seconds > 0,
    )
    reading.check(
        "gates.confine",
        f"`gates.confine` is {gates.confine!r}: write {', '.join(Confine)}.",
        valid=gates.confine in list(Confine),
    )
    named = [("writable", each) for each in gates.writable]
    for key, folder in (*named, *(("readable", each) for each in gates.readable)):
        text = f"`gates.{key}` has {folder!r}: write the whole path of a folder, or `~/…`."
        whole = Path(folder).is_absolute() or folder.startswith("~/")
        reading.check(f"gates.{key}", text, valid=whole and ".." not in Path(folder).parts)


def _check_models(models: ModelSettings, reading: FileReading) -> None:
    endpoints = {**SHIPPED_MODELS.endpoints, **models.endpoints}
    for name, endpoint in models.endpoints.items():
        key = f"models.endpoints.{name}.url"
        reading.check(
            key,
            f"`{key}` is {_without_login(endpoint.url)!r}: write an address such as "
            "http://127.0.0.1:8000/v1.",
            valid=not endpoint.url or web_address(endpoint.url) is not None,
        )
        key = f"models.endpoints.{name}.max_tokens"
        reading.check(key, f"`{key}` must be above 0.", valid=endpoint.max_tokens > 0)
        key = f"models.endpoints.{name}.output_tokens"
        fits = endpoint.output_tokens < max(1, endpoint.max_tokens)
        reading.check(key, f"`{key}` must be below max_tokens, which it is a part of.", valid=fits)
    for capability, names in models.capabilities.items():
        key = f"models.capabilities.{capability}"
        known = ", ".join(CAPABILITIES)
        reading.check(
            key,
            f"no capability `{capability}`: known are {known}.",
            valid=capability in CAPABILITIES,
        )
        for name in names:
            near = get_close_matches(name, endpoints, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(endpoints)}."
            reading.check(key, f"no endpoint `{name}`: {hint}", valid=name in endpoints)


def _check_guard(guard: GuardSettings, reading: FileReading) -> None:
    for role, patterns in guard.tools.items():
        key = f"guard.tools.{role}"
        near = get_close_matches(role, ROLES, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(ROLES)}."
        reading.check(key, f"no role `{role}`: {hint}", valid=role in ROLES)
        try:
            parse_set(patterns)
        except BadGlob as problem:
            reading.check(key, str(problem), valid=False)
    for folder in guard.scratch:
        text = f"`guard.scratch` has {folder!r}: write the whole path of a folder."
        reading.check("guard.scratch", text, valid=Path(folder).is_absolute())


def _check_agents(settings: Settings, reading: FileReading) -> None:
    reading.check(
        "developer_sees",
        f"`developer_sees` is {settings.developer_sees!r}: write {', '.join(Sight)}.",
        valid=settings.developer_sees in list(Sight),
    )
    for name, own in settings.agents.items():
        above = f"agents.{name}"
        for key, text in own_command_problems(name, own, RESERVED):
            stated = f"{above}.{key}" if f"{above}.{key}" in reading.lines else above
            reading.check(stated, text, valid=False)


def _check_serve(settings: ServeSettings, reading: FileReading) -> None:
    """Note what is wrong with the `serve` block of a config file."""
    for key, value, known in (
        ("introspection", settings.introspection, INTROSPECTION),
        ("log", settings.log, LOGGED),
        ("read", settings.read, READ),
    ):
        reading.check(
            f"serve.{key}",
            f"`serve.{key}` is {value!r}: write {' or '.join(known)}.",
            valid=value in known,
        )
    below = settings.base_path
    reading.check(
        "serve.base_path",
        f"`serve.base_path` is {below!r}: write a path such as /rules, without a slash at its end.",
        valid=not below or bool(re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+", below)),
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


def own_command_problems(
    name: str, own: OwnCommand, reserved: tuple[str, ...]
) -> list[tuple[str, str]]:
    """What is wrong with a team's own command: the key, and what was found with its remedy."""
    found = _surroundings(name, own)
    if name in SHIPPED and not own.command:
        return [*found, *_only_surroundings(name, own)]
    if not own.command:
        return [*found, ("", f"`agents.{name}` lacks command.")]
    if name in reserved:
        found.append(("", f"`{name}` is shipped with Hornbook: give yours another name."))
    kinds: tuple[tuple[str, type[StrEnum]], ...] = (("prompt", PromptBy), ("output", Output))
    for key, kind in kinds:
        value = getattr(own, key)
        if value not in list(kind):
            found.append((key, f"`agents.{name}.{key}` is {value!r}: write {', '.join(kind)}."))
    for key in ("command", "reviewer"):
        template = getattr(own, key)
        if template is not None:
            found += ((key, said) for said in _template(f"agents.{name}.{key}", template, own))
    return [*found, *_paths(name, own)]


def _only_surroundings(name: str, own: OwnCommand) -> list[tuple[str, str]]:
    """A shipped agent is called as it is shipped: only what surrounds it can be changed."""
    free = {"command", "environment", "inherits", "network", "home"}
    said = f"`{name}` is shipped with Hornbook, and called as it is: give yours another name."
    return [
        (each.name, said)
        for each in fields(OwnCommand)
        if each.name not in free and getattr(own, each.name) != each.default
    ]


def _surroundings(name: str, own: OwnCommand) -> list[tuple[str, str]]:
    """What is wrong with what an agent may reach, and with what it finds in its home."""
    remedy = f"write hosts with ports (`[models.example.com:443]`), or `{OPEN_NETWORK}` for all."
    found = [
        ("network", f"`agents.{name}.network` has {each!r}: {remedy}")
        for each in own.network
        if each != OPEN_NETWORK and not _is_host_port(each)
    ]
    for key in ("read", "copy", "back"):
        for path in getattr(own.home, key):
            if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                said = f"`agents.{name}.home.{key}` has {path!r}: write a path below the home."
                found.append((f"home.{key}", said))
    return found


def _paths(name: str, own: OwnCommand) -> list[tuple[str, str]]:
    """Paths in JSON are for output that is JSON, and then the answer's is needed."""
    if own.output == Output.TEXT:
        return [
            (key, f"`agents.{name}.{key}` is a path in JSON: set `output` to json.")
            for key in JSON_PATHS
            if getattr(own, key) is not None
        ]
    if own.text is None:
        said = f"`agents.{name}` prints {own.output}: say with `text` where the answer stands."
        return [("output", said)]
    return []


def _template(key: str, template: str, own: OwnCommand) -> list[str]:
    try:
        parts = shlex.split(template)
    except ValueError as problem:
        return [f"`{key}` cannot be split into words: {problem}."]
    if not parts:
        return [f"`{key}` is empty: write the program and its arguments."]
    try:
        used = {name for part in parts for _, name, _, _ in Formatter().parse(part) if name}
    except ValueError as problem:
        return [f"`{key}`: {problem}: write a brace that is none of ours as `{{{{`."]
    found = []
    for name in sorted(used - set(PLACEHOLDERS)):
        near = get_close_matches(name, PLACEHOLDERS, 1)
        hint = f"did you mean `{{{near[0]}}}`?" if near else f"known are {', '.join(PLACEHOLDERS)}."
        found.append(f"`{key}` holds `{{{name}}}`: {hint}")
    wanted = {"file": "prompt_file", "argument": "prompt"}.get(own.prompt)
    if wanted is not None and wanted not in used:
        found.append(f"`{key}` lacks `{{{wanted}}}`, which carries the prompt.")
    return found
