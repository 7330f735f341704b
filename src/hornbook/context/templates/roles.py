"""The templates of the steps: shipped, or a team's own in their place, each with its origin.

A step's template says by which operator it runs, what it may know and what it is told. The shipped
ones lie beside this module; a file of such a name in `.hornbook/templates` takes the place of one.
Everything in a file has an effect on its step, or the file is refused when it is loaded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from hornbook.commits.commit import commit_at
from hornbook.context.templates.context_settings import (
    DEFAULTS,
    KEYS,
    NOT_APPLICABLE,
    FreshContext,
    Operator,
    remedy,
)
from hornbook.context.templates.template import (
    LoadedTemplate,
    TaskTemplate,
    TemplateFinding,
    load_template,
)
from hornbook.errors import ConfigError
from hornbook.resources import PACKAGE

TEMPLATES = ".hornbook/templates"


@dataclass(frozen=True, slots=True)
class StepRole:
    """What a template of a step may say.

    `inputs` are the parts of its context that it can name; `settles` says that its context settings
    decide something; `schema` is the form of its answer, `told` that it is given a prompt.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[str, ...]
    role: str
    settles: bool = True
    told: bool = True
    schema: str | None = None
    why: str = ""


_ATOMIC = (Operator.ATOMIC, Operator.SUBTASK)
ROLES: Mapping[str, StepRole] = MappingProxyType(
    {
        "loop": StepRole((Operator.SEQUENTIAL,), (), "", told=False),
        "developer": StepRole(
            _ATOMIC,
            (
                *("plan", "decisions", "risks", "recent", "earlier"),
                *("signatures", "conventions", "rules"),
                *("task", "criteria", "constraints", "gates", "feedback", "files"),
            ),
            "developer",
        ),
        "gates": StepRole(
            (Operator.SCRIPT,),
            ("gates", "diff", "constraints"),
            "gates",
            settles=False,
            told=False,
            why="gates are commands, which run over the change and are told nothing",
        ),
        "reviewer": StepRole(
            _ATOMIC,
            ("rules", "decisions", "signatures", "conventions", "task", "situation", "diff"),
            "reviewer",
            schema="review.schema.json",
        ),
        "decomposition": StepRole(
            (Operator.REDUCE,),
            ("plan", "rules", "decisions", "signatures", "conventions", "task"),
            "planner",
        ),
    }
)
SHIPPED = tuple(ROLES)
LOOP_STEPS = ("developer", "gates", "reviewer")
SPAWNED = "developer of a subtask"
"""The developer's template for what a developer asked for: a continuation, so a subtask."""
_FOR_SUBTASK = " It is so for a subtask that a developer asks for."


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """The value of a context setting as a template writes it, and where it came from."""

    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step as receipts and answers tell it: its template, and each setting with its origin."""

    name: str
    template: str
    sha256: str
    operator: str
    settings: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class StepTemplate:
    """The template of a step, the file that it stands in, and the hash of that file."""

    step: str
    file: str
    sha256: str
    template: TaskTemplate

    @property
    def settings(self) -> dict[str, SettingOrigin]:
        """Its context settings, each with where it came from."""
        task = self.template
        found = {}
        for key in KEYS:
            default = DEFAULTS[task.operator][key]
            origin = f"default for {task.operator}"
            if key in task.given:
                origin = f"{self.file}, line {task.lines[key]}"
            stated = getattr(task.settings, key)
            value = str(stated).lower() if isinstance(stated, bool) else stated
            inapplicable = default == NOT_APPLICABLE and key not in task.given
            found[key] = SettingOrigin(NOT_APPLICABLE if inapplicable else str(value), origin)
        return found

    def because(self, key: str) -> str:
        """A setting in words: its value and where it came from."""
        found = self.settings[key]
        return f"{key}: {found.value} ({found.origin})"

    @property
    def prompt(self) -> str:
        """The texts of its prompt parts, those of the tasks below it too, a blank line between."""
        tasks = [self.template, *(task for _, task in self.template.descendants())]
        return "\n\n".join(part.text for task in tasks for part in task.prompt)

    @property
    def prompt_because(self) -> str:
        """Whose prompt the step has: its own, or the shipped one where it has none."""
        if self.prompt:
            return f"the prompt of {self.file}"
        return f"the shipped prompt, since {self.file} has none"

    @property
    def facts(self) -> StepFacts:
        """What a receipt says of it."""
        return StepFacts(
            name=self.step,
            template=self.file,
            sha256=self.sha256,
            operator=self.template.operator.value,
            settings={
                key: {"value": each.value, "from": each.origin}
                for key, each in self.settings.items()
            },
        )


@dataclass(frozen=True, slots=True)
class StepTemplates:
    """The templates of all steps, as one commit or the work tree has them."""

    steps: Mapping[str, StepTemplate]

    def __getitem__(self, step: str) -> StepTemplate:
        return self.steps[step]

    def developer(self, *, continuation: bool) -> StepTemplate:
        """The developer's template, for a task of the plan or for a subtask of a developer."""
        return self.steps[SPAWNED if continuation else "developer"]


def step_templates(root: Path, *, at: str | None = None) -> StepTemplates:
    """The templates of the steps in the work tree, or as a commit has them.

    Raises:
        ConfigError: One is wrong; carries every problem of all of them, each with its line.
    """
    if at is None:
        folder = root / TEMPLATES
        own = {path.name: path.read_bytes() for path in sorted(folder.glob("*.xml"))}
        return _loaded(own) if own else shipped_templates()
    commit = commit_at(root, at)
    return commit.memo(("step_templates",), lambda: _of_commit(commit.text, commit.modes))


def _of_commit(read: Callable[[str], bytes | None], paths: Mapping[str, object]) -> StepTemplates:
    held = [
        path
        for path in paths
        if path.endswith(".xml") and PurePosixPath(path).parent.as_posix() == TEMPLATES
    ]
    own = {PurePosixPath(path).name: read(path) or b"" for path in sorted(held)}
    return _loaded(own) if own else shipped_templates()


@cache
def shipped_templates() -> StepTemplates:
    """The templates that Hornbook ships."""
    return _loaded({})


def _shipped_text(name: str) -> bytes:
    return (PACKAGE / "context/templates" / f"{name}.xml").read_bytes()


def _loaded(own: Mapping[str, bytes]) -> StepTemplates:
    """All templates, the team's own files in the place of those that are shipped."""
    problems = [
        f"{TEMPLATES}/{name}: no step is called `{PurePosixPath(name).stem}`: "
        f"{remedy(PurePosixPath(name).stem, ROLES)}"
        for name in own
        if PurePosixPath(name).stem not in ROLES
    ]
    if "decomposition.xml" in own:
        problems.append(
            f"{TEMPLATES}/decomposition.xml: the planner who splits a task is asked by its "
            "workflow alone, so that a template would have no effect: remove it."
        )
    found: dict[str, StepTemplate] = {}
    for name in (*ROLES, SPAWNED):
        step = name.partition(" ")[0]
        data = own.get(f"{step}.xml")
        file = f"{step}.xml (shipped)" if data is None else f"{TEMPLATES}/{step}.xml"
        text = _shipped_text(step) if data is None else data
        try:
            found[name] = _read(step, text, file, continuation=name == SPAWNED)
        except ConfigError as problem:
            said = _FOR_SUBTASK * (name == SPAWNED)
            problems += [f"{each}{said}" for each in problem.problems]
    problems = list(dict.fromkeys(problems)) or list(_differing_steps(found))
    if problems:
        raise ConfigError(_without_echoes(problems))
    return StepTemplates(found)


def _without_echoes(problems: Sequence[str]) -> list[str]:
    """The problems, without those of a subtask that the developer's template has anyway."""
    known = set(problems)
    return [each for each in problems if each.removesuffix(_FOR_SUBTASK) not in known - {each}]


def load_step_template(
    step: str, data: bytes | str, *, continuation: bool = False
) -> LoadedTemplate:
    """What a template of a step says; never raises. What would have no effect there is an error."""
    # The loop has its reviewer look anew: what names no subtype is the subtask that a reviewer is.
    subtype = "subtask" if step == "reviewer" else None
    loaded = load_template(data, continuation=continuation, subtype=subtype)
    if loaded.template is None:
        return loaded
    errors = tuple(step_findings(step, loaded.template))
    return replace(loaded, template=None, errors=errors) if errors else loaded


def _read(step: str, data: bytes, file: str, *, continuation: bool = False) -> StepTemplate:
    loaded = load_step_template(step, data, continuation=continuation)
    if loaded.template is None:
        raise ConfigError([f"{file}, line {each.line}: {each.message}" for each in loaded.errors])
    return StepTemplate(step, file, sha256(data).hexdigest(), loaded.template)


def _differing_steps(found: Mapping[str, StepTemplate]) -> Iterator[str]:
    """Where the loop's template names another operator for a step than the step's own does."""
    loop = found["loop"]
    for task in loop.template.children:
        own = found[str(task.role)]
        if task.operator is not own.template.operator:
            yield (
                f"{loop.file}, line {task.lines['task']}: {task.role} is {task.operator} here and "
                f"{own.template.operator} in {own.file}: write the same."
            )


# What a template of a step may say


def step_findings(step: str, template: TaskTemplate) -> list[TemplateFinding]:
    """What a valid template says that would have no effect on the step, or may not have it."""
    role = ROLES.get(step)
    if role is None:
        tasks = [template, *(task for _, task in template.descendants())]
        return [each for task in tasks if task.role == "reviewer" for each in _hiding(task)]
    found = [*_root_findings(role, template)]
    if step == "reviewer":
        found += _hiding(template)
    if step == "loop":
        found += _loop_findings(template)
    if step == "decomposition":
        found += [each for task in template.children for each in _part_findings(task)]
    return sorted(found, key=lambda each: (each.line, each.code))


def _hiding(task: TaskTemplate) -> Iterator[TemplateFinding]:
    """Whether a reviewer would not be given the rules."""
    if task.settings.fresh_context is FreshContext.ENABLED:
        return
    yield _finding(
        task,
        "hides_rules",
        "fresh_context",
        "a reviewer whose fresh_context is `disabled` is given no rule: set it to `enabled`, and "
        "inherit_context to `none`.",
    )


def _root_findings(role: StepRole, task: TaskTemplate) -> Iterator[TemplateFinding]:
    if task.operator not in role.operators:
        wanted = " or ".join(f"`{each}`" for each in role.operators)
        message = f"the step runs as {wanted}, not as `{task.operator}`: change its type."
        yield _finding(task, "bad_value:type", "task", message)
    if task.role is not None and task.role != role.role:
        hint = f"write `{role.role}`." if role.role else "remove it."
        yield _finding(task, "bad_value:role", "role", f"the role is `{task.role[:40]}`: {hint}")
    for each in task.inputs:
        if each.name not in role.inputs:
            hint = remedy(each.name, role.inputs)
            message = f"the step is given no `{each.name}`: {hint}"
            yield _finding(task, f"unknown_input:{each.name}", each.name, message)
    if task.output_schema is not None and task.output_schema != role.schema:
        hint = f"write `{role.schema}`." if role.schema else "remove it."
        message = f"the answer has another form than `{task.output_schema[:40]}`: {hint}"
        yield _finding(task, "bad_value:output_schema", "output_schema", message)
    if task.prompt and not role.told:
        why = role.why or "its steps are told something, not the loop itself"
        message = f"{why}: remove <prompt>."
        yield _finding(task, "not_applicable:prompt", "prompt", message)
    if not role.settles:
        yield from _unsettled(task, role.why)


def _unsettled(task: TaskTemplate, why: str) -> Iterator[TemplateFinding]:
    for key in task.given:
        message = f"{key} decides nothing here, since {why}: remove it."
        yield _finding(task, f"not_applicable:{key}", key, message)


def _loop_findings(loop: TaskTemplate) -> Iterator[TemplateFinding]:
    roles = [task.role for task in loop.children]
    if roles and roles != list(LOOP_STEPS):
        message = (
            "the roles of the loop's steps are developer, gates and reviewer, in this order: write "
            "these, or leave <steps> out."
        )
        yield _finding(loop, "bad_value:steps", "steps", message)
        return
    for task in loop.children:
        if task.role == "reviewer":
            yield from _hiding(task)
        for name in ("inputs", "context_management", "prompt", "output_schema"):
            if name in task.lines:
                message = f"a step of the loop has a template of its own: write <{name}> there."
                yield _finding(task, f"not_applicable:{name}", name, message)


def _part_findings(task: TaskTemplate) -> Iterator[TemplateFinding]:
    """A decomposition is asked for in one call, so that its parts are told and nothing else."""
    if task.role not in {None, "planner"}:
        message = f"the role is `{str(task.role)[:40]}`: write `planner`."
        yield _finding(task, "bad_value:role", "role", message)
    for name in ("inputs", "output_schema"):
        if name in task.lines:
            message = f"both parts are asked for in one call: write <{name}> in the task around it."
            yield _finding(task, f"not_applicable:{name}", name, message)
    yield from _unsettled(task, "both parts are asked for in one call")


def _finding(task: TaskTemplate, code: str, part: str, message: str) -> TemplateFinding:
    return TemplateFinding(code, task.path, task.lines.get(part, task.lines["task"]), message)


# What a step is told


@cache
def shipped_instructions(role: str) -> str:
    """What a role is told, as shipped: by its template, or where it has none by a text."""
    if role in ROLES:
        return instructions(shipped_templates()[role])
    return _prompt(role)


@cache
def _prompt(name: str) -> str:
    """A text that no template stands in for: the form of a review, how a plan is written."""
    return (PACKAGE / "context/prompts" / f"{name}.md").read_text(encoding="utf-8")


def reviewer_instructions(template: StepTemplate, asked: str = "", *, refute: bool) -> str:
    """What a reviewer is told; who is to `refute` is told that first, and all else as well."""
    told = instructions(template, asked)
    return shipped_instructions("refuter") + told if refute else told


def instructions(template: StepTemplate, asked: str = "") -> str:
    """What a step is told: its template's prompt, then what its workflow asks.

    A template without a prompt has the shipped one. The form of a review stands below, in any case.
    """
    own = template.prompt or shipped_templates()[template.step].prompt
    form = _prompt("review_form").rstrip("\n") if template.step == "reviewer" else ""
    return "\n\n".join(filter(None, (own, asked.strip(), form))) + "\n"
