"""How many of sixty rules reach the model: under the limits that tools document, and with ours."""

import tempfile
from itertools import accumulate
from pathlib import Path

from hornbook import Workspace

RULES = 60
# What each tool says it reads of the rules of a file: characters, or bytes for the last one.
LIMITS = {
    "a review that reads the first 4 000 characters": 4_000,
    "an editor that reads 12 000 characters of a rule file": 12_000,
    "an agent that reads 32 KiB of instruction files": 32 * 1024,
}


def _rule(number: int) -> str:
    steps = "".join(
        f"{step}. Component {number} must name part {step}, say why it failed, and leave nothing "
        "half done for its caller.\n"
        for step in range(1, 8)
    )
    return f"## Rule {number}\n\nEvery change to component {number} keeps these.\n\n{steps}\n"


def measure() -> dict[str, float]:
    """The rules that are whole in the prompt, of sixty in one long file; ours as sixty SOPs."""
    texts = [_rule(number) for number in range(RULES)]
    ends = list(accumulate(len(text) for text in texts))
    found: dict[str, float] = {
        f"whole rules of {RULES}, {name}": sum(end <= limit for end in ends)
        for name, limit in LIMITS.items()
    }
    with tempfile.TemporaryDirectory(prefix="hornbook-bench-") as folder:
        root = Path(folder)
        sops = root / ".hornbook/sources/docs/sops"
        sops.mkdir(parents=True)
        for number, text in enumerate(texts):
            (sops / f"rule-{number:02}.md").write_text(f"---\napplies_to: '**'\n---\n{text}")
        with Workspace.open(root) as work:
            work.ingest()
            packet = work.review_packet(["a.py"])
            passes = [each.context for each in packet.passes()]
    whole = sum(text.strip() in (each.text or "") for text in texts for each in passes)
    found[f"whole rules of {RULES}, hornbook"] = whole
    found["passes of the reserve's 4 000 tokens"] = len(passes)
    found["characters of the sixty rules"] = ends[-1]
    return found
