"""Runs of the embedded developer with a model that follows a script."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hornbook.agents.assignment import Answer, Assignment, Limits, Role, Usage
from hornbook.agents.embedded.developer import EmbeddedDeveloper
from hornbook.agents.embedded.progress import LoopRules
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.plans.plan import Constraints
from hornbook.text.tokens import counter

COUNT = counter("cl100k")
PROMPT = """\
# Instructions

Work.

# The task

Mark every part of the ledger.

Acceptance criteria:
- Every part is marked

These commands must pass:
- `make test`
"""


def gate(
    name: str, *, passed: bool, output: str = "", required: bool = True, message: str = ""
) -> GateResult:
    """A gate's result as the gates give it."""
    status = GateStatus.PASSED if passed else GateStatus.FAILED
    return GateResult(name, required, status, 0 if passed else 1, 0.1, output, message)


def report(*gates: GateResult) -> GateReport:
    """A report over these gates."""
    stops = any(each.required and each.status is GateStatus.FAILED for each in gates)
    return GateReport(bool(gates) and not stops, gates)


def act(action: str, **parameters: Any) -> str:
    """A model's answer that asks for an action."""
    import yaml

    return yaml.safe_dump({"action": action, "parameters": parameters}, sort_keys=False)


@dataclass
class Script:
    """A model that answers from a list, or by the number of the step; it keeps what it was asked."""

    answers: Sequence[str | Answer] | Callable[[int], str]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, system: str, context: str, seconds: float) -> Answer:
        assert seconds > 0
        self.asked.append((system, context))
        at = len(self.asked)
        told = self.answers(at) if callable(self.answers) else self.answers[at - 1]
        return told if isinstance(told, Answer) else Answer(text=told, usage=Usage(10, 5))


def assignment(root: Path, *files: str, **more: Any) -> Assignment:
    """An assignment to the developer of one task."""
    values: dict[str, Any] = {
        "key": "run.1:task.ledger.1:1",
        "role": Role.DEVELOPER,
        "task_id": "task.ledger.1",
        "attempt": 1,
        "folder": str(root),
        "prompt": PROMPT,
        "files": files,
        "criteria": ("Every part is marked",),
        "constraints": Constraints(do_not_touch=("secret/**",)),
    }
    return Assignment(**{**values, **more})


def developer(
    model: Script, check: Callable[[Sequence[str]], GateReport], state: Path, **more: Any
) -> EmbeddedDeveloper:
    """A developer whose state lies in `state`."""
    fixed = {"now": lambda: "2026-01-01T00:00:00+00:00", **more}
    return EmbeddedDeveloper(model, check, lambda _: state, COUNT, **fixed)


LONG_STEPS = 300
LONG_RULES = LoopRules(
    first_steps=LONG_STEPS,
    most_steps=LONG_STEPS,
    idle_steps=LONG_STEPS,
    same_failure=LONG_STEPS,
    same_error=LONG_STEPS,
    same_action=LONG_STEPS,
)
"""Only the number of steps ends the long run: the other rules have tests of their own."""


def _long_answer(step: int) -> str:
    """A step of the long run: looks, edits, loads, mistakes and unreadable answers in turn."""
    line = step * 3
    turns = (
        lambda: act("read_file", path="src/ledger.py", start=line, end=line + 400),
        lambda: act(
            "edit_file", path="src/ledger.py", search=f"part_{step} = 0", replace=f"part_{step} = 1"
        ),
        lambda: act("run_check"),
        lambda: act("read_file", path=f"src/missing_{step}.py"),
        lambda: act("load_context", item="full_file:src/other.py"),
        lambda: f"I think step {step} needs no action.",
        lambda: act("search", pattern=f"part_{step}"),
        lambda: act("edit_file", path="src/ledger.py", search="part_", replace=f"piece_{step}"),
        lambda: act("load_context", item="error_details"),
        lambda: act("clear_context"),
    )
    return turns[step % len(turns)]()


@dataclass
class LongRun:
    """What a run of three hundred steps was asked, and the events that it told."""

    prompts: list[tuple[str, str]]
    events: list[Mapping[str, object]]
    answer: Answer

    @property
    def tokens(self) -> list[int]:
        """The tokens of each prompt, counted anew."""
        return [COUNT(system) + COUNT(context) for system, context in self.prompts]


def long_run(root: Path, phase: str = "implement_feature", lines: int = 1200) -> LongRun:
    """A run of three hundred steps over a file of many lines."""
    tree, state = root / "tree", root / "state"
    (tree / "src").mkdir(parents=True)
    ledger = tree / "src/ledger.py"
    ledger.write_text("".join(f"part_{n} = 0\n" for n in range(lines)), encoding="utf-8")
    other = "".join(f"def other_{n}() -> int:\n    return {n}\n" for n in range(lines // 2))
    (tree / "src/other.py").write_text(other, encoding="utf-8")

    def check(names: Sequence[str]) -> GateReport:
        del names
        left = [
            number
            for number, line in enumerate(ledger.read_text(encoding="utf-8").split("\n"), 1)
            if line.endswith(" = 0")
        ]
        output = "\n".join(f"src/ledger.py:{number}: this part is not marked" for number in left)
        return report(gate("build", passed=True), gate("test", passed=False, output=output))

    model = Script(_long_answer)
    events: list[Mapping[str, object]] = []
    given = assignment(tree, "src/ledger.py", phase=phase, limits=Limits(600, LONG_STEPS, 0))
    answer = developer(model, check, state, rules=LONG_RULES).work(given, events.append)
    return LongRun(model.asked, events, answer)
