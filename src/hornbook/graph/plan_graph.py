"""The graph of a plan as its events leave it, before anything of it was ingested."""

from collections.abc import Mapping

from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.statements import SubjectStatements
from hornbook.graph.store import NamedGraph, RecordingStore
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import UNNAMED


class PlanGraph:
    """What a plan's decisions say of themselves, asked by named queries.

    The statements are those that the decisions' records have after an ingest.
    """

    def __init__(self, plan_id: str, statuses: Mapping[str, str]) -> None:
        """The graph of decisions by their status, each derived from the plan."""
        self._plan = plan_id
        self.store = RecordingStore(OxigraphStore.in_memory())
        self.store.replace(_graph(plan_id, name, status) for name, status in statuses.items())

    def standing(self) -> frozenset[str]:
        """The decisions that are derived from the plan and stand."""
        return frozenset(
            row[0] for row in self.store.rows("plan_decisions", plan=UNNAMED.term(self._plan))
        )


def _graph(plan_id: str, decision: str, status: str) -> NamedGraph:
    statements: list[str] = []
    say = SubjectStatements(decision, statements, UNNAMED)
    say.say(p.DERIVED_FROM, plan_id)
    say.say(p.DECISION_STATUS, status)
    return NamedGraph(UNNAMED.graph(decision), tuple(statements))
