"""Agents that do what a script says, the same each time: for trying the loop without a model."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

from hornbook.agents.assignment import Answer, Assignment, Record, Role, Usage
from hornbook.agents.command_output import read_forms
from hornbook.agents.script import Act, Script
from hornbook.text.globs import parse_set

_SECTION = re.compile(r"^# (.+)$", re.MULTILINE)
_QUOTED = re.compile(r"^\[begin (\S.*) (\S+)\]\n(.*?)^\[end \1 \2\]$", re.MULTILINE | re.DOTALL)
_SHOWN_ONLY = re.compile(r"it is not answered here\.\n\[begin (\S.*) \S+\]$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_SHORTEST = 8
_LOOK = 0.2
"""Seconds after which one that hangs looks whether its run is over."""
_IN_VIEW = 20
_MOST_PIECES = 5
_MOST_FILES = 20
RULES = "Rules that bind this change"
CHANGE = "The change under review"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the change that can be cited."""

    path: str
    number: int
    text: str


def write_review(prompt: str, act: Act) -> str:
    """The review of a prompt's change: one entry for each rule, each citing a line of its own.

    A large rule has one for each of its sections that the prompt asks for.
    """
    shown = set(_SHOWN_ONLY.findall(prompt))
    rules = [name for name, _ in _quoted(prompt, RULES) if name not in shown]
    lines = sorted(cited_lines(prompt), key=lambda each: (each.path, each.number))
    entries = [_entry(rule, place, rules, lines, act) for place, rule in enumerate(rules)]
    review: dict[str, object] = {
        "verdict": "approved" if act.verdict == "approved" else "rejected",
        "rejection_type": None if act.verdict == "approved" else act.verdict,
        "sop_review": entries,
        "confidence": act.confidence,
        "feedback": _feedback(act, lines),
        "patterns": [],
    }
    return _spoilt(review, entries, act.defect)


def cited_lines(prompt: str) -> Iterator[Line]:
    """Every line that the change leaves behind and that is long enough to be quoted."""
    for path, patch in _quoted(prompt, CHANGE):
        number = 0
        for line in patch.split("\n"):
            hunk = _HUNK.match(line)
            if hunk is not None:
                number = int(hunk[1])
            elif number and line[:1] in {"+", " "}:
                if len("".join(line[1:].split())) >= _SHORTEST:
                    yield Line(path, number, line[1:].strip())
                number += 1


def _quoted(prompt: str, heading: str) -> list[tuple[str, str]]:
    """The quoted units of one section, by id; a heading inside of a unit is no section."""
    found: list[tuple[str, str]] = []
    masked = _QUOTED.sub(lambda unit: re.sub(r"[^\n]", " ", unit[0]), prompt)
    sections = list(_SECTION.finditer(masked))
    for place, section in enumerate(sections):
        if section[1] != heading:
            continue
        end = sections[place + 1].start() if place + 1 < len(sections) else len(prompt)
        units = _QUOTED.finditer(prompt, section.end(), end)
        found += [(_plain_name(unit[1]), unit[3]) for unit in units]
    return found


def _plain_name(name: str) -> str:
    """What a prompt's name is the name of: files stand there as JSON strings."""
    return str(json.loads(name)) if name.startswith('"') else name


def _entry(
    rule: str, place: int, rules: list[str], lines: list[Line], act: Act
) -> dict[str, object]:
    violated = rule in act.violated
    counted = f"rule {place + 1} of {len(rules)}"
    if not lines:
        reason = f"The change leaves no line behind that {counted} could be judged by."
        return _as_entry(rule, "not_applicable", reason, [])
    line = lines[place % len(lines)]
    words = f"{line.path}:{line.number} was read for {counted}."
    cited = [
        {"path": each.path, "start": each.number, "end": each.number, "quote": each.text[:200]}
        for each in (line, *_of_other_files(line, lines, place))
    ] + list(_everything(lines))
    found = _as_entry(rule, "violated" if violated else "passed", words, cited)
    if violated:
        found["violations"] = [f"{line.path} line {line.number} goes against it."]
    return found


def _of_other_files(line: Line, lines: list[Line], place: int) -> Iterator[Line]:
    """A line of each other file, another one for each rule."""
    for path in sorted({each.path for each in lines} - {line.path}):
        own = [each for each in lines if each.path == path]
        yield own[place % len(own)]


def _everything(lines: list[Line]) -> Iterator[dict[str, object]]:
    """All lines in pieces that are short enough to have been read, so that none is passed over."""
    for path in sorted({each.path for each in lines})[:_MOST_FILES]:
        numbers = [each.number for each in lines if each.path == path]
        for start in range(min(numbers), max(numbers) + 1, _IN_VIEW)[:_MOST_PIECES]:
            end = min(start + _IN_VIEW - 1, max(numbers))
            yield {"path": path, "start": start, "end": end, "quote": ""}


def _as_entry(
    rule: str, status: str, evidence: str, citations: list[dict[str, object]]
) -> dict[str, object]:
    return {
        "sop_id": rule,
        "status": status,
        "evidence": evidence,
        "violations": [],
        "citations": citations,
        "search": None,
        "excused": [],
    }


def _feedback(act: Act, lines: list[Line]) -> str:
    if act.feedback is not None:
        return act.feedback
    if act.verdict == "approved":
        return "Every rule was looked at."
    where = f"{lines[0].path}:{lines[0].number}" if lines else "the change"
    return f"The change is {act.verdict}: begin at {where}."


def _spoilt(review: dict[str, object], entries: list[dict[str, object]], defect: str | None) -> str:
    """The review as text, with the one thing wrong that was asked for."""
    if defect == "empty":
        return ""
    if defect == "unparsable":
        return json.dumps(review)[:-20]
    if defect == "low_confidence":
        review["confidence"] = 0.3
    elif defect == "missing_feedback":
        review |= {"verdict": "rejected", "rejection_type": "fixable", "feedback": ""}
    elif defect is not None:
        _spoil_coverage(entries, defect)
        _spoil_evidence(entries, defect)
    return json.dumps(review, ensure_ascii=False, indent=2)


def _spoil_coverage(entries: list[dict[str, object]], defect: str) -> None:
    if defect == "missing_sop":
        entries[:] = entries[:-1]
    elif defect == "unknown_sop":
        entries.append(_as_entry("source.doc.sops.no-such-rule", "not_applicable", "None.", []))
    elif defect == "duplicate_sop":
        entries.extend(entries[:1])


def _spoil_evidence(entries: list[dict[str, object]], defect: str) -> None:
    for entry in entries if defect == "rubber_stamp" else entries[:1]:
        if defect == "no_evidence":
            entry |= {"evidence": " ", "citations": []}
        elif defect == "unresolved_evidence":
            entry |= {"evidence": "Seen at lines 45, 67.", "citations": []}
        elif defect == "rubber_stamp":
            entry |= {key: entries[0][key] for key in ("status", "evidence", "citations")}
        elif defect == "violated_but_approved":
            entry |= {"status": "violated", "violations": ["It goes against the rule."]}


_HASH = (".py", ".rb", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".r", ".pl")
_SLASHES = (".go", ".js", ".jsx", ".ts", ".tsx", ".rs", ".java", ".c", ".h", ".cpp", ".cs", ".kt")


def default_work(assignment: Assignment, exists: dict[str, str | None]) -> dict[str, str]:
    """Path to text of every file that is to be written; `exists` has the texts that are there."""
    written: dict[str, str] = {}
    for path in assignment.files:
        written[path] = _edited(path, exists.get(path), assignment)
    for path in assignment.files:
        if exists.get(path) is None:
            for test, text in _tests(path):
                if test not in written and exists.get(test) is None and _allowed(test, assignment):
                    written[test] = text
    return written


def tests_for(assignment: Assignment) -> list[str]:
    """Where the tests of the task's files would stand."""
    return [test for path in assignment.files for test, _ in _tests(path)]


def _edited(path: str, text: str | None, assignment: Assignment) -> str:
    note = f"{assignment.task_id}, attempt {assignment.attempt}"
    if text is None:
        return _created(path, note)
    body = text if not text or text.endswith("\n") else text + "\n"
    return body + _comment(path, note)


def _created(path: str, note: str) -> str:
    pure = PurePosixPath(path)
    name = _name(pure)
    if pure.suffix == ".py":
        if _is_test(pure):
            return f'"""Made for {note}."""\n\n\ndef {name}() -> None:\n    assert __file__\n'
        says = f'    """Say what it is for."""\n    return "{note}"\n'
        return f'"""Made for {note}."""\n\n\ndef {name}() -> str:\n{says}'
    if pure.suffix == ".go":
        package = pure.parent.name.replace("-", "") or "main"
        says = f'func {name.title()}() string {{\n\treturn "{note}"\n}}\n'
        return f"package {package}\n\n// {name.title()} says what it is for.\n{says}"
    return _comment(path, note)


def _comment(path: str, note: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _HASH:
        return f"# Worked on for {note}.\n"
    if suffix in _SLASHES:
        return f"// Worked on for {note}.\n"
    if suffix in {".md", ".html", ".xml"}:
        return f"<!-- Worked on for {note}. -->\n"
    if suffix in {".css", ".sql"}:
        return f"/* Worked on for {note}. */\n"
    return f"Worked on for {note}.\n"


def _tests(path: str) -> Iterator[tuple[str, str]]:
    """A test beside new code that really runs it."""
    pure = PurePosixPath(path)
    name = _name(pure)
    if _is_test(pure):
        return
    if pure.suffix == ".py":
        text = (
            f'"""What {pure.name} answers."""\n\n'
            "import runpy\nfrom pathlib import Path\n\n\n"
            f"def test_{name}_answers() -> None:\n"
            f'    path = Path(__file__).parents[1] / "{path}"\n'
            f'    assert runpy.run_path(str(path))["{name}"]()\n'
        )
        yield f"tests/test_{name}.py", text
    elif pure.suffix == ".go":
        package = pure.parent.name.replace("-", "") or "main"
        title = name.title()
        text = (
            f'package {package}\n\nimport "testing"\n\n'
            f"func Test{title}(t *testing.T) {{\n"
            f'\tif {title}() == "" {{\n\t\tt.Fatal("it says nothing")\n\t}}\n}}\n'
        )
        yield pure.with_name(f"{pure.stem}_test.go").as_posix(), text


def _name(path: PurePosixPath) -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in path.stem).strip("_")
    return plain if plain and not plain[0].isdigit() else f"made_{plain}"


def _is_test(path: PurePosixPath) -> bool:
    return path.stem.startswith("test_") or path.stem.endswith("_test")


def _allowed(path: str, assignment: Assignment) -> bool:
    limits = assignment.constraints
    if limits.inside and parse_set(limits.inside).match(path) is None:
        return False
    return all(
        parse_set(globs).match(path) is None for globs in (limits.outside, limits.do_not_touch)
    )


EXIT_CODE = 3


class ScriptedDeath(RuntimeError):
    """An agent that dies as its script says: what a bug in an agent looks like to the loop."""


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent that follows a script; without one it does the least that is right.

    `state` is where it counts how often it was asked with the same key, so that what happens
    only a few times happens no more after a restart.
    """

    script: Script
    state: Path

    @property
    def name(self) -> str:
        """What the agent is called."""
        return "scripted"

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Do what the script says for this role, task and attempt.

        Raises:
            ScriptedDeath: The script says so.
        """
        act = self.script.act(assignment.role, assignment.task_id, assignment.attempt)
        asked = self._count(assignment)
        log = self._printed(act, assignment)
        started = {"kind": "agent.started", "agent": self.name, "role": assignment.role.value}
        record(started | ({"log": str(log)} if log else {}))
        dies = act.die if asked <= act.times else None
        if act.rate_limit is not None and asked <= act.times:
            said = f"rate limited, for the {asked}. time of {act.times}: try again later."
            return Answer(error=said, retry_after=act.rate_limit)
        if act.hang:
            return _hang(assignment)
        if dies and not act.after_work:
            return _die(dies)
        answer = self._answer(act, assignment)
        if dies:
            return _die(dies)
        if act.cost is not None:
            usage = replace(answer.usage, cost=act.cost, currency="USD")
            answer = replace(answer, usage=usage)
        record({"kind": "agent.ended", "agent": self.name, "problems": []})
        return answer

    def _count(self, assignment: Assignment) -> int:
        """How often this attempt was asked for, this time included; kept on disk."""
        path = self._place(assignment, "asked")
        self.state.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="ascii") as log:
            log.write(".")
            log.flush()
            os.fsync(log.fileno())
        return path.stat().st_size

    def _printed(self, act: Act, assignment: Assignment) -> Path | None:
        """Where what the agent prints stands; None if it prints nothing."""
        if not act.prints:
            return None
        path = self._place(assignment, "out")
        path.write_text("".join(f"{line}\n" for line in act.prints), encoding="utf-8")
        return path

    def _place(self, assignment: Assignment, what: str) -> Path:
        """A file about one attempt's assignment."""
        digest = sha256(f"{assignment.role} {assignment.key}".encode()).hexdigest()[:24]
        return self.state / f"{digest}.{what}"

    def _answer(self, act: Act, assignment: Assignment) -> Answer:
        if assignment.role is Role.DEVELOPER:
            text = _develop(act, assignment)
        elif act.answer is not None:
            text = act.answer
        elif assignment.role is Role.REVIEWER:
            text = write_review(assignment.prompt, act)
        else:
            text = ""
        if not text.strip() and assignment.role is not Role.REVIEWER:
            said = "the script has no answer for this role: give one with `answer`."
            return Answer(error=said)
        forms = read_forms(text)
        claimed = forms.files if act.claims is None else act.claims
        tokens = Usage(len(assignment.prompt) // 4, len(text) // 4, 1)
        return forms.answer(text, tokens, None if claimed is None else tuple(claimed))


def _develop(act: Act, assignment: Assignment) -> str:
    folder = Path(assignment.folder)
    if act.do is None and act.answer is None:
        return _do_default_work(folder, assignment)
    operations = act.do or ()
    for name, details in operations:
        _perform(folder, name, dict(details))
    return act.answer or f"Did {len(operations)} operations."


def _do_default_work(folder: Path, assignment: Assignment) -> str:
    wanted = sorted({*assignment.files, *tests_for(assignment)})
    work = default_work(assignment, {path: _read(folder / path) for path in wanted})
    for path, text in work.items():
        _write(folder / path, text)
    return f"Worked on {', '.join(sorted(work)) or 'nothing'}."


def _perform(folder: Path, name: str, details: dict[str, str]) -> None:
    """One operation, as a careless agent would do it: links are followed."""
    place = folder / details["path"]
    if name == "write":
        _write(place, details["text"])
    elif name == "append":
        _write(place, (_read(place) or "") + details["text"])
    elif name == "delete":
        place.unlink()
    elif name == "rename":
        target = folder / details["to"]
        target.parent.mkdir(parents=True, exist_ok=True)
        place.rename(target)
    elif name == "symlink":
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(details["to"])
    else:
        place.chmod(int(details["mode"], 8))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _die(how: str) -> Answer:
    if how == "raise":
        raise ScriptedDeath("the script lets the agent die")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return Answer(error=f"it answered nothing (exit code {EXIT_CODE})", exit_code=EXIT_CODE)


def _hang(assignment: Assignment) -> Answer:
    """Do nothing until the time is up, which is what the loop sees of a command that hangs."""
    seconds = assignment.limits.seconds
    until, nothing = time.monotonic() + seconds, threading.Event()
    while (left := until - time.monotonic()) > 0:
        if assignment.is_over():
            return Answer(error="its run was ended, and so was it.")
        nothing.wait(min(left, _LOOK))
    return Answer(error=f"not done after {seconds} s: it was ended with all that it had started.")
