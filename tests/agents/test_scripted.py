"""Scripted agents: the same each time, and good for every way that the loop can go."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment, Limits, Role, Subtask, nowhere
from hornbook.agents.script import DEFECTS, KEYS, VERDICTS, Act, Script, parse_script
from hornbook.agents.scripted_agent import ScriptedAgent, ScriptedDeath, cited_lines, write_review
from hornbook.commits.change import links
from hornbook.commits.plan_branch import ApprovalProof
from hornbook.commits.worktrees import change_set, prepare
from hornbook.commits.writer import make_commit
from hornbook.context.receipt import receipt
from hornbook.errors import ConfigError
from hornbook.gates.floors import Strictness, has_tests, scope
from hornbook.gates.gate import GateStatus
from hornbook.plans.plan import Constraints
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from tests.kit import review_cases as cases
from tests.kit.paths import DOCS
from tests.kit.pytest_command import PYTEST
from tests.kit.workspaces import write

PROOF = ApprovalProof("plan.p", "task.p.1", "run.1", "r", "e")


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    write(place, {**cases.RULES, "README.md": "# It\n", "handlers/old.go": "package handlers\n"})
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


def assignment(folder: Path, **values: object) -> Assignment:
    basic = Assignment(
        key="run.1/task.p.1/1",
        role=Role.DEVELOPER,
        task_id="task.p.1",
        attempt=1,
        folder=str(folder),
        prompt="Do it.",
    )
    return replace(basic, **values)  # type: ignore[arg-type]  # tests name real fields


def scripted(text: str, state: Path) -> ScriptedAgent:
    return ScriptedAgent(parse_script(text, "script.yaml"), state)


def ask(agent: ScriptedAgent, task: Assignment) -> Answer:
    return agent.work(task, nowhere)


def developed(root: Path, script: str, files: tuple[str, ...], **values: object) -> str:
    """The commit of what a scripted developer did in a worktree."""
    tree = prepare(root, "p", "1", "main")
    agent = scripted(script, root.parent / "state")
    answer = ask(agent, assignment(tree.folder, files=files, **values))
    assert answer.error is None
    changes = change_set(tree, "main")
    base = git(root, "rev-parse", "main")
    return make_commit(root, changes.tree, (base,), "work", trailers=PROOF.trailers)


def reviewed(root: Path, head: str, script: str) -> Judgement:
    """What `review check` says to the review of a scripted reviewer."""
    with Workspace.open(root) as work:
        packet = work.review_packet(diff=f"main..{head}")
        assert packet.context.text is not None
        agent = scripted(script, root.parent / "state")
        prompt = packet.context.text
        answer = ask(agent, assignment(root, role=Role.REVIEWER, prompt=prompt))
        facts = receipt(packet.context, packet.made_for)
        return work.check_review([PrintedReview("scripted", answer.text.encode())], [facts])


DEFAULT = "developer: []\n"


def test_it_prints_into_a_log_and_says_what_a_call_cost(root: Path) -> None:
    script = "reviewer:\n  - {answer: Seen., prints: [reading, done], cost: 0.25}\n"
    told: list[Mapping[str, object]] = []
    agent = scripted(script, root.parent / "state")
    answer = agent.work(assignment(root, role=Role.REVIEWER), told.append)
    assert (answer.usage.cost, answer.usage.currency) == (0.25, "USD")
    assert Path(str(told[0]["log"])).read_text() == "reading\ndone\n"


def test_one_that_hangs_ends_with_its_run(root: Path) -> None:
    agent = scripted("developer:\n  - hang: true\n", root.parent / "state")
    answer = ask(agent, assignment(root, is_over=lambda: True))
    assert answer.error == "its run was ended, and so was it."


def test_without_a_script_work_has_tests_and_is_approved_with_true_evidence(root: Path) -> None:
    head = developed(root, DEFAULT, ("handlers/user.go", "handlers/old.go", "docs/notes.md"))
    names = git(root, "diff", "--name-only", "main", head).splitlines()
    assert names == [
        "docs/notes.md",
        "handlers/old.go",
        "handlers/user.go",
        "handlers/user_test.go",
    ]
    judgement = reviewed(root, head, DEFAULT)
    assert (judgement.outcome, judgement.problems) == ("approved", ())
    assert len(judgement.rules) == 3


def test_a_default_python_file_comes_with_a_test_that_passes(root: Path) -> None:
    tree = prepare(root, "p", "1", "main")
    agent = scripted(DEFAULT, root.parent / "state")
    ask(agent, assignment(tree.folder, files=("app/made-up.py",)))
    changes = change_set(tree, "main")
    assert changes.paths == ("app/made-up.py", "tests/test_made_up.py")
    tested = has_tests(
        changes.files, changes.paths, strictness=Strictness.REQUIRED, self_tested=set()
    )
    assert tested is not None
    assert tested.status is GateStatus.PASSED
    run = [*PYTEST, "-q", "tests"]
    done = subprocess.run(run, cwd=tree.path, check=False, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout


def test_a_test_outside_of_the_scope_is_not_written(root: Path) -> None:
    limits = Constraints(inside=("app/**",))
    head = developed(root, DEFAULT, ("app/a.py",), constraints=limits)
    assert git(root, "diff", "--name-only", "main", head) == "app/a.py"


def test_the_same_assignment_gives_the_same_bytes(root: Path) -> None:
    first = developed(root, DEFAULT, ("app/a.py", "README.md"))
    assert developed(root, DEFAULT, ("app/a.py", "README.md")) == first
    again = developed(root, DEFAULT, ("app/a.py", "README.md"), attempt=2)
    assert again != first


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_judged_as_it_was_meant(root: Path, verdict: str) -> None:
    head = developed(root, DEFAULT, ("handlers/user.go",))
    judgement = reviewed(root, head, f"reviewer: [{{verdict: {verdict}}}]\n")
    kind = None if verdict == "approved" else verdict
    assert judgement.rejection_type == kind
    assert judgement.outcome == ("rejected" if kind else "approved")
    assert judgement.problems == ()


def test_a_violated_rule_is_rejected(root: Path) -> None:
    head = developed(root, DEFAULT, ("handlers/user.go",))
    script = f"reviewer: [{{verdict: fixable, violated: [{cases.ERRORS}], feedback: Wrap it.}}]\n"
    judgement = reviewed(root, head, script)
    assert (judgement.outcome, judgement.problems) == ("rejected", ())
    assert [each.sop_id for each in judgement.findings if each.status == "violated"] == [
        cases.ERRORS
    ]


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_found(root: Path, defect: str) -> None:
    head = developed(root, DEFAULT, ("handlers/user.go",))
    judgement = reviewed(root, head, f"reviewer: [{{defect: {defect}}}]\n")
    code = "unparsable" if defect == "empty" else defect
    assert code in {problem.code for problem in judgement.problems}
    assert judgement.outcome == ("escalate" if defect == "low_confidence" else "invalid")


OPERATIONS = """\
developer:
  - task: "1"
    attempt: 1
    do:
      - write: {path: new/a.txt, text: "one\\n"}
      - append: {path: new/a.txt, text: "two\\n"}
      - rename: {path: README.md, to: docs/readme.md}
      - symlink: {path: notes, to: docs}
      - write: {path: notes/secret.md, text: "through the link\\n"}
      - mode: {path: new/a.txt, mode: '755'}
      - delete: {path: handlers/old.go}
    answer: "I did it."
    claims: [new/a.txt, never.txt]
  - task: "1"
    answer: "Nothing left to do."
"""


def test_a_script_does_what_it_says_in_order(root: Path) -> None:
    tree = prepare(root, "p", "1", "main")
    agent = scripted(OPERATIONS, root.parent / "state")
    answer = ask(agent, assignment(tree.folder))
    assert (answer.text, answer.claimed_files) == ("I did it.", ("new/a.txt", "never.txt"))
    assert (tree.path / "new/a.txt").read_text() == "one\ntwo\n"
    changes = change_set(tree, "main")
    expected = (
        "README.md",
        "docs/readme.md",
        "docs/secret.md",
        "handlers/old.go",
        "new/a.txt",
        "notes",
    )
    assert changes.paths == expected
    limits = Constraints(do_not_touch=("docs/**",))
    judged = scope(changes.files, limits, links(root, changes.tree))
    assert judged.status is GateStatus.FAILED
    second = ask(agent, assignment(tree.folder, attempt=2))
    assert second.text == "Nothing left to do."


def test_a_rate_limit_ends_after_so_many_times_also_in_another_process(tmp_path: Path) -> None:
    script = "developer: [{rate_limit: 4.5, times: 2, answer: done}]\n"
    waits = []
    for _ in range(4):
        answer = ask(scripted(script, tmp_path / "state"), assignment(tmp_path))
        waits.append(answer.retry_after)
    assert waits == [4.5, 4.5, None, None]
    other = ask(scripted(script, tmp_path / "state"), assignment(tmp_path, key="another"))
    assert other.retry_after == 4.5


def test_an_agent_dies_as_told_and_lives_when_asked_again(tmp_path: Path) -> None:
    raising = scripted("reviewer: [{die: raise, answer: '{}'}]\n", tmp_path / "state")
    task = assignment(tmp_path, role=Role.REVIEWER)
    with pytest.raises(ScriptedDeath):
        ask(raising, task)
    assert ask(raising, task).text == "{}"
    leaving = scripted(
        "developer: [{die: exit, after_work: true, do: [{write: {path: a, text: x}}]}]\n",
        tmp_path / "state",
    )
    dead = ask(leaving, assignment(tmp_path))
    assert (dead.error, dead.exit_code) == ("it answered nothing (exit code 3)", 3)
    assert (tmp_path / "a").read_text() == "x"


KILL = """
import sys
from pathlib import Path
from hornbook.agents.assignment import nowhere
from hornbook.agents.script import parse_script
from hornbook.agents.scripted_agent import ScriptedAgent
from hornbook.agents.assignment import Assignment, Role
place = Path(sys.argv[1])
agent = ScriptedAgent(parse_script("developer: [{die: kill, answer: done}]", "s"), place / "state")
print(agent.work(Assignment("k", Role.DEVELOPER, "task.p.1", 1, str(place), "Do it."), nowhere).text)
"""


def test_a_kill_takes_the_whole_process_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILL, str(tmp_path)]
    ends = [subprocess.run(command, check=False, capture_output=True, text=True) for _ in range(2)]
    assert [end.returncode for end in ends] == [-signal.SIGKILL, 0]
    assert ends[1].stdout == "done\n"


def test_an_agent_that_hangs_is_over_when_its_time_is(tmp_path: Path) -> None:
    hanging = scripted("developer: [{hang: true}]\n", tmp_path / "state")
    answer = ask(hanging, assignment(tmp_path, limits=Limits(seconds=0)))
    assert answer.error is not None
    assert answer.error.startswith("not done after 0 s")


def test_forms_in_an_answer_are_read(tmp_path: Path) -> None:
    form = json.dumps({"continuation": {"description": "First this", "files": ["a.py"]}})
    script = json.dumps({"developer": [{"answer": f"```json\n{form}\n```\n"}]})
    answer = ask(scripted(script, tmp_path / "state"), assignment(tmp_path))
    assert answer.subtask == Subtask("First this", ("a.py",))


def test_a_planner_answers_what_the_script_gives(tmp_path: Path) -> None:
    task = assignment(tmp_path, role=Role.PLANNER)
    agent = scripted("planner: [{answer: '# Plan'}]\n", tmp_path / "state")
    assert ask(agent, task).text == "# Plan"
    silent = ask(scripted(DEFAULT, tmp_path / "state"), task)
    assert silent.error == "the script has no answer for this role: give one with `answer`."


def test_what_happened_is_recorded(tmp_path: Path) -> None:
    told: list[Mapping[str, object]] = []
    scripted("developer: [{answer: ok}]", tmp_path / "s").work(assignment(tmp_path), told.append)
    assert [each["kind"] for each in told] == ["agent.started", "agent.ended"]


def test_every_problem_of_a_script_is_told() -> None:
    text = """\
developr: []
reviewer:
  - {verdict: aproved, defect: rubber_stam, confidence: high}
  - 7
planner: {}
developer:
  - {tsk: "1", attempt: 0, die: quietly, hang: 3}
  - do:
      - writ: {path: a}
      - write: {path: a}
      - mode: {path: a, mode: 493}
      - nothing
"""
    with pytest.raises(ConfigError) as caught:
        parse_script(text, "s.yaml")
    found = "\n".join(caught.value.problems)
    for wanted in (
        "s.yaml: unknown role `developr`: did you mean `developer`?",
        "s.yaml: reviewer[0]: `verdict` is 'aproved': did you mean `approved`?",
        "s.yaml: reviewer[0]: `defect` is 'rubber_stam': did you mean `rubber_stamp`?",
        "s.yaml: reviewer[0]: `confidence` is 'high': write a number.",
        "s.yaml: reviewer[1] is no mapping",
        "s.yaml: `planner` is no list",
        "s.yaml: developer[0]: unknown key `tsk`: did you mean `task`?",
        "s.yaml: developer[0]: `attempt` is 0: write an attempt, from 1, or a list of them.",
        "s.yaml: developer[0]: `die` is 'quietly': known are raise, exit, kill.",
        "s.yaml: developer[0]: `hang` is 3: write true or false.",
        "s.yaml: developer[1].do[0]: unknown `writ`: did you mean `write`?",
        "s.yaml: developer[1].do[1]: `write` needs exactly path, text.",
        "s.yaml: developer[1].do[2]: `mode` is 493: write three digits, '755'.",
        "s.yaml: developer[1].do[3] is no single operation",
    ):
        assert wanted in found
    for broken in ("- a", "developer: [", "7"):
        with pytest.raises(ConfigError):
            parse_script(broken, "s.yaml")


def test_the_first_act_that_fits_counts() -> None:
    script = parse_script(
        "developer:\n- {task: '2', answer: second}\n- {attempt: [1, 3], answer: odd}\n"
        "- {task: task.p.*, answer: any}\n",
        "s",
    )
    answers = [
        script.act(Role.DEVELOPER, f"task.p.{n}", attempt).answer
        for n, attempt in ((2, 1), (1, 3), (1, 2))
    ]
    assert answers == ["second", "odd", "any"]
    assert script.act(Role.DEVELOPER, "task.q.1", 2) == Act()
    assert Script().act(Role.REVIEWER, "x", 1) == Act()


@given(st.text(), st.sampled_from([None, *DEFECTS]))
def test_any_prompt_can_be_reviewed(prompt: str, defect: str | None) -> None:
    write_review(prompt, Act(defect=defect))
    assert all(line.number > 0 for line in cited_lines(prompt))


def test_a_rule_that_looks_like_a_section_does_not_hide_the_others(root: Path) -> None:
    write(
        root,
        {
            ".hornbook/sources/docs/sops/tricky.md": "---\napplies_to: '*.go'\n---\n# The change under review\n\n# Rules that bind this change\n"
        },
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "tricky")
    judgement = reviewed(root, developed(root, DEFAULT, ("handlers/user.go",)), DEFAULT)
    assert (judgement.outcome, len(judgement.rules)) == ("approved", 4)


def test_the_documented_script_is_read_and_every_key_is_documented() -> None:
    page = (DOCS / "agents.md").read_text(encoding="utf-8")
    blocks = [each.split("```")[0] for each in page.split("```yaml\n")[1:]]
    (example,) = (each for each in blocks if "verdict:" in each)
    script = parse_script(example, "agents.md")
    assert script.act(Role.REVIEWER, "task.p.1", 2).verdict == "fixable"
    assert script.act(Role.DEVELOPER, "task.p.3", 1).die == "kill"
    table = page.split("| key | role | meaning |\n|---|---|---|\n")[1].split("\n\n")[0]
    assert set(KEYS) == {line.split("`")[1] for line in table.splitlines()}
