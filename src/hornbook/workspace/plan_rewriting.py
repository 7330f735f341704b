"""Takes sections of a plan from a text that somebody wrote."""

from collections.abc import Sequence
from dataclasses import replace

from hornbook.errors import ConfigError
from hornbook.execute.plan_store import LENIENT
from hornbook.execute.plan_text import SECTIONS, parse
from hornbook.model.plan import Plan


def with_sections(plan: Plan, text: str, sections: Sequence[str], path: str) -> Plan:
    """The plan with some of its sections taken from a text.

    Raises:
        ConfigError: The text has none of them, or is wrong otherwise.
    """
    read = parse(text, path)
    given = [name for name in sections if name in read.stated]
    if not given and len(sections) == 1 and read.stated.isdisjoint(SECTIONS):
        return replace(plan, **{sections[0].lower(): text.rstrip("\n")})  # type: ignore[arg-type]  # a text section
    wrong = [each for each in read.problems if each.code not in LENIENT | {"no_title"}]
    problems = [f"{each.path}, line {each.line}: {each.message}" for each in wrong]
    if not given:
        problems.append(f"{path}: it has no section {' or '.join(f'`## {s}`' for s in sections)}.")
    if problems:
        raise ConfigError(problems)
    return replace(plan, **{name.lower(): getattr(read.plan, name.lower()) for name in given})
