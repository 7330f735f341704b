"""A person's word over REST and GraphQL: only a token made for a person may say it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.kit.fakes import writes
from tests.kit.loops import BROKEN, Stage, repository
from tests.kit.servers import READER, WRITER, client

RETURN = {"action": "return", "text": "Say hello."}
MUTATION = (
    'mutation { answerRun(id: "run-1", action: "stop", reason: "Enough.") '
    "{ run status action principal { id kind via } } }"
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(repository(tmp_path), [writes({"src/greet.py": BROKEN})])
    stage.go()
    return stage


@contextmanager
def served(stage: Stage) -> Iterator[TestClient]:
    path = stage.root / ".hornbook" / "tokens"
    path.write_text(f"ann write {WRITER} for=human:ann\nci write,answer {READER}\n")
    path.chmod(0o600)
    with client(stage.root) as found:
        yield found


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_only_a_persons_token_answers_over_rest(stage: Stage) -> None:
    with served(stage) as server:
        path = "/api/v1/runs/run-1/answer"
        refused = server.post(path, json=RETURN, headers=bearer(READER))
        assert (refused.status_code, refused.json()["code"]) == (403, "not-a-person")
        assert "--for human:NAME" in refused.json()["detail"]
        wrong = server.post(path, json={"action": "accept", "reason": "x"}, headers=bearer(WRITER))
        assert wrong.status_code == 422
        assert "--return" in wrong.json()["detail"]
        given = server.post(path, json=RETURN, headers=bearer(WRITER)).json()
    assert (given["run"], given["status"], given["action"]) == ("run-1", "running", "return")
    assert given["principal"]["id"] == "human:ann"
    word = stage.newest("run.answered")
    assert (word.actor, word.principal.via) == ("human:ann", "token")
    assert word.principal.request == given["principal"]["request"]


def test_only_a_persons_token_answers_over_graphql(stage: Stage) -> None:
    with served(stage) as server:
        asked = {"query": MUTATION}
        refused = server.post("/graphql", json=asked, headers=bearer(READER)).json()
        assert refused["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        told = server.post("/graphql", json=asked, headers=bearer(WRITER)).json()
        given = told["data"]["answerRun"]
    assert given == {
        "run": "run-1",
        "status": "stopped",
        "action": "stop",
        "principal": {"id": "human:ann", "kind": "human", "via": "token"},
    }
