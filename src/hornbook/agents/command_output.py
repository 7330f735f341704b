"""What a command printed: an answer, what it cost, or why there is none and when to ask again."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from hornbook.agents.assignment import Answer, Subtask, Usage
from hornbook.agents.profile import JsonReading, Profile
from hornbook.settings.settings import Output

_SHOWN = 2000
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_SCALE = {"k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class PrintedAnswer:
    """What was read: `text` or `error` may be missing, never filled with a guess."""

    text: str
    error: str | None
    usage: Usage
    files: tuple[str, ...] | None


def _usage(profile: Profile, objects: list[dict[str, object]]) -> Usage:
    costs = _numbers(objects, profile.cost)
    return Usage(
        int(sum(_numbers(objects, profile.input_tokens))),
        int(sum(_numbers(objects, profile.output_tokens))),
        int(sum(_numbers(objects, profile.steps))),
        *_dollars(costs),
    )


def _dollars(costs: Sequence[float]) -> tuple[float | None, str | None]:
    """What costs add up to, and in which currency: command lines tell dollars, or nothing."""
    return (sum(costs), "USD") if costs else (None, None)


def read_printed(
    profile: Profile, printed: str, folder: str, *, errors: str = "", ended: str = ""
) -> PrintedAnswer:
    """What a command's output says, by its profile; paths are made relative to the folder.

    `errors` is what it printed on stderr, and `ended` how it failed: both tell why there is no
    output.
    """
    if profile.output is Output.TEXT:
        return _plain(profile, printed)
    objects = list(_objects(printed, profile.output))
    if not objects:
        said = [tail(each) for each in (printed, errors) if each.strip()]
        why = f"it printed no JSON{f' ({ended})' if ended else ''}: "
        return PrintedAnswer("", why + ("; on stderr: ".join(said) or "nothing"), Usage(), None)
    usage = _usage(profile, objects)
    named = [str(each) for reading in profile.files for each in _values_at(objects, reading)]
    # one that names no file claims nothing, which is not the same as claiming to change none
    files = tuple(sorted({_relative(path, folder) for path in named})) if named else None
    text = _first(objects, profile.text)
    error = _first(objects, profile.error) or _failure_in(profile, text)
    return PrintedAnswer(text, error or None, usage, files)


def tail(text: str) -> str:
    """The end of what was printed, for a message."""
    plain = _ANSI.sub("", text).strip()
    return "…" + plain[-_SHOWN:] if len(plain) > _SHOWN else plain or "nothing"


def _plain(profile: Profile, printed: str) -> PrintedAnswer:
    text = _ANSI.sub("", printed).strip()
    cost = _matched(profile.cost_pattern, text)
    usage = Usage(
        int(sum(_matched(profile.input_pattern, text))),
        int(sum(_matched(profile.output_pattern, text))),
        0,
        *_dollars(cost),
    )
    error = _failure_in(profile, text) or None
    if profile.answer:
        found = re.search(profile.answer, text)
        text = found[1].strip() if found is not None else ""
    return PrintedAnswer(text, error, usage, None)


def _failure_in(profile: Profile, text: str) -> str:
    """What in an answer is none, though the command says that all went well."""
    failed = re.findall(profile.failure, text, re.MULTILINE) if profile.failure else []
    return "\n".join(failed)


def _matched(pattern: str, text: str) -> list[float]:
    return [_number(found) for found in re.findall(pattern, text)] if pattern else []


def _number(text: str) -> float:
    scale = _SCALE.get(text[-1:].lower(), 1)
    return float(text.rstrip("kKmM").replace(",", "")) * scale


def _objects(printed: str, output: Output) -> Iterator[dict[str, object]]:
    """Every JSON object of the output; lines that are none are progress or warnings."""
    if output is Output.JSON:
        whole = _parsed(printed)
        if whole is None:
            whole = _after_noise(printed)
        for each in whole if isinstance(whole, list) else [whole]:
            if isinstance(each, dict):
                yield each
        return
    for line in printed.splitlines():
        found = _parsed(line)
        if isinstance(found, dict):
            yield found


def _after_noise(printed: str) -> object:
    """The last JSON document that begins a line and runs to the end of the output."""
    for begin in re.finditer(r"^[\[{]", printed, re.MULTILINE):
        found = _parsed(printed[begin.start() :])
        if found is not None:
            return found
    return None


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _first(objects: Sequence[dict[str, object]], readings: Iterable[JsonReading]) -> str:
    """The first reading that finds something, as text."""
    for reading in readings:
        found = [_as_text(each) for each in _values_at(objects, reading)]
        found = [each for each in found if each.strip()]
        if found:
            return "".join(found) if reading.take == "join" else found[-1]
    return ""


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _numbers(objects: Sequence[dict[str, object]], readings: Iterable[JsonReading]) -> list[float]:
    found = (each for reading in readings for each in _values_at(objects, reading))
    return [
        float(each)
        for each in found
        if isinstance(each, int | float) and not isinstance(each, bool) and each >= 0
    ]


def _values_at(objects: Sequence[dict[str, object]], reading: JsonReading) -> Iterator[object]:
    steps = reading.path.split(".")
    for each in objects:
        if all(list(_at(each, path.split("."))) == [value] for path, value in reading.where):
            yield from _at(each, steps)


def _at(value: object, steps: Sequence[str]) -> Iterator[object]:
    """What stands at the end of a path, for every item where a step is `*`."""
    if not steps:
        yield value
        return
    step, *rest = steps
    inside: Iterable[object] = ()
    if isinstance(value, dict):
        inside = value.values() if step == "*" else [value[step]] if step in value else ()
    elif isinstance(value, list) and step == "*":
        inside = value
    for each in inside:
        yield from _at(each, rest)


def _relative(path: str, folder: str) -> str:
    pure = PurePath(path)
    return pure.relative_to(folder).as_posix() if pure.is_relative_to(folder) else pure.as_posix()


KEYS = ("continuation", "decisions", "risks", "files", "escalate")
_FENCE = re.compile(r"^(`{3,}|~{3,})json[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_DECISION = ("decision", "reason", "impact")
_RISK = ("id", "severity", "text")
_CONTINUATION = ("description", "files", "criteria")

Triple = tuple[str, str, str]


@dataclass(slots=True)
class AnswerForms:
    """What the forms of an answer say; `problems` names what could not be read."""

    subtask: Subtask | None = None
    decisions: list[Triple] = field(default_factory=list)
    risks: list[Triple] = field(default_factory=list)
    files: list[str] | None = None
    escalation: str | None = None
    problems: list[str] = field(default_factory=list)

    def answer(self, text: str, usage: Usage, claimed_files: tuple[str, ...] | None) -> Answer:
        """The answer of an agent that said this and wrote the forms into it."""
        return Answer(
            text=text,
            claimed_files=claimed_files,
            subtask=self.subtask,
            escalation=self.escalation,
            decisions=tuple(self.decisions),
            risks=tuple(self.risks),
            usage=usage,
        )


def read_forms(text: str) -> AnswerForms:
    """Read every fenced JSON object that has one of our keys; any other JSON is prose."""
    form = AnswerForms()
    for found in _json_objects(text, form.problems):
        _warn_of_unknown(found, KEYS, f": known are {', '.join(KEYS)}.", form)
        if "continuation" in found:
            _continue(found["continuation"], form)
        form.decisions += _triples(found.get("decisions", []), "decisions", _DECISION, form)
        form.risks += _triples(found.get("risks", []), "risks", _RISK, form)
        if "files" in found:
            form.files = (form.files or []) + _texts(found["files"], "files", form)
        if "escalate" in found:
            form.escalation = str(found["escalate"]).strip() or "the agent gave no reason"
    return form


def _warn_of_unknown(
    found: Mapping[str, object], known: Collection[str], said: str, form: AnswerForms
) -> None:
    unknown = sorted(found.keys() - set(known))
    if unknown:
        form.problems.append(f"unknown key {', '.join(unknown)}{said}")


def _json_objects(text: str, problems: list[str]) -> Iterator[dict[str, object]]:
    for fence in _FENCE.finditer(text):
        try:
            found = json.loads(fence[2])
        except ValueError as problem:
            if any(f'"{key}"' in fence[2] for key in KEYS):
                problems.append(f"a form is not JSON: {problem}.")
            continue
        if isinstance(found, dict) and not found.keys().isdisjoint(KEYS):
            yield found


def _continue(value: object, form: AnswerForms) -> None:
    if not isinstance(value, dict) or not str(value.get("description") or "").strip():
        form.problems.append("`continuation` has no description: say what is to be done first.")
        return
    _warn_of_unknown(value, _CONTINUATION, " in `continuation`.", form)
    if form.subtask is not None:
        form.problems.append("`continuation` stands twice: ask for one subtask at a time.")
        return
    files = _texts(value.get("files", []), "continuation.files", form)
    criteria = _texts(value.get("criteria", []), "continuation.criteria", form)
    form.subtask = Subtask(str(value["description"]).strip(), tuple(files), tuple(criteria))


def _texts(value: object, name: str, form: AnswerForms) -> list[str]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return list(value)
    form.problems.append(f"`{name}` is no list of texts.")
    return []


def _triples(value: object, name: str, keys: tuple[str, ...], form: AnswerForms) -> list[Triple]:
    if not isinstance(value, list):
        form.problems.append(f"`{name}` is no list.")
        return []
    found: list[Triple] = []
    for entry in value:
        if isinstance(entry, dict) and all(str(entry.get(key) or "").strip() for key in keys):
            first, second, third = (str(entry[key]).strip() for key in keys)
            found.append((first, second, third))
        else:
            form.problems.append(f"an entry of `{name}` lacks one of {', '.join(keys)}.")
    return found


RATE_LIMITED = 60.0
SERVER_DOWN = 15.0
LONGEST = 6 * 3600.0
_RATE = re.compile(
    r"rate.?limit|too many requests|quota exceeded|resource.?exhausted|overloaded"
    r"|(?:status|code|http|error|api)\W.{0,12}\b(?:429|529)\b"
    r"|usage limit|(?:reached|hit) your .{0,20}limit",
    re.IGNORECASE,
)
_SERVER = re.compile(
    r"(?:status|code|http|error|api)\W.{0,12}\b50[0234]\b|internal server error|bad gateway"
    r"|service (?:is |temporarily )?unavailable"
    r"|gateway time-?out|server_error|\bECONNRE(?:SET|FUSED)\b|\bETIMEDOUT\b|\bEAI_AGAIN\b"
    r"|stream (?:disconnected|closed|ended) (?:before|unexpectedly)|stream (?:disconnected|error)\b"
    r"|error sending request|fetch failed|socket hang ?up|connection (?:error|reset|closed|refused)"
    r"|network (?:error|is unreachable)|premature close|(?:request|connection) timed out",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:retry[-_ ]?after[\"':=\s]{0,4}|(?:try again|retry|retrying|wait|resets?) "
    r"(?:in|for|after) (?:about )?)"
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?\b",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\|(\d{10})\b")


def retry_after(words: str, now: float) -> float | None:
    """Seconds to wait before asking again; none if waiting does not help.

    `words` is what a failed call said, `now` the time in seconds since 1970.
    """
    if _RATE.search(words):
        patience = RATE_LIMITED
    elif _SERVER.search(words):
        patience = SERVER_DOWN
    else:
        return None
    until = _UNTIL.search(words)
    if until is not None:
        patience = float(until[1]) - now
    after = _AFTER.search(words)
    if after is not None:
        patience = float(after[1]) * _unit(after[2] or "s")
    return min(max(patience, 0.0), LONGEST)


def _unit(name: str) -> float:
    lower = name.lower()
    if lower.startswith(("ms", "milli")):
        return 0.001
    return {"m": 60.0, "h": 3600.0}.get(lower[0], 1.0)
