"""Has a topic planned: the planner is asked again with what is wrong, a few times."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hornbook.agents.assignment import Agent, Assignment, Role, nowhere
from hornbook.context.templates.roles import shipped_instructions
from hornbook.errors import ConfigError, UsageError
from hornbook.graph.repository import Repository
from hornbook.loop.configured_agents import WorkspaceStaff
from hornbook.loop.plan_book import PlanBook, PlanCheck
from hornbook.rules.document import Problem
from hornbook.vocabulary.terms import Level

TRIES = 3
ANSWER = "the planner's answer"
_FENCED = re.compile(r"\A```[a-z]*\n(.*\n)```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A plan that a planner wrote and that cannot be carried out, and everything that is wrong."""

    text: str
    findings: tuple[str, ...]


class Planner(Protocol):
    """Who writes plans."""

    def write(self, topic: str, drafts: Sequence[PlanDraft] = ()) -> str:
        """A plan for a topic, as Markdown with its five sections; better than the drafts."""
        ...


def planning_prompt(topic: str, drafts: Sequence[PlanDraft]) -> str:
    """What a planner is asked: the topic, and of a plan that failed its text and why."""
    parts = [f"# The topic\n\n{topic}\n"]
    if drafts:
        last = drafts[-1]
        wrong = "".join(f"- {each}\n" for each in last.findings)
        parts.append(f"# The plan that you wrote\n\n{last.text.rstrip()}\n")
        parts.append(
            f"# What is wrong with it\n\n{wrong}\nWrite the whole plan anew, all of it mended.\n"
        )
    return "\n".join(parts)


def planned(book: PlanBook, planner: Planner, topic: str) -> PlanCheck:
    """The check of the plan that a planner wrote for a topic; it stays an exploration.

    What is wrong with a plan is told to the planner, who writes it anew, `TRIES` times in all.
    Each try is an event of the plan with its answer and all that was found. Of several plans that
    fail the last one stays.

    Raises:
        UsageError: The planner does not answer, or there is a plan of that name.
    """
    drafts: tuple[PlanDraft, ...] = ()
    slug = ""
    while True:
        text = planner.write(topic, drafts)
        slug = slug or book.explore(topic).plan.slug
        unread = _taken(book, slug, text)
        found = book.check(slug)
        wrong = unread or _errors_of(found)
        book.tried(slug, number=len(drafts) + 1, answer=text, findings=wrong)
        drafts = (*drafts, PlanDraft(text, wrong))
        if not wrong or len(drafts) == TRIES:
            return found if not unread else _unread(found, unread)


def _taken(book: PlanBook, slug: str, text: str) -> tuple[str, ...]:
    """Make a text the plan's; the answer is what keeps it from being one."""
    fenced = _FENCED.match(text.strip() + "\n")
    try:
        book.rewrite(slug, fenced[1] if fenced else text, path=ANSWER)
    except ConfigError as problem:
        return tuple(problem.problems)
    return ()


def _unread(found: PlanCheck, wrong: Sequence[str]) -> PlanCheck:
    """The check of a plan whose last text could not be read, with why."""
    more = [Problem(ANSWER, None, "not_a_plan", Level.ERROR, each) for each in wrong]
    return PlanCheck(found.view, (*more, *found.problems), found.rules)


def _errors_of(found: PlanCheck) -> tuple[str, ...]:
    """What keeps a plan from being carried out, a line each."""
    errors = (each for each in found.problems if each.level is Level.ERROR)
    return tuple(f"line {each.line or 1}: {each.message}" for each in errors)


@dataclass(frozen=True, slots=True)
class AgentPlanner:
    """Writes plans with whoever plans."""

    agent: Agent
    root: Path

    def write(self, topic: str, drafts: Sequence[PlanDraft] = ()) -> str:
        """A plan for a topic, as Markdown with its five sections; better than the drafts.

        Raises:
            UsageError: The planner did not answer.
        """
        attempt = len(drafts) + 1
        assignment = Assignment(
            key=f"plan:{topic}:{attempt}",
            role=Role.PLANNER,
            task_id="plan",
            attempt=attempt,
            folder=str(self.root),
            prompt=planning_prompt(topic, drafts),
            system=shipped_instructions("planner"),
            phase="plan",
        )
        answer = self.agent.work(assignment, nowhere)
        if answer.error is not None or not answer.text.strip():
            raise UsageError(f"{self.agent.name} wrote no plan: {answer.error or 'no answer'}.")
        return answer.text


def planner_of(work: Repository, agent: str | None = None) -> AgentPlanner | None:
    """Who plans: the agent of that name, else by the settings; None if nobody does.

    Raises:
        UsageError: Nobody has that name, or its command is not installed.
    """
    found = WorkspaceStaff(work.places, work.settings).worker(Role.PLANNER, agent)
    return AgentPlanner(found, work.root) if found is not None else None
