"""Plans carried out over HTTP: begun, followed, answered, stopped with the server, gone on with."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hornbook.serve.access.scopes import ALL, WRITING
from hornbook.serve.access.tokens import Token, make_token
from tests.kit.git import git
from tests.kit.servers import ServedAddress, on_a_port
from tests.kit.tax_plan import AGENT, CONFIG, command, hornbook, with_the_tax_plan
from tests.kit.waiting import SAFETY, until

SIGN = "tests/at-work"
PAUSE = f"""\
import time

sign = pathlib.Path("{SIGN}")
if "You review a change" not in prompt and not pathlib.Path("shop/tax.py").exists():
    sign.write_text("")
    while sign.exists():
        time.sleep(0.02)
"""
SLOW = AGENT.replace("prompt = sys.stdin.read()\n", f"prompt = sys.stdin.read()\n{PAUSE}")


def post(address: ServedAddress, path: str, **body: object) -> Any:
    request = urllib.request.Request(
        f"{address}/api/v1{path}",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", **address.headers},
    )
    with urllib.request.urlopen(request, timeout=SAFETY) as answer:
        return answer.status, dict(answer.headers), json.load(answer)


def get(address: ServedAddress, path: str) -> Any:
    request = urllib.request.Request(f"{address}/api/v1{path}", headers=address.headers)
    with urllib.request.urlopen(request, timeout=SAFETY) as answer:
        return json.load(answer)


def ask(address: ServedAddress, query: str) -> Any:
    request = urllib.request.Request(
        f"{address}/graphql",
        data=json.dumps({"query": query}).encode(),
        headers={"content-type": "application/json", **address.headers},
    )
    with urllib.request.urlopen(request, timeout=SAFETY) as answer:
        return json.load(answer)


def refused(address: ServedAddress, path: str, **body: object) -> tuple[int, Any]:
    with pytest.raises(urllib.error.HTTPError) as error:
        post(address, path, **body)
    return error.value.code, json.loads(error.value.read())


def followed(address: ServedAddress, run: str) -> list[Any]:
    """Every event of a run, to its end."""
    path = f"{address}/api/v1/runs/{run}/events"
    request = urllib.request.Request(path, headers=address.headers)
    with urllib.request.urlopen(request, timeout=SAFETY) as answer:
        lines = [line for line in answer if line.startswith(b"data: ")]
    return [json.loads(line[6:]) for line in lines]


def with_a_slow_agent(root: Path) -> Path:
    """The plan, and an agent that begins the first task and goes on when it is let."""
    own = f"agents:\n  slow: {{command: {sys.executable} agent.py, prompt: stdin, output: text}}\n"
    return with_the_tax_plan(root, **{".hornbook/config.yaml": CONFIG + own, "agent.py": SLOW})


def at_work(root: Path) -> Path:
    """What the slow agent shows when it has begun; it goes on when that is gone."""

    def shown() -> Path | None:
        # A folder of a worktree may go while it is walked through, which is no error to `walk`.
        folders = (Path(folder) for folder, _, _ in os.walk(root / ".hornbook"))
        return next((each / SIGN for each in folders if (each / SIGN).exists()), None)

    return until(shown, "the agent", every=0.05)


def working_for(root: Path) -> list[str]:
    """The commands of the processes that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [each for each in found if str(root) in each]


def nothing_runs_for(root: Path) -> None:
    """Wait until no process is left that works in a folder; keepers end theirs one by one."""
    until(lambda: not working_for(root), f"the end of what works in {root}", every=0.1)


def asks(root: Path, address: ServedAddress, run: str, *, answers: int) -> Any:
    """A run that asks after so many answers, as soon as it does."""

    def asking() -> Any:
        line = next((e for e in get(address, "/runs")["runs"] if e["id"] == run), None)
        if line is not None and line["status"] == "asking":
            events = json.loads(hornbook(root, "runs", "events", run, "--json").stdout)
            kinds = [event["kind"] for event in events["events"]]
            if kinds.count("run.answered") == answers:
                assert kinds.count("agent.task.development") == 3 * (answers + 1)
                return line
        return None

    return until(asking, f"the question of {run}", every=0.1)


def test_a_plan_is_begun_over_http_and_followed_to_its_end(tmp_path: Path) -> None:
    root = with_the_tax_plan(tmp_path)
    token = make_token(root / ".hornbook/tokens", Token("rel", WRITING, b""))
    with on_a_port(root) as owner:
        address = owner.by(token)
        status, headers, begun = post(address, "/plans/add-tax/execute", agent="scripted")
        assert (status, begun["id"], begun["plan"]) == (202, "add-tax-1", "add-tax")
        assert headers["location"] == "/api/v1/runs/add-tax-1"
        events = followed(address, begun["id"])
        assert [events[0]["kind"], events[-1]["kind"]] == ["run.started", "run.ended"]
        who = {"id": "token:rel", "kind": "token", "via": "token"}
        assert events[0]["principal"] == {**who, "request": headers["x-request-id"]}
        assert events[-1]["principal"]["id"] == "engine:loop"
        for task in ("add-tax-t1-1", "add-tax-t2-1"):
            assert followed(address, task)[-1]["data"]["status"] == "approved"
        runs = get(address, "/runs")["runs"]
        assert {each["status"] for each in runs} == {"approved"}
        fields = "id plan task workflow status step attempt message startedAt updatedAt"
        by_graphql = ask(address, f"{{ runs {{ {fields} }} }}")["data"]["runs"]
        names = fields.replace("startedAt", "started_at").replace("updatedAt", "updated_at").split()
        assert [list(each.values()) for each in by_graphql] == [
            [each[name] for name in names] for each in runs
        ]
        assert json.loads(hornbook(root, "runs", "--json").stdout)["runs"] == runs
        again = ask(address, 'mutation { executePlan(slug: "add-tax", agent: "scripted") { id } }')
        assert again == {"data": {"executePlan": {"id": "add-tax-2"}}}
        assert followed(address, "add-tax-2")[-1]["data"]["status"] == "approved"
    assert git(root, "log", "-1", "--format=%s", "hornbook/add-tax").strip() == "Use it in price"


def test_what_may_not_start_is_refused_with_its_reasons_and_leaves_no_run(tmp_path: Path) -> None:
    root = with_the_tax_plan(tmp_path)
    with on_a_port(root) as address:
        code, told = refused(address, "/plans/add-tax/execute")
        assert (code, told["code"]) == (422, "refused")
        assert "nobody develops" in told["detail"]
        code, told = refused(address, "/plans/add-tax/execute", agent="nobody-has-this-name")
        assert (code, told["code"]) == (422, "refused")
        assert "nobody-has-this-name" in told["detail"]
        code, told = refused(address, "/plans/add-tax/execute", task="9", agent="scripted")
        assert code == 404
        code, told = refused(address, "/plans/add-tax/execute", task="2", agent="scripted")
        assert "depends on 1" in told["detail"]
        (root / "shop/price.py").unlink()
        git(root, "commit", "-qam", "gone")
        code, told = refused(address, "/plans/add-tax/execute", agent="scripted")
        assert (code, told["code"]) == (422, "refused")
        assert "shop/price.py" in told["detail"]
        assert get(address, "/runs") == {"runs": []}
        errors = ask(address, 'mutation { executePlan(slug: "nope") { id } }')["errors"]
        assert errors[0]["extensions"]["code"] == "NOT_FOUND"


def test_requests_at_once_begin_one_run(tmp_path: Path) -> None:
    root = with_a_slow_agent(tmp_path)

    def begin(_: int) -> str:
        _, _, begun = post(address, "/plans/add-tax/execute", agent="slow")
        return str(begun["id"])

    with on_a_port(root) as address, ThreadPoolExecutor(4) as pool:
        assert set(pool.map(begin, range(4))) == {"add-tax-1"}
        working = at_work(root)
        _, _, same = post(address, "/plans/add-tax/execute", task="1", agent="slow")
        assert (same["id"], same["status"]) == ("add-tax-t1-1", "running")
        code, told = refused(address, "/plans/add-tax/execute", task="2", agent="slow")
        assert (code, told["code"]) == (409, "held")
        working.unlink()
        assert followed(address, "add-tax-1")[-1]["data"]["status"] == "approved"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
def test_an_execution_ends_with_the_server_and_is_gone_on_with(tmp_path: Path) -> None:
    root = with_a_slow_agent(tmp_path)
    with on_a_port(root) as address:
        post(address, "/plans/add-tax/execute", agent="slow")
        at_work(root)
        (line,) = [each for each in get(address, "/runs")["runs"] if each["workflow"] != "plan"]
        assert (line["status"], line["step"], line["attempt"]) == ("running", "developer", 1)
    nothing_runs_for(root)
    at_work(root).unlink()
    with on_a_port(root) as address:
        assert {each["status"] for each in get(address, "/runs")["runs"]} == {"running"}
        _, _, begun = post(address, "/plans/add-tax/execute", agent="slow")
        assert begun["id"] == "add-tax-1"
        at_work(root).unlink()
        assert followed(address, "add-tax-1")[-1]["data"]["status"] == "approved"


def test_a_plan_that_the_command_line_executes_is_followed_not_begun_twice(tmp_path: Path) -> None:
    root = with_a_slow_agent(tmp_path)
    asked = command(root, "execute", "add-tax", "--agent", "slow")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(asked, **quiet, start_new_session=True) as running:
        try:
            sign = at_work(root)
            with on_a_port(root) as address:
                _, _, begun = post(address, "/plans/add-tax/execute", agent="slow")
                assert begun["id"] == "add-tax-1"
                sign.unlink()
                assert followed(address, "add-tax-1")[-1]["data"]["status"] == "approved"
            assert running.wait(SAFETY) == 0
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)


def test_a_run_that_asks_is_answered_over_http(tmp_path: Path) -> None:
    broken = CONFIG.replace("test -f shop/price.py", "test ! -f shop/tax.py")
    root = with_the_tax_plan(tmp_path, **{".hornbook/config.yaml": broken})
    token = make_token(root / ".hornbook/tokens", Token("ci", ALL, b""))
    git(root, "config", "user.email", "ann@example.org")
    with on_a_port(root) as address:
        post(address, "/plans/add-tax/execute", agent="scripted")
        line = asks(root, address, "add-tax-t1-1", answers=0)
        assert "3 attempts" in line["message"]
        assert ask(address, '{ run(id: "add-tax-t1-1") { status attempt } }')["data"]["run"] == {
            "status": "asking",
            "attempt": line["attempt"],
        }
        said = {"action": "return", "text": "Try it."}
        code, told = refused(address.by(token), "/runs/add-tax-t1-1/answer", **said)
        assert (code, told["code"]) == (403, "not-a-person")
        assert refused(address, "/runs/nope/answer", **said)[0] == 404
        _, headers, given = post(address, "/runs/add-tax-t1-1/answer", **said)
        who = {"id": "human:ann@example.org", "kind": "human", "via": "secret"}
        assert given["principal"] == {**who, "request": headers["x-request-id"]}
        assert given["status"] == "running"
        post(address, "/plans/add-tax/execute", agent="scripted")  # at once: nobody may be left out
        assert "3 attempts" in asks(root, address, "add-tax-t1-1", answers=1)["message"]
        post(address, "/runs/add-tax-t1-1/answer", action="stop", reason="Enough.")
        assert get(address, "/runs/add-tax-t1-1")["status"] == "stopped"
