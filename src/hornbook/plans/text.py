"""A plan as Markdown: the five sections, read with every problem and written without loss.

A section's text stands between its heading and the next one, with a blank line around it. A line
of a text that would be taken for a section's heading has a backslash in front of it, as has one
that would be taken for the guidance that stands in the empty sections of an exploration.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from hornbook.plans.plan import Constraints, Plan
from hornbook.rules.document import Problem, Problems
from hornbook.text.plan_syntax import KINDS, guidance, is_guidance, read_bullet, render_bullet

if TYPE_CHECKING:
    import yaml

HEAD_KEYS = ("slug", "committed", "created_at", "committed_at", "supersedes")
_BARE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:-]*")


def render_head(plan: Plan) -> str:
    """The frontmatter of a plan, its last line included."""
    values = (
        ("slug", plan.slug),
        ("committed", "true" if plan.committed else "false"),
        ("created_at", plan.created_at),
        ("committed_at", plan.committed_at),
        ("supersedes", plan.supersedes),
    )
    lines = [f"{key}: {_scalar(value)}" for key, value in values if value is not None]
    return "\n".join(["---", *lines, "---", ""])


def read_head(lines: Sequence[str], problems: Problems) -> tuple[dict[str, str], int]:
    """What the frontmatter says, if there is one, and the index of the first line behind it."""
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    end = next((n for n in range(1, len(lines)) if lines[n].rstrip() == "---"), None)
    if end is None:
        message = "The frontmatter has no closing line: close it with `---`."
        problems.error(1, "bad_frontmatter", message)
        return {}, 1
    import yaml  # noqa: PLC0415  # start-up: a plan is listed by its events

    try:
        node = yaml.compose("\n".join(lines[1:end]), Loader=yaml.BaseLoader)
    except yaml.YAMLError as problem:
        problems.error(2, "bad_frontmatter", f"The frontmatter is not YAML ({problem}).")
        return {}, end + 1
    return _read(node, problems), end + 1


def _read(node: "yaml.Node | None", problems: Problems) -> dict[str, str]:
    if node is None:
        return {}
    import yaml  # noqa: PLC0415  # start-up: as above

    if not isinstance(node, yaml.MappingNode):
        message = "The frontmatter holds no keys: write `key: value` lines."
        problems.error(2, "bad_frontmatter", message)
        return {}
    values: dict[str, str] = {}
    for key_node, value in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 2
        if key not in HEAD_KEYS or not isinstance(value, yaml.ScalarNode) or key in values:
            problems.error(line, "bad_frontmatter", _why_not(key, known=key in HEAD_KEYS))
            continue
        if key == "committed" and value.value not in {"true", "false"}:
            message = f"`committed` is {value.value!r}: write true or false."
            problems.error(line, "bad_frontmatter", message)
            continue
        values[key] = str(value.value)
    return values


def _why_not(key: str, *, known: bool) -> str:
    if known:
        return f"`{key}` must stand once and be one value."
    near = get_close_matches(key, HEAD_KEYS, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(HEAD_KEYS)}."
    return f"Unknown key `{key}`: {hint}"


def _scalar(value: str) -> str:
    return value if _BARE.fullmatch(value) else json.dumps(value)


SECTIONS = ("Situation", "Mission", "Execution", "Constraints", "Coordination")
MUST_SAY = ("Situation", "Mission", "Execution")
"""The sections without which a plan is none to commit to."""

_NAMES = "|".join(SECTIONS)
_SECTION = re.compile(rf"##[ \t]+({_NAMES})[ \t]*", re.IGNORECASE)
_LOOKS_LIKE_SECTION = re.compile(r"(?P<slashes>\\*)(?P<heading>##[ \t].*)")
_TITLE = re.compile(r"#[ \t]+(?:Plan:[ \t]*)?(?P<title>.*?)[ \t]*", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BLANK_AROUND = re.compile(r"\A(?:[ \t\r]*\n)+|(?:\n[ \t\r]*)+\Z")


@dataclass(frozen=True, slots=True)
class PlanText:
    """What a plan's file says: the plan as far as it can be read, and what is wrong with it.

    `lines` has the line of each section's first text line; `constraint_lines` that of each glob,
    by the kind of constraint and the glob.
    """

    plan: Plan
    lines: Mapping[str, int]
    constraint_lines: Mapping[tuple[str, str], int]
    stated: frozenset[str]
    problems: tuple[Problem, ...] = ()


def render(plan: Plan) -> str:
    """The file of a plan; the same plan always gives the same text."""
    sections = "\n".join(_file_section(plan, name) for name in SECTIONS)
    return f"{render_head(plan)}# Plan: {plan.title}\n\n{sections}"


def section_text(plan: Plan, name: str) -> str:
    """One section of a plan with its heading; of one that says nothing that alone."""
    return _with_heading(name, _content(plan, name))


def empty_sections(plan: Plan) -> tuple[str, ...]:
    """The sections that a plan must have and that say nothing."""
    return tuple(name for name in MUST_SAY if not getattr(plan, name.lower()).strip())


def _file_section(plan: Plan, name: str) -> str:
    """A section as it stands in the plan's file: an exploration's empty one guides its author."""
    text = _content(plan, name)
    return _with_heading(name, text if text or plan.committed else guidance(name))


def _with_heading(name: str, text: str) -> str:
    return f"## {name}\n" + (f"\n{text}\n" if text else "")


def _content(plan: Plan, name: str) -> str:
    if name == "Constraints":
        return "\n".join(_bullets(plan.constraints))
    return _escaped(getattr(plan, name.lower()), name)


@lru_cache(maxsize=16)  # a plan's file is looked at by every command, and seldom another one
def parse(text: str, path: str = "plan.md") -> PlanText:
    """What a plan's text says, with or without frontmatter; every problem has its line."""
    problems = Problems(path)
    lines = _lines(text)
    head, start = read_head(lines, problems)
    title, start = _title(lines, start, problems)
    found = _sections(lines, start, problems)
    for name in found:
        lines, found[name] = _without_guidance(lines, name, found[name])
    bodies = {name: _body(lines, each) for name, each in found.items()}
    constraints, places = _constraints(lines, found.get("Constraints"), problems)
    for name in SECTIONS:
        if name not in found:
            message = f"The section `## {name}` is missing: add it, even if it is empty."
            problems.error(max(1, len(lines)), "missing_section", message)
    plan = Plan(
        slug=head.get("slug", ""),
        title=title,
        committed=head.get("committed", "false") == "true",
        situation=_unescaped(bodies.get("Situation", ""), "Situation"),
        mission=_unescaped(bodies.get("Mission", ""), "Mission"),
        execution=_unescaped(bodies.get("Execution", ""), "Execution"),
        constraints=constraints,
        coordination=_unescaped(bodies.get("Coordination", ""), "Coordination"),
        created_at=head.get("created_at", ""),
        committed_at=head.get("committed_at"),
        supersedes=head.get("supersedes"),
    )
    starts = {name: _first_line(lines, each) for name, each in found.items()}
    stated = frozenset({*found, *(head.keys() & set(HEAD_KEYS))})
    return PlanText(plan, starts, places, stated, problems.told())


def outside_fences(lines: Sequence[str]) -> list[bool]:
    """For each line whether it stands outside of every fenced code block."""
    fence = ""
    answer = []
    for line in lines:
        found = _FENCE.match(line)
        if not fence:
            fence = _opened_fence(found)
            answer.append(not fence)
            continue
        answer.append(False)
        if found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return answer


def _opened_fence(found: re.Match[str] | None) -> str:
    """The marks that open a block; what stands behind backticks may hold none, or it is code."""
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return ""
    return str(found[1])


@dataclass(frozen=True, slots=True)
class _Span:
    """The lines of a section behind its heading; `guided` if guidance was taken out of them."""

    start: int
    end: int
    last: bool = False
    guided: bool = False


def _lines(text: str) -> list[str]:
    """The lines of a file; where its first one ends in CRLF, all are taken to."""
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):
        text = text.replace("\r\n", "\n")
    return text.split("\n")


def _title(lines: Sequence[str], start: int, problems: Problems) -> tuple[str, int]:
    for index in range(start, len(lines)):
        if not lines[index].strip():
            continue
        found = _TITLE.fullmatch(lines[index])
        if found and found["title"]:
            return found["title"], index + 1
        break
    message = "The plan has no title: begin it with `# Plan: title`."
    problems.error(start + 1, "no_title", message)
    return "", start


def _sections(lines: Sequence[str], start: int, problems: Problems) -> dict[str, _Span]:
    heads = [
        (index, found[1].capitalize())
        for index in range(start, len(lines))
        if (found := _SECTION.fullmatch(lines[index]))
    ]
    ends = [*(index for index, _ in heads[1:]), len(lines)][: len(heads)]
    spans: dict[str, _Span] = {}
    _tell_strays(lines, start, heads[0][0] if heads else len(lines), problems)
    for (index, name), end in zip(heads, ends, strict=True):
        span = _Span(index + 1, end, last=end == len(lines))
        _tell_unknown(lines, span, problems)
        if name in spans:
            first = spans[name].start
            message = f"`## {name}` stands twice (first on line {first}): join them."
            problems.error(index + 1, "duplicate_section", message)
            continue
        spans[name] = span
    return spans


def _tell_strays(lines: Sequence[str], start: int, end: int, problems: Problems) -> None:
    _tell_unknown(lines, _Span(start, end), problems)
    for index in range(start, end):
        if lines[index].strip() and not _LOOKS_LIKE_SECTION.fullmatch(lines[index]):
            message = "This text stands in no section: put it under `## Situation`."
            problems.error(index + 1, "stray_text", message)
            return


def _tell_unknown(lines: Sequence[str], span: _Span, problems: Problems) -> None:
    inside = lines[span.start : span.end]
    for index, (line, outside) in enumerate(zip(inside, outside_fences(inside), strict=True)):
        found = _LOOKS_LIKE_SECTION.fullmatch(line)
        if found and not found["slashes"] and outside:
            message = (
                f"`{line.strip()}` is no section of a plan: use {', '.join(SECTIONS)}, "
                "or a deeper heading (`###`)."
            )
            problems.error(span.start + index + 1, "unknown_section", message)


def _without_guidance(lines: list[str], name: str, span: _Span) -> tuple[list[str], _Span]:
    """The lines with those of a section that are guidance made blank, so that all keep their place.

    Where guidance stood, the blank lines around the text say nothing either.
    """
    inside = lines[span.start : span.end]
    kept = [
        "" if outside and is_guidance(name, line) else line
        for line, outside in zip(inside, outside_fences(inside), strict=True)
    ]
    if kept == inside:
        return lines, span
    return [*lines[: span.start], *kept, *lines[span.end :]], replace(span, guided=True)


def _body(lines: Sequence[str], span: _Span) -> str:
    """The text of a section without the blank lines that only set it off."""
    if span.guided:
        return _BLANK_AROUND.sub("", "\n".join(lines[span.start : span.end]))
    text = "".join(f"{line}\n" for line in lines[span.start : span.end])
    text = text[:-1] if span.last else text
    text = text.removeprefix("\n")
    behind = "\n" if span.last or not text.endswith("\n\n") else "\n\n"
    return text.removesuffix(behind)


def _first_line(lines: Sequence[str], span: _Span) -> int:
    if span.guided:
        return next(
            (n + 1 for n in range(span.start, span.end) if lines[n].strip()), span.start + 1
        )
    blank = span.start + 1 < span.end and not lines[span.start]
    return span.start + (2 if blank else 1)


def _misread(line: str, *, outside: bool, section: str = "") -> bool:
    """Whether a line would be read as a heading or as guidance, slashes in front of it or not."""
    found = _LOOKS_LIKE_SECTION.fullmatch(line)
    if found and (outside or _SECTION.fullmatch(found["heading"])):
        return True
    return outside and is_guidance(section, line.lstrip("\\"))


def _escaped(text: str, section: str) -> str:
    lines = text.split("\n")
    pairs = zip(lines, outside_fences(lines), strict=True)
    return "\n".join(
        f"\\{line}" if _misread(line, outside=outside, section=section) else line
        for line, outside in pairs
    )


def _unescaped(text: str, section: str) -> str:
    lines = text.split("\n")
    pairs = zip(lines, outside_fences(lines), strict=True)
    return "\n".join(
        line[1:] if line[:1] == "\\" and _misread(line, outside=outside, section=section) else line
        for line, outside in pairs
    )


def _bullets(constraints: Constraints) -> Iterator[str]:
    groups = (constraints.inside, constraints.outside, constraints.do_not_touch)
    for kind, globs in zip(KINDS, groups, strict=True):
        for glob in globs:
            bullet = render_bullet(kind, glob)
            is_read_back = not is_guidance("Constraints", bullet)
            yield bullet if is_read_back else f"- {kind}: {json.dumps(glob)}"


def _constraints(
    lines: Sequence[str], span: _Span | None, problems: Problems
) -> tuple[Constraints, dict[tuple[str, str], int]]:
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    places: dict[tuple[str, str], int] = {}
    for index in range(span.start, span.end) if span else ():
        line = lines[index]
        if not line.strip() or _misread(line, outside=True):
            continue
        bullet = read_bullet(line)
        if bullet is None:
            message = (
                "This is no constraint: write `- IN: glob`, `- OUT: …` or `- DO NOT TOUCH: …`."
            )
            problems.error(index + 1, "bad_constraint", message)
            continue
        kind, globs = bullet
        for glob in globs:
            found[kind].append(glob)
            places.setdefault((kind, glob), index + 1)
    groups = (tuple(found[kind]) for kind in KINDS)
    return Constraints(*groups), places
