"""A plan: what a team commits to, and how far the work on it may reach."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Constraints:
    """Globs of the files that are in scope, excluded from it, and not to be touched at all.

    An empty `inside` puts everything in scope that the other two do not take out.
    """

    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    do_not_touch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A commitment in five sections; `committed` is false while it is explored.

    Times are ISO 8601 in UTC.
    """

    slug: str
    title: str
    committed: bool = False
    situation: str = ""
    mission: str = ""
    execution: str = ""
    constraints: Constraints = field(default=Constraints())
    coordination: str = ""
    created_at: str = ""
    committed_at: str | None = None

    @property
    def id(self) -> str:
        """The id of the plan's entity."""
        return f"plan.{self.slug}"
