"""A model behind an endpoint as an agent in every role: what it is sent, and how much at most."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hornbook.agents.assignment import Answer, Assignment, Record, Role
from hornbook.agents.command import RULE_FOLDERS
from hornbook.agents.crew import priced
from hornbook.agents.embedded.developer import CALL_SECONDS, EmbeddedDeveloper
from hornbook.agents.embedded.model_call import Ask, RateLimited, RateLimiter, withholding
from hornbook.agents.embedded.step_context import MOST_TOKENS
from hornbook.agents.model_endpoint import ModelEndpoint
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport
from hornbook.gates.gate_confinement import bounds_in_run, with_confinement
from hornbook.gates.gate_list import GateList, gates_now
from hornbook.gates.runner import Judge, run_gates, unchanged
from hornbook.graph.repository import Repository
from hornbook.settings.models import Endpoint
from hornbook.settings.settings import EMBEDDED, Settings, Sight
from hornbook.text.tokens import counter

CAPABILITY = {
    Role.DEVELOPER: "developing",
    Role.REVIEWER: "reviewing",
    Role.PLANNER: "planning",
}


@dataclass(frozen=True, slots=True)
class EmbeddedAgent:
    """A model behind an endpoint in every role: develops in stateless steps, reviews in one.

    `state` is where the steps of developers are kept, each attempt in a folder of its own.
    """

    root: Path
    state: Path
    settings: Settings
    limiters: dict[Endpoint, RateLimiter] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called."""
        return EMBEDDED

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Do the assignment and answer.

        Raises:
            UsageError: No endpoint serves the role, or the extra `models` is missing.
        """
        endpoint = self._endpoint(assignment)
        if assignment.role is Role.DEVELOPER:
            return self._developer(endpoint, assignment).work(assignment, record)
        return self._answered(endpoint, assignment, record)

    def _developer(self, endpoint: Endpoint, assignment: Assignment) -> EmbeddedDeveloper:
        room = endpoint.prompt_tokens(self.settings.budget.safety_percent)
        return EmbeddedDeveloper(
            withholding(self._ask(endpoint, endpoint.answer_tokens), assignment.withheld),
            lambda names: self.check(
                Path(assignment.folder),
                names,
                logs=self._folder(assignment) / "logs",
                listed=assignment.gates,
                judge=assignment.told_apart or unchanged,
            ),
            self._folder,
            counter(self.settings.counter),
            related=self._related,
            window=endpoint.max_tokens,
            room=min(MOST_TOKENS, room),
            call_seconds=endpoint.call_seconds or CALL_SECONDS,
            price=lambda usage: priced(usage, endpoint),
        )

    def _answered(self, endpoint: Endpoint, assignment: Assignment, record: Record) -> Answer:
        """The answer to one call; what is told of it says how it came about."""
        count = counter(self.settings.counter)
        tokens = count(assignment.system) + count(assignment.prompt)
        most = min(endpoint.answer_tokens, endpoint.max_tokens - tokens)
        if most <= 0:
            said = f"the prompt has {tokens} tokens, the window of {endpoint.model}"
            return Answer(error=f"{said} {endpoint.max_tokens}: use a model with a larger window")
        seconds = assignment.limits.seconds
        ask = self._ask(endpoint, most, assignment.schema)
        answer = ask(
            assignment.system, assignment.prompt, min(seconds, endpoint.call_seconds or seconds)
        )
        if answer.retry_after is None:
            record(_call_facts(assignment, endpoint, (tokens, most), answer))
        return answer

    def _ask(self, endpoint: Endpoint, output_tokens: int, schema: str = "") -> Ask:
        ask = ModelEndpoint(
            endpoint.provider,
            endpoint.model,
            endpoint.url or None,
            endpoint.key_variable or None,
            output_tokens=output_tokens,
            schema=schema,
        )
        if not endpoint.tokens_per_minute:
            return ask
        limiter = self.limiters.setdefault(endpoint, RateLimiter(endpoint.tokens_per_minute))
        return RateLimited(ask, limiter, counter(self.settings.counter))

    def _endpoint(self, assignment: Assignment) -> Endpoint:
        """The endpoint that is meant: by its name, by its model, or by what the role needs."""
        capability, models = CAPABILITY[assignment.role], self.settings.registry()
        found = models.resolve(assignment.model or capability)
        if found is not None:
            return found[1]
        # a team's own endpoints come after the shipped ones, and count before them
        ordered = [*models.capabilities.get(capability, ()), *reversed(models.endpoints)]
        for name in ordered:
            if name in models.endpoints and models.endpoints[name].model == assignment.model:
                return models.endpoints[name]
        asked = f"the model {assignment.model!r}" if assignment.model else capability
        raise UsageError(f"no endpoint serves {asked}: name one under `models`.")

    def _related(self, files: Sequence[str]) -> list[str]:
        """The files that these import or that import them, as far as the graph has them."""
        with Repository(self.root) as work:
            graph = work.snapshot()
            found = (path for each in files for path in graph.related_files(each))
            return [path for path in dict.fromkeys(found) if path not in files]

    def _folder(self, assignment: Assignment) -> Path:
        """Where an attempt is kept: another round or run begins anew, a restart goes on."""
        return self.state / assignment.task_id / assignment.key.replace("/", "-")

    def check(
        self,
        folder: Path,
        names: Sequence[str],
        *,
        logs: Path,
        listed: GateList | None = None,
        judge: Judge = unchanged,
    ) -> GateReport:
        """What the gates say to the files of a worktree, confined as those of a run are.

        They are `listed`, else those that the repository's files define now. A developer that is to
        see no rule must not read one in their output either.
        """
        listed = listed or gates_now(self.root)
        wanted = [gate for gate in listed.ready if not names or gate.name in names]
        run = partial(run_gates, wanted, folder, logs=logs, judge=judge)
        blind = self.settings.developer_sees == Sight.BLIND
        hidden = [self.root / name for name in RULE_FOLDERS] if blind else []
        bounds = bounds_in_run(listed, hidden=hidden)
        if bounds is None:
            return run()
        with bounds.shell(folder, self.root, ours=False) as shell:
            return with_confinement(run(wrap=shell), shell, wanted)


def _call_facts(
    assignment: Assignment, endpoint: Endpoint, room: tuple[int, int], answer: Answer
) -> dict[str, object]:
    """What an event says of a call: sizes, and whether the answer was constrained or cut."""
    tokens, most = room
    return {
        "key": f"{assignment.key}:answer",
        "action": "answer",
        "model": endpoint.model,
        "tokens": tokens,
        "utilisation": round(tokens / endpoint.max_tokens, 4),
        "output_limit": most,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "constrained": bool(assignment.schema) and not answer.notes,
        "cut": answer.cut,
        "notes": list(answer.notes),
        "error": answer.error,
    }
