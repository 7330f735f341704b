"""The plans of a workspace as they are: listed, shown, and with what was decided in them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hornbook.disk import now
from hornbook.errors import NotFound
from hornbook.plans.active import active_plan, required_plan
from hornbook.plans.events import Event
from hornbook.plans.log import EventLog
from hornbook.plans.plan import PlanDecision
from hornbook.plans.principal import Principal
from hornbook.plans.state import PlanStatus
from hornbook.plans.store import PlanStore, PlanView
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings


class PlanReader:
    """Reads every plan of one workspace; where there was never one, it makes nothing.

    `log` is one that is open already; else each question opens its own. `by` is who acts, by
    default whoever runs this process.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings,
        clock: Callable[[], str] = now,
        log: EventLog | None = None,
        *,
        by: Principal | None = None,
    ) -> None:
        self._log = log
        self._principal = by
        self._places = places
        self._settings = settings
        self._clock = clock

    def active(self) -> str | None:
        """The slug of the active plan, if there is one."""
        return active_plan(self._places.state)

    def slug(self, given: str | None) -> str:
        """The slug that is meant: the one given (a plan's id too), else the active plan's.

        Raises:
            UsageError: There is neither.
        """
        return required_plan(self._places.state, given and given.removeprefix("plan."))

    def views(self) -> list[PlanView]:
        """All plans: explorations first, then the committed, then what was superseded."""
        order = list(PlanStatus)
        with self.store_if_any() as store:
            views = [store.view(slug) for slug in store.slugs()] if store else []
        return sorted(views, key=lambda view: (order.index(view.state.status), view.plan.slug))

    def view(self, given: str | None) -> PlanView:
        """One plan as it is now.

        Raises:
            NotFound: There is no such plan.
        """
        slug = self.slug(given)
        with self.store_if_any() as store:
            return _there(store, slug).view(slug)

    def events(self, given: str | None) -> list[Event]:
        """The whole log of a plan."""
        slug = self.slug(given)
        with self.store_if_any() as store:
            return _there(store, slug).events(slug)

    def decisions(self, given: str | None) -> list[PlanDecision]:
        """The decisions of a plan that stand: no decision of any plan supersedes them."""
        taken = self.view(given).state.decisions
        if not taken:  # as in most plans: no other one has to be read
            return []
        replaced = {each.supersedes for view in self.views() for each in view.state.decisions}
        return [each for each in taken if each.id not in replaced]

    @contextmanager
    def store_if_any(self) -> Iterator[PlanStore | None]:
        """The plans for reading; None where there were never any."""
        state = self._places.state
        local = not self._settings.engine.database
        if local and not (state / "events.db").exists() and not (state / "plans").is_dir():
            yield None
            return
        with self.store() as store:
            yield store

    @contextmanager
    def store(self) -> Iterator[PlanStore]:
        """The plans, with their log open meanwhile."""
        if self._log is not None:
            yield PlanStore(self._places.state, self._log)
            return
        self._places.prepare()
        log = open_log(self._places, self._settings, self._clock, principal=self._principal)
        try:
            yield PlanStore(self._places.state, log)
        finally:
            log.close()


def _there(store: PlanStore | None, slug: str) -> PlanStore:
    if store is None:
        raise NotFound(f"there is no plan {slug!r}: begin one with `hornbook explore TOPIC`.")
    return store
