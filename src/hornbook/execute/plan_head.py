"""The frontmatter of a plan's file: what is known of the plan beside its text."""

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches

import yaml

from hornbook.ingest.problems import Problems
from hornbook.model.plan import Plan

HEAD_KEYS = ("slug", "committed", "created_at", "committed_at", "supersedes")
_BARE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:-]*")


def render_head(plan: Plan) -> str:
    """The frontmatter of a plan, its last line included."""
    said = (
        ("slug", plan.slug),
        ("committed", "true" if plan.committed else "false"),
        ("created_at", plan.created_at),
        ("committed_at", plan.committed_at),
        ("supersedes", plan.supersedes),
    )
    lines = [f"{key}: {_scalar(value)}" for key, value in said if value is not None]
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
    try:
        node = yaml.compose("\n".join(lines[1:end]), Loader=yaml.BaseLoader)
    except yaml.YAMLError as problem:
        problems.error(2, "bad_frontmatter", f"The frontmatter is not YAML ({problem}).")
        return {}, end + 1
    return _read(node, problems), end + 1


def _read(node: yaml.Node | None, problems: Problems) -> dict[str, str]:
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        message = "The frontmatter holds no keys: write `key: value` lines."
        problems.error(2, "bad_frontmatter", message)
        return {}
    said: dict[str, str] = {}
    for key_node, value in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 2
        if key not in HEAD_KEYS or not isinstance(value, yaml.ScalarNode) or key in said:
            problems.error(line, "bad_frontmatter", _why_not(key, known=key in HEAD_KEYS))
            continue
        if key == "committed" and value.value not in {"true", "false"}:
            message = f"`committed` is {value.value!r}: write true or false."
            problems.error(line, "bad_frontmatter", message)
            continue
        said[key] = str(value.value)
    return said


def _why_not(key: str, *, known: bool) -> str:
    if known:
        return f"`{key}` must stand once and be one value."
    near = get_close_matches(key, HEAD_KEYS, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(HEAD_KEYS)}."
    return f"Unknown key `{key}`: {hint}"


def _scalar(value: str) -> str:
    return value if _BARE.fullmatch(value) else json.dumps(value)
