"""What looking for rules costs before an attempt, against asking git and walking the files."""

import random
import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from hornbook.agents.rule_leaks import RuleTexts, in_files
from hornbook.commits.change import changed_names
from hornbook.rules.document_reader import is_rule_file

FILES, RULES, CHANGED = 5000, 200, 10
WORDS = [f"{a}{b}" for a in ("ser", "han", "mod", "val", "con") for b in ("ver", "dle", "ule", "t")]


def measure() -> dict[str, float]:
    """Ratios of CPU time, that of git's processes included."""
    chance = random.Random(7)  # texts, no secrets
    with tempfile.TemporaryDirectory(prefix="hornbook-bench-") as place:
        root = Path(place)
        for number in range(FILES):
            path = root / f"part{number % 100}" / f"file{number}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(_text(chance, 4000))
        _git(root, "init", "-q")
        _git(root, "config", "gc.auto", "0")
        first = _committed(root)
        for number in range(CHANGED):
            (root / f"part{number}" / f"file{number}.py").write_text(_text(chance, 4000))
        second = _committed(root)
        rules = {f"rule{number}": _text(chance, 3000, "R") for number in range(RULES)}
        texts: list[RuleTexts] = []
        building = _cpu(lambda: texts.append(RuleTexts(rules)))
        known = texts[0]
        status = _cpu(lambda: _git(root, "status", "--porcelain"))
        walking = _cpu(lambda: sum(each.stat().st_size for each in root.rglob("*.py")))
        reading = _cpu(lambda: sum(len(p.read_bytes()) for p in root.rglob("*.py")))
        whole = _cpu(lambda: in_files(known, root, is_host_file=is_rule_file))
        again = _cpu(lambda: _again(known, root, first, second))
        prompt = _text(chance, 200_000)
        asked = _cpu(lambda: list(known.runs(prompt)))
    return {
        "first look at all files / git status": whole / status,
        "first look / walking and stat-ing the files": whole / walking,
        "first look / reading the files": whole / reading,
        f"a later look ({CHANGED} changed files) / git status": again / status,
        "a prompt of 200000 characters / git status": asked / status,
        f"indexing {RULES} rules of 3000 characters / git status": building / status,
        "git status, ms": status * 1000,
    }


def _again(known: RuleTexts, root: Path, first: str, second: str) -> None:
    names = changed_names(root, first, second)
    in_files(known, root, names, is_host_file=is_rule_file)


def _text(chance: random.Random, length: int, mark: str = "") -> str:
    words = (mark + chance.choice(WORDS) + str(chance.randrange(1000)) for _ in range(length // 6))
    return " ".join(words)[:length]


def _committed(root: Path) -> str:
    _git(root, "add", "-A")
    _git(root, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "x")
    return _git(root, "rev-parse", "HEAD").strip()


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _cpu(work: Callable[[], object]) -> float:
    """The CPU seconds of the best of three, children included."""
    return min(_once(work) for _ in range(3))


def _once(work: Callable[[], object]) -> float:
    before = _spent()
    work()
    return _spent() - before


def _spent() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)
