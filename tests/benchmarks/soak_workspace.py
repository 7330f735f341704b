"""Documents that show when an answer is torn: whatever one of them says carries the same number.

Every text of a rule says `Rule R number N`; a rewrite makes N larger and changes how many chunks
there are. So an answer can be judged alone: two numbers of one rule in it are a torn document. And
what one version of the graph says of a rule never changes, whoever asks and by whichever way.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

SAYS = re.compile(r"Rule (\d+) number (\d+)")
FOLDER = "docs/sops"
# As an operator would for so many clients: streams for each of them, and nothing logged but errors.
CONFIG = """\
chunk_minimum: 10
chunk_target: 40
chunk_maximum: 80
serve:
  log: errors
  streams: {streams}
"""
_WORDS = "Every handler names what failed, and every test proves what it claims. " * 2


def rule_id(rule: int) -> str:
    """The id of a rule's document."""
    return f"source.doc.sops.rule-{rule:04}"


def text_of(rule: int, number: int) -> str:
    """What the document of a rule says at a number."""
    said = f"Rule {rule} number {number}"
    parts = "".join(
        f"\n## Part {part}\n\n{said} in part {part}. {_WORDS}\n" for part in range(2 + number % 4)
    )
    return (
        f"---\ntitle: {said}\napplies_to: 'area{rule}/**'\nseverity: warning\n---\n"
        f"# {said}\n\n{said} begins.\n\n## Requirements\n\n1. {said} is kept\n{parts}"
    )


class Ground:
    """A folder of rules that are rewritten while they are served."""

    def __init__(self, root: Path, rules: int, *, streams: int) -> None:
        self.root = root
        self.rules = rules
        self.written = Counter[int]()
        """The number that each rule's file has."""
        (root / FOLDER).mkdir(parents=True)
        (root / ".hornbook").mkdir()
        (root / ".hornbook" / "config.yaml").write_text(CONFIG.format(streams=streams))
        for rule in range(rules):
            self.rewrite(rule)
            (root / f"area{rule}").mkdir()
            (root / f"area{rule}" / "main.go").write_text("package main\n", encoding="utf-8")

    def path(self, rule: int) -> Path:
        """Where a rule's document lies."""
        return self.root / FOLDER / f"rule-{rule:04}.md"

    def rewrite(self, rule: int) -> None:
        """Give a rule its next number; the file is the old one or the new one, never half."""
        self.written[rule] += 1
        draft = self.root / ".hornbook" / f"draft-{threading.get_ident()}"
        draft.write_text(text_of(rule, self.written[rule]), encoding="utf-8")
        draft.replace(self.path(rule))


class Seen:
    """What was answered, by version of the graph; anything that does not fit is a failure."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[tuple[str, int], int] = {}
        self.versions: set[str] = set()
        self.answers: Counter[str] = Counter()
        self.turned_away: Counter[str] = Counter()
        self.failures: list[str] = []
        self.documents = 0

    def fail(self, what: str) -> None:
        """Note that something is wrong."""
        with self._lock:
            self.failures.append(what[:500])

    def answered(self, kind: str) -> None:
        """Count an answer."""
        with self._lock:
            self.answers[kind] += 1

    def refused(self, reason: str) -> None:
        """Count a refusal that tells when to come again."""
        with self._lock:
            self.turned_away[reason] += 1

    def agree(self, kind: str, version: str, numbers: Mapping[int, int]) -> None:
        """Compare what an answer from a version says with all that was ever said from it."""
        with self._lock:
            self.versions.add(version)
            self.documents += len(numbers)
            for rule, number in numbers.items():
                before = self._numbers.setdefault((version, rule), number)
                if before != number:
                    self.failures.append(
                        f"{kind}: version {version} says number {number} of rule {rule}, "
                        f"and said {before} before"
                    )


def numbers_in(texts: Iterable[str]) -> tuple[dict[int, int], list[str]]:
    """The number of each rule that some texts speak of, and the rules that are torn."""
    found: dict[int, set[int]] = {}
    for text in texts:
        for rule, number in SAYS.findall(text):
            found.setdefault(int(rule), set()).add(int(number))
    torn = [f"rule {rule} with numbers {sorted(each)}" for rule, each in found.items() if len(each) > 1]  # fmt: skip
    return {rule: max(each) for rule, each in found.items()}, torn
