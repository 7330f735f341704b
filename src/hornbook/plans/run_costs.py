"""What agents cost, by currency, as their events tell it; read once, and then only what is new.

An agent tells what all its work cost when it answers. The embedded developer tells after each step
as well, for an attempt may take hundreds: these count when they are told, and its answer counts
what it tells beyond them.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.run_kinds import DEVELOP, REVIEW

if TYPE_CHECKING:  # start-up: SQLite
    from hornbook.plans.log import EventLog

PAID = frozenset({DEVELOP, REVIEW, kinds.CANARY, kinds.PLAN})
DOLLARS = "USD"
"""The currency of agents that tell a cost and none."""
_COST = "cost"
"""What an answer is about that lets work go on over a limit."""
_DIGITS = 12
"""What binary fractions add behind these is no money: 0.1 and 0.2 come to 0.3."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """An amount of money, and in which currency it is."""

    amount: float
    currency: str

    @property
    def cents(self) -> float:
        """It in hundredths."""
        return round(self.amount * 100, _DIGITS)

    def __str__(self) -> str:
        """It to the hundredth: what is less than one is not nothing."""
        return f"{self.amount:.2f} {self.currency}" if self.amount >= 0.01 else "< 0.01"


@dataclass(frozen=True, slots=True)
class CostSum:
    """What was told as cost, one amount for each currency: different ones cannot be added up."""

    amounts: tuple[RunCost, ...] = ()
    told: bool = False

    @property
    def amount(self) -> float | None:
        """What it is in all; None where nobody told, or where it is in several currencies."""
        if len(self.amounts) == 1:
            return self.amounts[0].amount
        return 0.0 if self.told and not self.amounts else None

    @property
    def currency(self) -> str | None:
        """The currency of all of it, if it is one."""
        return self.amounts[0].currency if len(self.amounts) == 1 else None

    def facts(self) -> dict[str, object]:
        """It in plain values, for records: nothing where nobody told."""
        return {
            "cost": self.amount if self.amounts else 0.0,
            "currency": self.currency,
            "costs": [{"amount": each.amount, "currency": each.currency} for each in self.amounts],
        }

    def __str__(self) -> str:
        """It in words, each currency by itself; nothing where nobody told."""
        if self.amounts:
            return " + ".join(map(str, self.amounts))
        return "0.00" if self.told else ""


NOT_TOLD = CostSum()


def cost_sum(costs: Iterable[RunCost], *, told: bool = False) -> CostSum:
    """What some amounts come to, currency by currency."""
    found: dict[str, float] = {}
    for each in costs:
        found[each.currency] = found.get(each.currency, 0.0) + each.amount
    summed = tuple(RunCost(round(found[name], _DIGITS), name) for name in sorted(found))
    return CostSum(summed, told=told or bool(summed))


@dataclass(frozen=True, slots=True)
class Payment:
    """What was paid at a time."""

    at: str
    cost: RunCost


@dataclass(slots=True)
class PaidCosts:
    """Payments, and when a person last let work go on over the limits of a scope."""

    payments: list[Payment] = field(default_factory=list)
    agreed: dict[str, str] = field(default_factory=dict)
    told: bool = False

    def spent(self, scope: str = "") -> CostSum:
        """What was paid, in a scope since a person last agreed to more in it."""
        agreed = self.agreed.get(scope, "")
        paid = (each.cost for each in self.payments if each.at > agreed)
        return cost_sum(paid, told=self.told)

    def since(self, at: str) -> "PaidCosts":
        """The same, without what was paid before a time."""
        later = [each for each in self.payments if each.at >= at]
        return PaidCosts(later, self.agreed, told=self.told)


class CostReader:
    """Takes up events, each plan's in order, as they come."""

    def __init__(self) -> None:
        self.paid = PaidCosts()
        self._told: dict[str, dict[str, float]] = {}

    def take(self, event: Event) -> None:
        """Take up one event."""
        if event.kind in PAID:
            self._answered(event)
        elif event.kind == kinds.TOLD:
            self._stepped(event)
        elif event.kind == kinds.ANSWERED:
            said = kinds.answer(event)
            if said.get("about") == _COST:
                scope = str(said.get("scope"))
                self.paid.agreed[scope] = max(event.at, self.paid.agreed.get(scope, ""))

    def _answered(self, event: Event) -> None:
        usage = event.data["usage"]
        told = self._told.pop(str(event.data.get("run")), {}) if event.kind == DEVELOP else {}
        self.paid.told = self.paid.told or usage.get("cost") is not None
        rest = round((usage.get("cost") or 0.0) - sum(told.values()), _DIGITS)
        if rest > 0:
            self._pay(event.at, usage.get("currency"), rest)

    def _stepped(self, event: Event) -> None:
        """A step that is told again, since a process was killed, was paid once."""
        told = event.data["told"]
        amount, key = told.get("cost"), str(told.get("key"))
        known = self._told.setdefault(str(event.data.get("run")), {})
        if amount and key not in known:
            known[key] = float(amount)
            self._pay(event.at, told.get("currency"), float(amount))

    def _pay(self, at: str, currency: str | None, amount: float) -> None:
        self.paid.payments.append(Payment(at, RunCost(amount, currency or DOLLARS)))


def paid_costs(events: Iterable[Event]) -> PaidCosts:
    """What agents cost by some events."""
    reader = CostReader()
    for event in events:
        reader.take(event)
    return reader.paid


class CostBook:
    """The costs of all plans of a log, for those who ask often; several threads may."""

    def __init__(self) -> None:
        self._reader = CostReader()
        self._heads: dict[str, int] = {}
        self._lock = threading.Lock()

    def read(self, log: "EventLog") -> PaidCosts:
        """The costs by now: only events that are new since the last time are read.

        Once a log is gone, or shorter than it was, all are read again.
        """
        with self._lock:
            heads = log.heads()
            if any(heads.get(plan, 0) < seen for plan, seen in self._heads.items()):
                self._reader, self._heads = CostReader(), {}  # a log was dropped: count anew
            new: Iterable[Event]
            if self._heads:
                later = ((plan, self._heads.get(plan, 0)) for plan in sorted(heads))
                new = (
                    event
                    for plan, seen in later
                    if heads[plan] > seen
                    for event in log.later(plan, seen)
                )
            else:
                new = log.of_kind(*sorted(PAID), kinds.TOLD, kinds.ANSWERED)
            for event in new:
                if event.seq <= heads.get(event.plan, 0):
                    self._reader.take(event)
            self._heads = heads
            paid = self._reader.paid
            return PaidCosts(list(paid.payments), dict(paid.agreed), told=paid.told)
