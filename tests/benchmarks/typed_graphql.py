"""What typed GraphQL costs the server: a page of rules, and a rule with all that it leads to.

CPU time of the server's process, rounds interleaved in one run. A page of a hundred rules is held
against a bare server that encodes and sends the same page from memory; a rule with text, sections,
files and reviews against the sum of these asked one by one.
"""

import base64
import random
import shutil
import tempfile
from pathlib import Path

from hornbook import Workspace
from tests.benchmarks.serving import PAGE, Server, _bare, _each, _repository
from tests.kit.loops import CONFIG, Stage, repository
from tests.kit.serve_process import free_port, serving

FIELDS = "id title path category severity activation tokens patterns { raw pattern line }"
PAGES = f"""query ($after: String) {{ rules(first: {PAGE}, after: $after) {{
    totalCount pageInfo {{ hasNextPage endCursor }} edges {{ cursor node {{ {FIELDS} }} }} }} }}"""
RULE = "source.doc.sops.large"
PARTS = {
    "text": "text",
    "sections": "sections { id title text tokens }",
    "files": "files { totalCount nodes { path } }",
    "reviews": "reviews { nodes { id outcome at reviewer findings { path line message } } }",
}
SECTIONS = 12


def _page_costs(rules: int, requests: int) -> dict[str, float]:
    root = _repository(rules)
    chance = random.Random(7)
    try:
        with Workspace.open(root) as work:
            work.ingest([root / "docs"])
            ids = [rule.id for rule in work.snapshot().all_rules]
        with serving(root) as (address, process):
            ours = Server(address, process)
            for start in range(0, len(ids), PAGE):
                ours.ask(PAGES, after=_cursor(ids[start]))

            def page() -> object:
                return ours.ask(PAGES, after=_cursor(ids[chance.randrange(len(ids) - PAGE - 1)]))

            def cold() -> object:
                fields = f"x{chance.randrange(10**9)}: id {FIELDS}"
                return ours.ask(PAGES.replace(FIELDS, fields), after=_cursor(ids[0]))

            def whole() -> object:
                text = PAGES.replace(FIELDS, f"{FIELDS} owner")
                return ours.ask(text, after=_cursor(ids[chance.randrange(len(ids) - PAGE - 1)]))

            sample = ours.ask(PAGES)
            with _bare(sample, free_port()) as bare:
                return _each(
                    {
                        "memory": (bare, requests, lambda: bare.get("/page")),
                        "page": (ours, requests, page),
                        "cold": (ours, max(1, requests // 10), cold),
                        "executor": (ours, max(1, requests // 10), whole),
                    }
                )
    finally:
        shutil.rmtree(root)


def _cursor(rule: str) -> str:
    return base64.urlsafe_b64encode(f"id:{rule}".encode()).decode("ascii")


def _with_a_reviewed_rule(root: Path) -> Path:
    """A repository with a large rule that binds some files and was answered by a review."""
    text = "".join(
        f"\n## Part {number}\n\n" + f"Each word of part {number} counts for somebody. " * 30 + "\n"
        for number in range(SECTIONS)
    )
    head = "---\ncategory: sop\napplies_to: 'src/**'\nseverity: info\n---\n\n# Large\n"
    config = f"{CONFIG}serve:\n  log: errors\n"
    place = ".hornbook__sources__docs__sops__large.md"
    repository(root, config=config, **{place: head + text})
    status = Stage(root).go().status
    if status != "approved":
        raise AssertionError(status)
    with Workspace.open(root) as work:
        work.ingest()
    return root


def _rule_costs(requests: int) -> dict[str, float]:
    root = _with_a_reviewed_rule(Path(tempfile.mkdtemp(prefix="hornbook-bench-")))
    try:
        with serving(root) as (address, process):
            ours = Server(address, process)
            asked = {
                name: f'{{ rule(id: "{RULE}") {{ {fields} }} }}'
                for name, fields in {**PARTS, "whole": " ".join(PARTS.values())}.items()
            }
            for name, text in asked.items():
                if f'"{name}"'.encode() not in ours.ask(text) and name != "whole":
                    raise AssertionError(name)
            return _each(
                {
                    name: (ours, requests, lambda text=text: ours.ask(text))  # type: ignore[misc]
                    for name, text in asked.items()
                }
            )
    finally:
        shutil.rmtree(root)


def measure(rules: int = 2_000, requests: int = 200) -> dict[str, float]:
    """Every ratio of one run."""
    page, rule = _page_costs(rules, requests), _rule_costs(requests)
    parts = sum(rule[name] for name in PARTS)
    return {
        "typed page of 100 rules / the same bytes from memory": page["page"] / page["memory"],
        "the same in a shape that nobody asked for / from memory": page["cold"] / page["memory"],
        "the same with owners, by the reference executor / from memory": page["executor"]
        / page["memory"],
        "a rule with text, sections, files and reviews / the sum of its parts": rule["whole"]
        / parts,
        "page from memory, CPU ms": page["memory"] * 1000,
        "rule with all of it, CPU ms": rule["whole"] * 1000,
        **{f"rule with {name} alone, CPU ms": rule[name] * 1000 for name in PARTS},
    }


if __name__ == "__main__":
    for what, figure in measure().items():
        print(f"| {what} | {figure:.3g} |")
