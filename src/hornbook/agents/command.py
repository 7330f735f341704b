"""An agent that is a command line: called by its profile, confined by its role, never believed."""

import json
import os
import re
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from hornbook.agents.assignment import Answer, Assignment, Record, Role
from hornbook.agents.command_output import (
    AnswerForms,
    PrintedAnswer,
    read_forms,
    read_printed,
    retry_after,
    tail,
)
from hornbook.agents.profile import Profile
from hornbook.commits.trees import top_of
from hornbook.commits.writer import common_folder
from hornbook.disk import temporary_folder, write_whole
from hornbook.process.confinement import (
    Confined,
    Confinement,
    Machine,
    Means,
    OwnHome,
    Reach,
    Route,
    confine,
    this_machine,
    use_limits,
)
from hornbook.process.own_home import own_home, tools_below
from hornbook.process.secret_mask import SecretMask, secret_beside, secrets_among
from hornbook.process.shell_command import (
    LOG,
    Finished,
    UseLimits,
    ended_by,
    environment,
    run_command,
)
from hornbook.settings.places import Places
from hornbook.settings.settings import Output, PromptBy
from hornbook.settings.surroundings import OPEN_NETWORK, LimitSettings

if TYPE_CHECKING:
    from hornbook.process.egress import HostPort

RULE_FOLDERS = (".hornbook", ".semspec")
LONGEST_COMMAND = 120_000
LOOK_SECONDS = 1.0
"""Between two questions whether an answer still matters."""
RUN_ENDED = "its run was ended, and so was the program."
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_NAMES_ENDPOINT = re.compile(r"_(?:BASE_URL|API_BASE|ENDPOINT)$")
_FIELD = re.compile(r"\{(\w+)\}")


@contextmanager
def _ended_once(is_over: Callable[[], bool]) -> Iterator[int]:
    """A pipe that can be read once an answer matters no more, which is asked again and again."""
    reading, writing = os.pipe()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(LOOK_SECONDS):
            if is_over():
                os.write(writing, b".")
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield reading
    finally:
        done.set()
        watcher.join()
        os.close(writing)
        os.close(reading)


@dataclass(frozen=True, slots=True)
class AgentSurroundings:
    """Where a worktree lies: the workspace's root, the top of its repository and its git folder.

    `blind` is whether a developer must not read rules: then it cannot read the history either,
    since that holds them too.
    """

    root: Path
    top: Path
    history: Path
    blind: bool = True

    @classmethod
    def of(cls, root: Path, *, blind: bool) -> Self:
        """Those of a workspace.

        Raises:
            UsageError: The root is in no repository.
        """
        return cls(root.resolve(), top_of(root), common_folder(root), blind=blind)


def confinement_of(
    role: Role,
    folder: Path,
    surroundings: AgentSurroundings | None = None,
    *,
    worktree: Path | None = None,
    state: Sequence[Path] = (),
    shown: Sequence[Path] = (),
) -> Confinement:
    """What a role may do in a folder of a worktree.

    A developer writes the worktree, everyone else nothing; nobody reads what was planted to see
    whether a reviewer finds it. `state` is where the agent keeps its
    own log-in and sessions, which stays writable; `shown` must be readable wherever it lies.
    """
    whole = worktree or folder
    around = [] if surroundings is None else [surroundings.top, surroundings.history]
    hidden = [] if surroundings is None else _secrets(Places(surroundings.root))
    if role is not Role.DEVELOPER:
        return Confinement(folder, tuple(state), (*around, whole, *shown), tuple(hidden))
    if surroundings is not None and surroundings.blind:
        folders = [surroundings.root / name for name in RULE_FOLDERS]
        elsewhere = [each for each in hidden if set(folders).isdisjoint(each.parents)]
        hidden = [*folders, *elsewhere]
        hidden.append(surroundings.history)
        around.remove(surroundings.history)
    kept = (*around, whole / ".git", *shown)
    return Confinement(folder, (whole, *state), kept, tuple(hidden))


def _secrets(places: Places) -> list[Path]:
    """What no agent may read, whatever its role is."""
    return list(places.secrets)


@runtime_checkable
class StartsProgram(Protocol):
    """An agent that may start a program, whose network the machine decides."""

    @property
    def reach(self) -> Reach | None:
        """Which network its program has here; None if it starts none."""
        ...


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """A command line as an agent.

    `logs` is where what it prints is kept; `machine` what can confine it, by default this one;
    `provider` names whose model it is asked for, where its profile wants that; `endpoints` are
    URLs of models that it may be asked for, `key_variable` has the key of the first.
    """

    profile: Profile
    logs: Path
    surroundings: AgentSurroundings | None = None
    machine: Machine | None = None
    provider: str = ""
    endpoints: tuple[str, ...] = ()
    key_variable: str = ""
    used: LimitSettings = field(default_factory=LimitSettings)

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name

    @property
    def reach(self) -> Reach:
        """Which network its program has here."""
        machine = self.machine or this_machine()
        return machine.reach(network=OPEN_NETWORK in self.profile.network, routed=True)

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Call the command once and read what it printed."""
        with temporary_folder("agent") as place:
            call = _Call(self, assignment, place)
            return call.answer(record)


class _Call:
    """One call of a command line."""

    def __init__(self, agent: CommandAgent, assignment: Assignment, scratch: Path) -> None:
        self._agent = agent
        self._profile = agent.profile
        self._assignment = assignment
        self._scratch = scratch
        self._folder = Path(assignment.folder).resolve()
        key = re.sub(r"[^A-Za-z0-9._-]", "-", assignment.key)[:80]
        digest = sha256(assignment.key.encode()).hexdigest()[:8]
        self._log = agent.logs / f"{key}-{digest}.log"
        self._errors = self._log.with_suffix(".err")

    def answer(self, record: Record) -> Answer:
        given = environment(os.environ, self._own_environment())
        arguments = self._arguments()
        program = shutil.which(arguments[0], path=given.get("PATH"))
        if program is None:
            said = f"{arguments[0]} is not installed or not on PATH: {self._profile.install}."
            return Answer(error=said)
        refused: list[str] = []
        home = Path(given.get("HOME") or Path.home())
        shown = tools_below(home, given)
        from hornbook.process.egress import EgressProxy  # noqa: PLC0415  # scripts need none

        proxy = EgressProxy(self._hosts(given), refused.append, os.environ)
        wanted, means = self._profile.home, self._machine.means
        with (
            own_home(home, self._scratch / "home", wanted, shown=shown, means=means) as own,
            proxy.listening() as socket,
        ):
            confined = self._confined([program, *arguments[1:]], own, socket, given)
            return self._called(
                program, arguments, confined, given=given, record=record, refused=refused
            )

    def _called(
        self,
        program: str,
        arguments: Sequence[str],
        confined: Confined,
        *,
        given: dict[str, str],
        record: Record,
        refused: list[str],
    ) -> Answer:
        known = secrets_among(self._own_environment()) | secret_beside(self._log)
        mask = SecretMask(known)
        told = sorted(set(mask.found_in(self._prompt())))
        if told:
            return Answer(error=_secret_in_prompt(told))
        command = self._command(confined)
        if len(command.encode()) > LONGEST_COMMAND:
            said = f"the prompt does not fit in an argument of {arguments[0]}: pass it by stdin."
            return Answer(error=said)
        unlisted = self._unlisted(given, confined.reach)
        record(
            {
                "kind": "agent.started",
                "agent": self._profile.name,
                "role": self._assignment.role.value,
                "program": program,
                "arguments": [_short(each) for each in arguments[1:]],
                "confined_by": confined.means.value,
                "log": str(self._log),
                "network": confined.reach.value,
                "hosts": sorted(map(str, self._hosts(given))),
                "warnings": [*confined.warnings, *unlisted],
            }
        )
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with _ended_once(self._assignment.is_over) as stop:
            finished = run_command(
                command,
                folder=self._folder,
                environment=given,
                timeout=self._assignment.limits.seconds,
                log=self._log,
                stop=stop,
                limits=self._limits(),
                mask=mask,
            )
        if self._errors.exists():
            write_whole(self._errors, mask.masked(_ends_of(self._errors)), durable=False)
        answer, problems = self._read(finished)
        record(
            {
                "kind": "agent.ended",
                "agent": self._profile.name,
                "exit_code": finished.code,
                "seconds": round(finished.seconds, 3),
                "timed_out": finished.timed_out,
                "left_running": finished.left,
                "log": str(self._log),
                "refused": list(dict.fromkeys(refused)),
                "over": finished.over,
                "problems": list(problems),
            }
        )
        error = " ".join([answer.error, *unlisted]) if answer.error else answer.error
        if finished.code is None and self._assignment.is_over():
            return Answer(error=RUN_ENDED, usage=answer.usage, log=str(self._log))
        return replace(answer, error=error, exit_code=finished.code, log=str(self._log))

    def _own_environment(self) -> dict[str, str]:
        profile, role = self._profile, self._assignment.role
        wanted = [*profile.inherits, *_PROXIES, *(name.lower() for name in _PROXIES)]
        inherited = {
            name: value
            for name, value in os.environ.items()
            if any(fnmatchcase(name, glob) for glob in wanted)
        }
        for_role = profile.reviewer_environment if role is not Role.DEVELOPER else {}
        own = {**profile.environment, **for_role, **self._model_environment()}
        return {**inherited, **own, "HORNBOOK_ROLE": role.value}

    @property
    def _provider(self) -> str:
        """Whose model it is, in the words of the program."""
        return self._profile.provider_names.get(self._agent.provider, self._agent.provider)

    def _model_environment(self) -> dict[str, str]:
        """What tells the program where the model is that it is asked for."""
        if not self._assignment.model:
            return {}
        values = {
            "url": next(iter(self._agent.endpoints), ""),
            "key": os.environ.get(self._agent.key_variable or "OPENAI_API_KEY") or "none",
            "model": self._assignment.model,
        }
        wanted = self._profile.model_environment.get(self._agent.provider, {})
        return {
            name: _FIELD.sub(lambda found: values.get(found[1], found[0]), text)
            for name, text in wanted.items()
        }

    def _arguments(self) -> list[str]:
        profile, task = self._profile, self._assignment
        confined = self._machine.means is not Means.NOTHING
        own = list(profile.arguments(task.role, confined=confined))
        program = profile.program
        if own[:1] == [""]:
            program, *own = own[1:]
        if task.model:
            own += profile.model
        if task.system:
            own += profile.system
        if task.schema:
            own += profile.schema
        return [program, *self._filled([*own, *profile.last])]

    def _filled(self, arguments: Sequence[str]) -> Iterator[str]:
        task = self._assignment
        prompt = self._scratch / "prompt.md"
        prompt.write_text(self._prompt(), encoding="utf-8")
        form = _plain_schema(task.schema)
        schema = self._scratch / "schema.json"
        schema.write_text(form, encoding="utf-8")
        values = {
            "prompt": self._prompt() if self._profile.prompt is PromptBy.ARGUMENT else "",
            "prompt_file": str(prompt),
            "model": task.model or "",
            "provider": self._provider,
            "system": task.system,
            "schema": form,
            "schema_file": str(schema),
            "scratch": str(self._scratch / "own"),
            "role": task.role.value,
        }
        for argument in arguments:
            if argument == "{files}":
                yield from task.files
                continue
            yield _FIELD.sub(lambda found: values.get(found[1], found[0]), argument)

    def _prompt(self) -> str:
        """The prompt, with the system's part before it where the command has no place for that."""
        system = self._assignment.system
        whole = [system.rstrip(), ""] if system and not self._profile.system else []
        return "\n".join([*whole, self._assignment.prompt])

    def _confined(
        self, command: list[str], home: OwnHome, socket: Path, given: Mapping[str, str]
    ) -> Confined:
        own = self._scratch / "own"
        own.mkdir()
        program = Path(command[0])
        prefix = program.parent.parent
        # a program of a virtual environment is nothing without the rest of it
        installed = (prefix,) if (prefix / "pyvenv.cfg").is_file() else (program.parent,)
        shown = (*installed, program.resolve().parent, self._scratch, *self._named_files())
        confinement = confinement_of(
            self._assignment.role,
            self._folder,
            self._agent.surroundings,
            worktree=_worktree(self._folder),
            state=[own],
            shown=shown,
        )
        direct = sorted({each.port for each in self._hosts(given) if each.is_loopback})
        whole = replace(
            confinement,
            home=home,
            network=OPEN_NETWORK in self._profile.network,
            route=Route(socket, tuple(direct)),
        )
        return confine(command, whole, scratch=own, machine=self._machine)

    def _limits(self) -> UseLimits | None:
        """What it may use; where nothing confines it, nothing bounds it either."""
        if self._machine.means is Means.NOTHING:
            return None
        return use_limits(self._agent.used, (_worktree(self._folder), self._scratch))

    @property
    def _machine(self) -> Machine:
        return self._agent.machine or this_machine()

    def _hosts(self, given: Mapping[str, str]) -> "frozenset[HostPort]":
        """Where it may connect to: what is listed, and where its models are.

        A model on this machine must be listed: an address that a variable names could as well be
        that of a server which nobody meant.
        """
        from hornbook.process.egress import HostPort  # noqa: PLC0415  # as above

        listed = {HostPort.read(each) for each in self._profile.network if each != OPEN_NETWORK}
        return frozenset({*listed, *(each for each in self._named(given) if not each.is_loopback)})

    def _named(self, given: Mapping[str, str]) -> "set[HostPort]":
        """Where models are by what variables and settings say."""
        from hornbook.process.egress import HostPort  # noqa: PLC0415  # as above

        named = [value for name, value in given.items() if _NAMES_ENDPOINT.search(name)]
        found = map(HostPort.of_url, (*named, *self._agent.endpoints))
        return {each for each in found if each is not None}

    def _unlisted(self, given: Mapping[str, str], reach: Reach) -> list[str]:
        """Models on this machine that it is told of and cannot reach, in words."""
        if reach is not Reach.LISTED:
            return []
        missing = sorted(map(str, self._named(given) - self._hosts(given)))
        return [
            f"the model at {each} cannot be reached: it is on this machine and "
            f"`agents.{self._profile.name}.network` does not list it; add `{each}` there."
            for each in missing
        ]

    def _named_files(self) -> Iterator[Path]:
        """The files that the command line itself names, such as the script of an interpreter."""
        for word in (*self._profile.arguments(self._assignment.role), *self._profile.last):
            if word.startswith("/") and Path(word).is_file():
                yield Path(word)

    def _command(self, confined: Confined) -> str:
        by_stdin = self._profile.prompt is PromptBy.STDIN
        source = self._scratch / "prompt.md" if by_stdin else Path("/dev/null")
        quoted = shlex.join(confined.command)
        return f"exec {quoted} <{shlex.quote(str(source))} 2>{shlex.quote(str(self._errors))}"

    def _read(self, finished: Finished) -> tuple[Answer, list[str]]:
        printed = read_printed(
            self._profile,
            self._log.read_text("utf-8", errors="replace"),
            str(self._folder),
            errors=self._printed_errors(),
            ended="" if finished.code == 0 else _ended(finished),
        )
        failure = self._failure(finished, printed)
        if failure is not None:
            wait = None if finished.timed_out else retry_after(failure, time.time())
            return Answer(error=failure, retry_after=wait, usage=printed.usage), []
        forms = read_forms(printed.text)
        return _answered(printed, forms), forms.problems

    def _last_words(self, printed: PrintedAnswer) -> str:
        errors = self._printed_errors()
        return tail(errors if errors.strip() else printed.text)

    def _printed_errors(self) -> str:
        return self._errors.read_text("utf-8", errors="replace") if self._errors.exists() else ""

    def _failure(self, finished: Finished, printed: PrintedAnswer) -> str | None:
        """Why there is no answer. An exit code alone says nothing where the output says more."""
        if finished.over:
            return (
                f"it was ended, since it passed a limit ({finished.over}): raise it under "
                "`engine.limits` in .hornbook/config.yaml if that was meant."
            )
        if finished.timed_out:
            seconds = self._assignment.limits.seconds
            errors = self._printed_errors().strip().splitlines()
            last = f" The last that it told of: {tail(errors[-1])}" if errors else ""
            return f"not done after {seconds} s: it was ended with all that it had started.{last}"
        if printed.error is not None:
            return printed.error
        if printed.text and not (self._profile.output is Output.TEXT and finished.code != 0):
            return None
        ended, words = _ended(finished), self._last_words(printed)
        return f"{ended}: {words}" if printed.text else f"it answered nothing ({ended}): {words}"


def _ended(finished: Finished) -> str:
    return "its keeper was killed" if finished.code is None else ended_by(finished.code)


def _answered(printed: PrintedAnswer, forms: AnswerForms) -> Answer:
    claimed = printed.files if forms.files is None else tuple(sorted(set(forms.files)))
    answer = forms.answer(printed.text, printed.usage, claimed)
    asked = [each for each in forms.problems if "continuation" in each]
    return replace(answer, error=" ".join(asked)) if asked and forms.subtask is None else answer


def _secret_in_prompt(told: Sequence[tuple[str, int]]) -> str:
    places = ", ".join(f"{name} in line {line}" for name, line in told)
    return (
        f"secret_in_prompt: the prompt holds the value of {places}. It was not sent: take the "
        "value out of the plan, rule or file that has it, and give it another one."
    )


def _worktree(folder: Path) -> Path:
    """The worktree that the folder lies in: a linked one has a file named `.git`."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").is_file()), folder)


def _plain_schema(schema: str) -> str:
    """A schema without the name of its dialect: Claude Code ignores one that has it."""
    if not schema:
        return schema
    found = json.loads(schema)
    found.pop("$schema", None)
    return json.dumps(found, ensure_ascii=False)


def _ends_of(path: Path) -> bytes:
    """What a program printed: of more than a log holds its first and last lines."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= LOG:
            return file.read(LOG)
        head = file.read(LOG // 2).rpartition(b"\n")[0]
        file.seek(size - LOG // 2)
        tail = file.read(LOG // 2).partition(b"\n")[2]
    return head + f"\n[{size - len(head) - len(tail)} bytes dropped]\n".encode() + tail


def _short(argument: str) -> str:
    return argument if len(argument) <= 200 else f"{argument[:200]}… ({len(argument)} characters)"
