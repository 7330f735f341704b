"""Whether an agent can work here, found out before anybody is paid for more than one tiny call."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from hornbook.agents.assignment import Answer, Assignment, Limits, Role, nowhere
from hornbook.agents.command import CommandAgent, StartsProgram
from hornbook.agents.crew import profile_of
from hornbook.agents.model_endpoint import INSTALL, PROVIDERS
from hornbook.agents.profile import Profile
from hornbook.disk import temporary_folder
from hornbook.errors import EngineError, HornbookError, UsageError
from hornbook.loop.configured_agents import Appointment, WorkspaceStaff
from hornbook.plans.run_kinds import UNSEEN
from hornbook.process.confinement import Machine, Means, this_machine
from hornbook.process.shell_command import environment, run_command
from hornbook.settings.models import Endpoint
from hornbook.settings.places import Places
from hornbook.settings.settings import EMBEDDED, RESERVED, SCRIPTED, SHIPPED, Settings
from hornbook.version import __version__

CALL_SECONDS = 120
VERSION_SECONDS = 30
SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_VERSION = re.compile(r"\d+\.\d+")
_KEYS = ("_KEY", "_TOKEN")
_MAY_BE_KEYS = (*_KEYS, "*")
_NOT_STARTED = frozenset({126, 127})
PROMPT = 'Answer with this JSON object and nothing else: {"ready": true}\n'


class CheckStatus(StrEnum):
    """How one check of an agent came out."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """One thing that an agent needs: whether it is there, and what to do if it is not."""

    name: str
    status: CheckStatus
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class AgentReadiness:
    """Whether an agent can work here: nothing that was looked at failed."""

    agent: str
    ready: bool
    checks: tuple[AgentCheck, ...]


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """Somebody who can be named: `found` says whether what it needs to be started is here."""

    name: str
    kind: str
    program: str
    found: bool
    providers: tuple[str, ...]
    untried: bool = False


def list_agents(settings: Settings) -> list[ListedAgent]:
    """Everybody who can be named with `--agent`, the team's own first."""
    found = []
    for name in (*settings.agents, *(each for each in SHIPPED if each not in settings.agents)):
        profile = profile_of(settings.agents, name)
        if profile is not None:
            here = shutil.which(profile.program) is not None
            found.append(
                ListedAgent(
                    name, "command", profile.program, here, profile.providers, profile.untried
                )
            )
    extra = find_spec("pydantic_ai") is not None
    found.append(ListedAgent(EMBEDDED, "model", "", extra, tuple(PROVIDERS)))
    found.append(ListedAgent(SCRIPTED, "script", "", found=True, providers=()))
    return found


def check_agent(
    places: Places, settings: Settings, name: str, *, call: bool, machine: Machine | None = None
) -> AgentReadiness:
    """What an agent needs, looked at one by one; with `call` it is asked one tiny question.

    Raises:
        UsageError: There is no agent and no model of that name.
    """
    profile = profile_of(settings.agents, name)
    if profile is not None:
        checks = list(_of_command(profile, machine or this_machine()))
    elif name == SCRIPTED:
        checks = list(_of_script())
    else:
        checks = list(_of_endpoint(_endpoint(settings, name), name))
    if call:
        checks.append(_call(places, settings, name, checks))
        checks = _learned(checks)
    else:
        checks.append(AgentCheck("call", CheckStatus.SKIPPED, "nobody was asked, as you wished"))
    ready = all(each.status is not CheckStatus.FAILED for each in checks)
    return AgentReadiness(name, ready, tuple(checks))


def tell_readiness(appointed: Iterable[Appointment]) -> list[str]:
    """What a person should know of those who are about to work, a line each; nobody is asked.

    Raises:
        EngineError: Somebody cannot work here: everything that is missing, with its remedy.
    """
    roles: dict[tuple[str, Endpoint | None], list[Appointment]] = {}
    for each in appointed:
        # who develops and reviews is looked at once; a model's key is another's for each endpoint
        own = None if isinstance(each.agent, CommandAgent) else each.endpoint
        roles.setdefault((each.agent.name, own), []).append(each)
    said: list[str] = []
    missing: list[str] = []
    for (name, _), those in roles.items():
        who = f"{' and '.join(dict.fromkeys(each.role for each in those))} {name}"
        checks = list(_before_start(those[0]))
        failed = [each for each in checks if each.status is CheckStatus.FAILED]
        missing += [f"{who}: {each.message}: {each.remedy}" for each in failed]
        if isinstance(those[0].agent, CommandAgent):
            said.append(f"{who}: {', '.join(_worth_telling(checks))}")
        said += [line for each in those for line in _network(each)]
    if missing:
        raise EngineError("\n".join([*missing, "nothing was begun, and nobody was asked."]))
    return said


def _worth_telling(checks: Iterable[AgentCheck]) -> Iterator[str]:
    """What was found, and what could be better; nobody has to know what does not apply."""
    for each in checks:
        if each.name != "schema" and (each.remedy or each.status is CheckStatus.PASSED):
            yield each.message


def _network(appointed: Appointment) -> Iterator[str]:
    """What a blind developer may read without anybody seeing it."""
    agent = appointed.agent
    reach = agent.reach if isinstance(agent, StartsProgram) else None
    if appointed.blind and reach in UNSEEN:
        yield UNSEEN[reach]


def _before_start(appointed: Appointment) -> Iterator[AgentCheck]:
    agent = appointed.agent
    if isinstance(agent, CommandAgent):
        yield from _of_command(agent.profile, agent.machine or this_machine())
    elif agent.name == EMBEDDED and appointed.endpoint is not None:
        yield from _of_endpoint(appointed.endpoint, EMBEDDED)


# Command lines


def _of_command(profile: Profile, machine: Machine) -> Iterator[AgentCheck]:
    program = shutil.which(profile.program)
    if program is None:
        said = f"{profile.program} is not on PATH"
        yield AgentCheck("program", CheckStatus.FAILED, said, f"{profile.install}.")
        yield AgentCheck("version", CheckStatus.SKIPPED, "there is no program to ask")
    else:
        yield AgentCheck("program", CheckStatus.PASSED, program)
        yield _version(profile, program)
    yield _login(profile)
    yield _schema(profile)
    yield _confinement(profile, machine)


def _version(profile: Profile, program: str) -> AgentCheck:
    """What the program says of itself; not every one knows the question."""
    with temporary_folder("version") as place:
        log = place / "printed"
        done = run_command(
            f"exec {shlex.quote(program)} --version </dev/null 2>&1",
            folder=place,
            environment=environment(os.environ, {}),
            timeout=VERSION_SECONDS,
            log=log,
        )
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()
    said = next((line.strip() for line in lines if _VERSION.search(line)), "")
    if done.code == 0 and said:
        return AgentCheck("version", CheckStatus.PASSED, said[:200])
    if done.code is not None and done.code not in _NOT_STARTED and not done.timed_out:
        return AgentCheck("version", CheckStatus.SKIPPED, "it starts, and tells none")
    end = "did not end in time" if done.timed_out else f"ended with {done.code}"
    told = f": {lines[-1][:200]}" if lines else ""
    return AgentCheck(
        "version",
        CheckStatus.FAILED,
        f"`{profile.program} --version` {end}{told}",
        "run it yourself; install it anew if it does not start.",
    )


def _login(profile: Profile) -> AgentCheck:
    home = Path(os.environ.get("HOME") or Path.home())
    kept = [*profile.home.back, *profile.home.read]
    files = [each for each in kept if (home / each).exists()]
    keys = [
        name
        for name, value in sorted(os.environ.items())
        if value and name.endswith(_KEYS) and _inherits(profile, name)
    ]
    if files or keys:
        found = ", ".join((*keys, *(f"~/{each}" for each in files)))
        return AgentCheck("login", CheckStatus.PASSED, f"{found} is there")
    if not kept and not any(glob.endswith(_MAY_BE_KEYS) for glob in profile.inherits):
        return AgentCheck("login", CheckStatus.SKIPPED, "its profile names none")
    # Not every log-in is a file: a key may stand in a configuration, or in the system's keyring.
    settings = [f"~/{each}" for each in profile.home.copy if (home / each).exists()]
    settings += [each for each in sorted(os.environ) if _inherits(profile, each)]
    if settings:
        said = f"no log-in is to be seen, but {', '.join(settings)}: only a call tells"
        return AgentCheck("login", CheckStatus.SKIPPED, said, "have it asked one tiny question.")
    looked = ", ".join((*profile.inherits, *(f"~/{each}" for each in kept)))
    said = f"neither a key nor a log-in was found ({looked})"
    return AgentCheck("login", CheckStatus.FAILED, said, f"set it, or log in: {profile.install}.")


def _inherits(profile: Profile, variable: str) -> bool:
    return any(fnmatchcase(variable, glob) for glob in profile.inherits)


def _schema(profile: Profile) -> AgentCheck:
    if profile.schema:
        said = f"it is held to a schema with {profile.schema[0]}"
        return AgentCheck("schema", CheckStatus.PASSED, said)
    said = "it cannot be held to a schema: its answers are read as they come"
    return AgentCheck("schema", CheckStatus.SKIPPED, said)


def _confinement(profile: Profile, machine: Machine) -> AgentCheck:
    if machine.means is Means.NOTHING:
        said = "nothing confines it here: only what it does afterwards is judged"
        return AgentCheck("confinement", CheckStatus.SKIPPED, said, "install bubblewrap.")
    own = " (nobody has driven it with this profile yet)" if profile.untried else ""
    return AgentCheck("confinement", CheckStatus.PASSED, f"confined by {machine.means}{own}")


# Others


def _of_script() -> Iterator[AgentCheck]:
    yield AgentCheck("program", CheckStatus.PASSED, "a part of Hornbook")
    yield AgentCheck("version", CheckStatus.PASSED, __version__)
    for name in ("login", "schema", "confinement"):
        yield AgentCheck(name, CheckStatus.SKIPPED, "a script needs none")


def _of_endpoint(endpoint: Endpoint, name: str) -> Iterator[AgentCheck]:
    try:
        known = version("pydantic-ai-slim")
    except PackageNotFoundError:
        said = "the extra `models` is missing"
        yield AgentCheck("program", CheckStatus.FAILED, said, f"{INSTALL}.")
        yield AgentCheck("version", CheckStatus.SKIPPED, "there is no library to ask")
    else:
        yield AgentCheck("program", CheckStatus.PASSED, "the extra `models`")
        yield AgentCheck("version", CheckStatus.PASSED, known)
    variable = endpoint.key_variable or PROVIDERS.get(endpoint.provider)
    if not variable:
        yield AgentCheck("login", CheckStatus.SKIPPED, f"{endpoint.provider} needs no key")
    elif os.environ.get(variable):
        yield AgentCheck("login", CheckStatus.PASSED, f"{variable} is set")
    else:
        said = f"the environment variable {variable} is not set"
        yield AgentCheck("login", CheckStatus.FAILED, said, f"set it to the key of {name}.")
    yield AgentCheck("schema", CheckStatus.PASSED, "the server is told the schema of the answer")
    yield AgentCheck("confinement", CheckStatus.SKIPPED, "no program is started")


def _endpoint(settings: Settings, name: str) -> Endpoint:
    found = settings.registry().resolve("reviewing" if name == EMBEDDED else name)
    if found is None:
        known = sorted({*RESERVED, *settings.agents, *settings.registry().endpoints})
        raise UsageError(f"no agent and no model {name!r}: known are {', '.join(known)}.")
    return found[1]


# The call


def _call(places: Places, settings: Settings, name: str, checks: list[AgentCheck]) -> AgentCheck:
    started = [each for each in checks if each.name in {"program", "version"}]
    if any(each.status is CheckStatus.FAILED for each in started):
        return AgentCheck("call", CheckStatus.SKIPPED, "there is nobody to ask")
    with temporary_folder("call") as place:
        task = Assignment(
            key=f"check/{name}",
            role=Role.REVIEWER,
            task_id="check",
            attempt=1,
            folder=str(place),
            prompt=PROMPT,
            phase="check",
            schema=json.dumps(SCHEMA),
            limits=Limits(seconds=CALL_SECONDS),
        )
        try:
            answer = WorkspaceStaff(places, settings).reviewer(name).agent.work(task, nowhere)
        except HornbookError as problem:
            answer = Answer(error=str(problem))
    return _answered(answer, spoken=name == SCRIPTED)


def _answered(answer: Answer, *, spoken: bool) -> AgentCheck:
    if answer.error is not None:
        later = f" (asked to wait {answer.retry_after:.0f} s)" if answer.retry_after else ""
        return AgentCheck(
            "call",
            CheckStatus.FAILED,
            f"{answer.error}{later}",
            "log in, or mend what the message names, then check again.",
        )
    usage = answer.usage
    cost = "" if usage.cost is None else f", {usage.cost:.4f} {usage.currency}"
    said = f"{usage.input_tokens} tokens read, {usage.output_tokens} written{cost}"
    if spoken or '"ready"' in answer.text:
        return AgentCheck("call", CheckStatus.PASSED, f"it answered: {said}")
    told = " ".join(answer.text.split())[:200]
    return AgentCheck(
        "call",
        CheckStatus.FAILED,
        f"it answered something else than it was asked for: {told}",
        "look whether it is asked for the right model.",
    )


def _learned(checks: list[AgentCheck]) -> list[AgentCheck]:
    """What an answer proves: whoever gives one is logged in, however that is done."""
    called = checks[-1].status is CheckStatus.PASSED
    return [
        replace(each, status=CheckStatus.PASSED, message="it answered", remedy="")
        if called and each.name == "login" and each.status is CheckStatus.FAILED
        else each
        for each in checks
    ]
