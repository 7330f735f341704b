"""A judgement for GitHub Actions: annotations of the changed lines, and the summary of a job."""

import re
from collections.abc import Iterable, Iterator, Sequence

from hornbook.review.formats.plain_text import clipped, inside, one_line, plain
from hornbook.review.formats.text import headline, judged_units, place, what_next
from hornbook.review.judgement import Finding, Judgement, ReviewProblem, Ruling

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
SILENT = frozenset({"passed", "not_applicable"})
MARKS = {
    Ruling.APPROVED: "✅",
    Ruling.REJECTED: "❌",
    Ruling.ESCALATE: "✋",
    Ruling.INVALID: "⛔",
}
MESSAGE_LIMIT = 4000
CELL_LIMIT = 400
FEEDBACK_LIMIT = 20_000
# A table longer than this is not read at a glance, and GitHub refuses a summary over a megabyte.
ROW_LIMIT = 200
SUMMARY_LIMIT = 900_000
TOO_LONG = "(A part is too long to be shown here; the JSON format has it.)"
_MARKDOWN = re.compile(r"^-|_|(?<=www)\.|[^\w\s.,;/()'\"?-]", re.IGNORECASE)


def annotations(judgement: Judgement) -> str:
    """Workflow commands, one line each, the gravest first: GitHub shows ten of each kind.

    The outcome, every problem and warning, and every finding that is not a pass have a line.
    No text of a model can end its line and start another command.
    """
    lines = [_of_the_outcome(judgement)]
    invalid = judgement.outcome is Ruling.INVALID
    lines += (_of_a_problem(p, "error" if invalid else "warning") for p in judgement.problems)
    lines += (_of_a_problem(each, "warning") for each in judgement.warnings)
    told = (each for each in judgement.findings if each.status not in SILENT)
    lines += sorted(map(_of_a_finding, told), key=_gravity)
    return "".join(f"{line}\n" for line in lines)


def summary(judgement: Judgement) -> str:
    """Markdown for the summary of a job: outcome, reasons, a table of the rules, what is next."""
    shown = f"## {MARKS[judgement.outcome]} {_escaped(headline(judgement))}\n"
    size = len(shown.encode())
    for part in filter(None, _parts(judgement)):
        fits = size + len(part.encode()) < SUMMARY_LIMIT
        size += len(part.encode()) if fits else 0
        shown += f"\n{part if fits else TOO_LONG}\n"
    return shown


# Annotations


def _of_the_outcome(judgement: Judgement) -> str:
    approved = judgement.outcome is Ruling.APPROVED
    said = [headline(judgement), *judgement.explanation, what_next(judgement)]
    return _command(
        "notice" if approved else "error",
        {"title": f"hornbook: {judgement.outcome}"},
        "\n".join(said),
    )


def _of_a_problem(problem: ReviewProblem, command: str) -> str:
    about = f" {problem.sop_id}" if problem.sop_id else ""
    return _command(command, {"title": f"{problem.code}{about}"}, problem.message)


def _of_a_finding(finding: Finding) -> str:
    properties: dict[str, str] = {}
    if finding.path and inside(finding.path):
        properties["file"] = finding.path
        if finding.line_after is not None and finding.line_after >= 1:
            properties["line"] = str(finding.line_after)
    properties["title"] = f"{finding.status}: {finding.about or 'hornbook'}"
    return _command(COMMANDS.get(finding.severity, "error"), properties, finding.message)


def _gravity(line: str) -> int:
    return next(
        rank for rank, name in enumerate(COMMANDS.values()) if line.startswith(f"::{name} ")
    )


def _command(name: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    said = clipped(plain(message).strip(), MESSAGE_LIMIT) or "(no message)"
    return f"::{name} {listed}::{_data(said)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")


# Summary


def _parts(judgement: Judgement) -> Iterator[str]:
    yield _list(judgement.explanation)
    yield _table(("problem with the review", "rule", "remedy"), _problem_rows(judgement.problems))
    yield _table(("warning", "rule", "what"), _problem_rows(judgement.warnings))
    yield _table(("status", "severity", "rule", "place", "what"), list(_rows(judgement)))
    if judgement.disagreements:
        yield "**Reviewers disagree**"
        yield _list(judgement.disagreements)
    if judgement.notes:
        yield "**Notes**"
        yield _list(judgement.notes)
    if judgement.feedback.strip():
        yield "**Feedback**"
        lines = clipped(plain(judgement.feedback), FEEDBACK_LIMIT).split("\n")
        yield "\n".join(f"> {_escaped(line.strip())}" for line in lines)
    yield f"**Next:** {_escaped(what_next(judgement))}"


def _problem_rows(problems: Iterable[ReviewProblem]) -> list[Sequence[str]]:
    return [(_code(each.code), _code(each.sop_id or ""), _cell(each.message)) for each in problems]


def _rows(judgement: Judgement) -> Iterator[Sequence[str]]:
    told = sorted(judgement.findings, key=lambda each: each.status in SILENT)
    for each in told:
        cells = (each.status.replace("_", " "), each.severity)
        about = _code(each.about) if each.sop_id else "–"
        yield (*map(_cell, cells), about, _code(place(each)), _cell(each.message))
    answered = {each.about for each in judgement.findings}
    for name, unit in judged_units(judgement).items():
        if name not in answered:
            yield ("not judged", _cell(unit.severity), _code(name), "", "")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [heads, ["---"] * len(heads), *rows[:ROW_LIMIT]]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    more = len(rows) - ROW_LIMIT
    return f"{table}\n\n{more} more; the JSON format has them all." if more > 0 else table


def _list(texts: Iterable[str]) -> str:
    return "\n".join(f"- {_cell(text)}" for text in texts)


def _cell(text: str) -> str:
    return _escaped(clipped(one_line(text), CELL_LIMIT))


def _code(text: str) -> str:
    told = clipped(one_line(text), CELL_LIMIT)
    return f"<code>{_escaped(told)}</code>" if told else ""


def _escaped(text: str) -> str:
    """The text with every character that Markdown, HTML or a mention could use as a number."""
    return _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", text)
