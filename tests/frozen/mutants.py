"""`make mutants`: thirty small faults over all parts, each of which some test must notice.

A fault is found by its text in any file below `src`, and its tests by their names in any file below
`tests`, so that both may move. Where a text was reworded or a test renamed, the fault is not tried
and the run fails: reword it here too. Each is applied to one copy of the tree and taken back. No
fault may make a loop endless: nothing here ends a test that hangs.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
NOT_COPIED = (".venv", ".git", ".hypothesis", ".mypy_cache", ".ruff_cache", "__pycache__", "dist")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: the text that is replaced, and the tests that are to notice it."""

    name: str
    text: str
    fault: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "globs: a question mark crosses folders",
        '    return "[^/]"\n',
        '    return "(?s:.)"\n',
        ("test_pattern_fits_as_the_table_says",),
    ),
    Mutant(
        "frontmatter: lines are counted from the fence",
        "    return line + _FIRST_LINE - 1\n",
        "    return line\n",
        ("test_a_repeated_key_names_both_lines_and_the_value_used",),
    ),
    Mutant(
        "chunks: a heading stands under its sibling",
        "        above = [title for title in above if title.level < heading.level]\n",
        "        above = [title for title in above if title.level <= heading.level]\n",
        ("test_section_is_the_path_of_headings",),
    ),
    Mutant(
        "ids: the last path takes the plain id",
        "        holders.setdefault(desired[path], path)\n",
        "        holders[desired[path]] = path\n",
        ("test_the_first_path_keeps_the_plain_id",),
    ),
    Mutant(
        "binding: all but the nearest file bind",
        '.path.count("/") == depth\n',
        '.path.count("/") != depth\n',
        ("test_the_nearest_agents_file_alone_binds_if_so_set",),
    ),
    Mutant(
        "sizing: the border itself is too large",
        "    return estimate * 100 > given.available * budget.task_percent\n",
        "    return estimate * 100 >= given.available * budget.task_percent\n",
        ("test_a_task_of_just_the_limit_fits_and_a_token_more_does_not",),
    ),
    Mutant(
        "assembly: rules over the reserve are let in",
        "            if needed > given\n",
        "            if needed > 2 * given\n",
        (
            "test_every_byte_of_every_rule_is_in_the_text_or_there_is_none",
            "test_files_are_split_into_the_fewest_groups_that_fit",
        ),
    ),
    Mutant(
        "receipts: only the length of a section is looked at",
        '        return len(data) != length or sha256(data).hexdigest() != place["sha256"]\n',
        "        return len(data) != length\n",
        ("test_one_changed_byte_anywhere_in_the_prompt_is_found_and_located",),
    ),
    Mutant(
        "evidence: lines behind the end of a file are cited",
        "    exists = 1 <= place.start <= place.end <= len(reviewed.lines(place.path, old=place.old))\n",
        "    exists = 1 <= place.start <= place.end\n",
        ("test_a_review_gets_the_outcome_it_deserves",),
    ),
    Mutant(
        "judging: a doubt does not keep from approving",
        "    if problems or case.questions:\n",
        "    if case.questions:\n",
        ("test_a_review_gets_the_outcome_it_deserves",),
    ),
    Mutant(
        "gates: options that check nothing are accepted",
        "        if option in known:\n            return Hollow(word, known[option])\n",
        "        if option in known and not word:\n            return Hollow(word, known[option])\n",
        ("test_a_command_that_cannot_fail_is_refused_with_piece_and_remedy",),
    ),
    Mutant(
        "floors: what is not in scope passes",
        "        if constraints.inside and inside.match(path) is None:\n",
        "        if constraints.inside and not path:\n",
        ("test_a_path_out_of_scope_is_named_with_its_reason",),
    ),
    Mutant(
        "guard: a path outside of the root is not judged",
        "            return self._outside_root(place.absolute)\n",
        "            return None\n",
        ("test_paths_are_judged_where_they_lead",),
    ),
    Mutant(
        "events: the hash of an event is not looked at",
        '        (event.hash == digest(_facts(event)), "its content',
        '        (bool(event.hash), "its content',
        ("test_any_change_is_found_on_its_line",),
    ),
    Mutant(
        "projection: superseded decisions are current",
        "        return tuple(each for each in self.decisions if each.superseded_by is None)\n",
        "        return tuple(self.decisions)\n",
        ("test_a_plan_is_what_its_events_add_up_to",),
    ),
    Mutant(
        "workflow: a judge that died is taken for a refusal",
        "    if isinstance(result, Erred) and step.action.rule.judges:\n",
        "    if isinstance(result, Erred) and not step.action.subject:\n",
        (
            "test_gates_that_cannot_run_escalate_and_cost_the_developer_nothing",
            "test_a_reviewer_that_dies_is_told_to_a_person",
        ),
    ),
    Mutant(
        "workflow: a retry counts twice",
        "                run = replace(run, iteration=run.iteration + 1)\n",
        "                run = replace(run, iteration=run.iteration + 2)\n",
        (
            "test_fixable_twice_then_approved",
            "test_the_third_gate_failure_escalates_with_the_gates_output",
        ),
    ),
    Mutant(
        "sparql: another server is asked",
        '    if getattr(node, "name", "") == "ServiceGraphPattern":\n        return True\n',
        '    if getattr(node, "name", "") == "ServiceGraphPattern":\n        return False\n',
        ("test_sparql_never_asks_another_server",),
    ),
    Mutant(
        "tokens: any token is the first one",
        "            if hmac.compare_digest(known, digest) and token.is_good(self._clock()):\n",
        "            if token.is_good(self._clock()):\n",
        ("test_without_a_token_there_is_no_answer",),
    ),
    Mutant(
        "host check: a request without a host is answered",
        "        if not self._known(_without_port(host)):\n",
        "        if host and not self._known(_without_port(host)):\n",
        ("test_a_rebound_name_gets_nowhere",),
    ),
    Mutant(
        "host rebinding: a name that begins as ours is ours",
        "        if name in self.names:\n",
        "        if name.startswith(tuple(self.names)):\n",
        ("test_a_rebound_name_gets_nowhere",),
    ),
    Mutant(
        "publishing: the pointer stays where it was",
        "        _write(self._pointer, draft.folder.name.encode())\n",
        "        _write(self._pointer, (self.published() or draft.folder.name).encode())\n",
        ("test_an_edit_keeps_the_id_and_adds_a_revision",),
    ),
    Mutant(
        "export: in whatever order the store has",
        "        return sorted(line for line in lines if not line.endswith(_OF_ONTOLOGY))\n",
        "        return [line for line in lines[::-1] if not line.endswith(_OF_ONTOLOGY)]\n",
        ("test_an_export_is_in_the_order_of_its_lines",),
    ),
    Mutant(
        "generations: one that is read is deleted",
        "            if place.name != published and _unread(place):\n",
        "            if place.name != published:\n",
        ("test_a_generation_that_is_read_stays_on_disk_until_it_is_let_go",),
    ),
    Mutant(
        "paths: two dots at the start are dropped",
        """                raise UsageError(f"{path!r} leads out of the root: name a path inside it.")
            parts.pop()
""",
        "                continue\n            parts.pop()\n",
        ("test_a_path_that_leads_out_is_refused",),
    ),
    Mutant(
        "settings: an unknown key is ignored",
        '        self.complain(line, f"unknown setting `{key}`: {hint}")\n',
        '        self.lines.setdefault(f"{key}: {hint}", line)\n',
        ("test_a_wrong_setting_is_a_configuration_error_with_line_and_nearest_name",),
    ),
    Mutant(
        "templates: a task may look anew and inherit a part",
        '        if fresh != FreshContext.ENABLED or inherit not in {"full", "subset"}:\n',
        '        if fresh != FreshContext.ENABLED or inherit not in {"full"}:\n',
        ("test_every_case_of_the_table_holds",),
    ),
    Mutant(
        "blindness: a run of forty is no leak",
        "        if end - start >= RUN and _says_something(text[start:end]):\n",
        "        if end - start > RUN and _says_something(text[start:end]):\n",
        ("test_a_run_of_forty_is_always_found_wherever_it_stands",),
    ),
    Mutant(
        "seals: an edited record is believed",
        "    if record[key] != seal_of(record, key):\n",
        "    if not record[key]:\n",
        (
            "test_an_edited_record_is_told_with_its_path_and_counts_nowhere",
            "test_an_edited_receipt_is_told",
        ),
    ),
    Mutant(
        "plan check: an empty section is only a warning",
        '        problems.error(read.lines.get(name), "empty_section", message)\n',
        '        problems.warning(read.lines.get(name), "empty_section", message)\n',
        ("test_a_plan_that_leaves_out_what_it_must_say_is_not_fit",),
    ),
)


def sources(root: Path) -> dict[Path, str]:
    """The text of every file of the source."""
    return {path: path.read_text(encoding="utf-8") for path in sorted((root / "src").rglob("*.py"))}


def place_of(mutant: Mutant, texts: Mapping[Path, str]) -> Path:
    """The one file of the source that has the mutant's text.

    Raises:
        LookupError: It stands nowhere, or more than once.
    """
    hits = {path: count for path, text in texts.items() if (count := text.count(mutant.text))}
    if sum(hits.values()) != 1:
        where = ", ".join(f"{path} ×{count}" for path, count in hits.items())
        raise LookupError(
            f"{mutant.name}: its text stands in {where or 'no file'}, not once: reword it here"
        )
    return next(iter(hits))


def files_with(tests: Sequence[str], root: Path) -> list[str]:
    """The files that define these tests.

    Raises:
        LookupError: One of them is nowhere.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in (root / "tests").rglob("test_*.py")}
    found: set[Path] = set()
    for test in tests:
        defined = [path for path, text in texts.items() if re.search(rf"def {test}\b", text)]
        if not defined:
            raise LookupError(f"there is no test {test}: name another here")
        found |= set(defined)
    return sorted(str(path.relative_to(root)) for path in found)


def is_noticed(tests: Sequence[str], root: Path) -> bool:
    """Whether one of the tests fails in a tree.

    Raises:
        LookupError: None of them ran.
    """
    python_path = {"PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:xdist", "-k", " or ".join(tests), *files_with(tests, root)],
        cwd=root,
        env={**os.environ, **python_path},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode not in {0, 1}:
        raise LookupError(f"pytest ended with {done.returncode}: {done.stdout[-500:]}")
    return done.returncode == 1


def tried(mutants: Sequence[Mutant], root: Path) -> Iterator[tuple[Mutant, str]]:
    """What became of each mutant: `killed`, `survived`, or why it could not be tried."""
    texts = sources(root)
    for mutant in mutants:
        try:
            path = place_of(mutant, texts)
        except LookupError as problem:
            yield mutant, str(problem)
            continue
        whole = texts[path]
        path.write_text(whole.replace(mutant.text, mutant.fault), encoding="utf-8")
        try:
            yield mutant, "killed" if is_noticed(mutant.tests, root) else "survived"
        except LookupError as problem:
            yield mutant, str(problem)
        finally:
            path.write_text(whole, encoding="utf-8")


def main() -> None:
    """Try the mutants, all or those whose name holds a word; exit 1 unless each is killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="only those whose name holds one of these")
    words = parser.parse_args().words
    chosen = [each for each in MUTANTS if not words or any(word in each.name for word in words)]
    left = 0
    with tempfile.TemporaryDirectory(prefix="hornbook-mutants-") as folder:
        root = Path(folder) / "tree"
        shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
        every = sorted({test for mutant in chosen for test in mutant.tests})
        if is_noticed(every, root):
            sys.exit("the tests fail without any fault: mend that first.")
        for mutant, outcome in tried(chosen, root):
            left += outcome != "killed"
            print(f"{outcome:9} {mutant.name}", flush=True)
    print(f"{len(chosen) - left} of {len(chosen)} killed")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
