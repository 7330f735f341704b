"""Attacks by single requests on a real server: none gets anywhere."""

import json
import socket
from collections.abc import Iterator

import pytest

from tests.kit.raw_requests import (
    HOST,
    STOLEN,
    attacked,
    get,
    mcp,
    mcp_raw,
    post,
    query,
    rest,
    talk,
)

NESTED = b"[" * 900 + b"]" * 900
GARBAGE = {
    "a NUL in a header": get(b"/", more=b"X: a\x00b\r\n"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100 + b"\r\n\r\n",
    "a length and chunks": b"POST /graphql HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two hosts": get(b"/healthz", more=b"Host: evil\r\n"),
    "no host": b"GET /metrics HTTP/1.1\r\n\r\n",
    "no host, as of old": b"GET /metrics HTTP/1.0\r\n\r\n",
    "a header without end": get(b"/", more=b"X: " + b"a" * 200_000 + b"\r\n"),
    "a proxy's address": get(b"http://evil/graphql"),
    "a tunnel": b"CONNECT evil:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a negative length": b"POST /graphql HTTP/1.1\r\n" + HOST + b"Content-Length: -4\r\n\r\n",
    "a length of many digits": b"POST /graphql HTTP/1.1\r\n" + HOST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    "two lengths": b"POST /graphql HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    "chunks without end": b"POST /graphql HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 4,
    "a traversal": get(b"/../../etc/passwd"),
    "a coded traversal": get(b"/api/v1/entities/..%2f..%2f..%2fsecret.md"),
    "a traversal to a plan": get(b"/api/v1/plans/..%2f..%2f..%2fplans%2fevil"),
    "dots for a plan": get(b"/api/v1/plans/%2e%2e"),
    "a backslash for a plan": get(b"/api/v1/plans/..%5c.."),
    "a NUL for a run": get(b"/api/v1/runs/%00"),
    "events of a traversal": get(b"/api/v1/runs/plan.%2e%2e%2f/events"),
    "no UTF-8 in a path": get(b"/api/v1/entities/%ff%fe"),
    "no UTF-8 in a query": get(b"/graphql?query=%ff"),
    "no UTF-8 in SPARQL": get(b"/sparql?query=%ff"),
    "many parameters": get(b"/graphql?" + b"&".join(b"a%d=1" % n for n in range(3000))),
    "a mutation by GET": get(b"/graphql?query=mutation{ingest{documents}}"),
    "many brackets": post("/graphql", b"[" * 50_000),
    "many brackets to REST": rest("why", b"[" * 50_000),
    "many brackets to MCP": mcp_raw(b"[" * 50_000),
    "deep files": rest("why", b'{"files":' + b"[" * 40_000 + b"]" * 40_000 + b"}"),
    "a number of many digits": post("/graphql", b'{"query":"query($n:Int){entities(first:$n){id}}","variables":{"n":' + b"9" * 5000 + b"}}"),
    "a window of many digits": rest("size", b'{"files":["a"],"window":' + b"9" * 5000 + b"}"),
    "an infinite window": rest("size", b'{"files":["a"],"window":1e999}'),
    "an id of many digits": mcp_raw(b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}'),
    "no UTF-8": post("/graphql", b'{"query":"\xff"}'),
    "no UTF-8 to REST": rest("why", b"\xff"),
    "half a character": rest("why", b'{"files":["\\ud800"]}'),
    "a NUL in a file": rest("why", b'{"files":["a\\u0000b"]}'),
    "a NUL in a title": rest("plans", b'{"title":"\\u0000"}'),
    "a batch": post("/graphql", b'[{"query":"{version}"}]'),
    "UTF-16": post("/graphql", '{"query":"{version}"}'.encode("utf-16")),
    "a file above": rest("context/review", b'{"files":["../secret.md"]}'),
    "a file behind a link": rest("context/review", b'{"files":["link/secret.md"]}'),
    "the size of a file behind a link": rest("size", b'{"files":["link/secret.md"]}'),
    "to ingest what is behind a link": rest("ingest", b'{"paths":["link/secret.md"]}'),
    "to ingest the folder above": rest("ingest", b'{"paths":["link"]}'),
    "a plan above": rest("context/review", b'{"files":["a.go"],"plan":"../../../plans/evil"}'),
    "an option of git for a commit": rest("why", b'{"files":["a"],"at":"--output=owned"}'),
    "an option of git for a change": rest("context/review", b'{"diff":"--output=owned..HEAD"}'),
    "an option of git for its end": rest("context/review", b'{"diff":"a..--output=owned"}'),
    "to supersede a plan above": rest("plans", b'{"title":"b","supersedes":"../../../plans/evil"}'),
    "a form": post("/graphql", b'{"query":"mutation{ingest{documents}}"}', "text/plain"),
    "a form to REST": post("/api/v1/ingest", b"{}", "application/x-www-form-urlencoded"),
    "an update": post("/sparql", b"INSERT DATA {<a:a> <a:b> <a:c>}", "application/sparql-query"),
    "a service in disguise": post("/sparql", b"ASK { SER\\u0056ICE <http://127.0.0.1:9/> {?s ?p ?o} }", "application/sparql-query"),
    "brackets in SPARQL": post("/sparql", b"ASK {" + b"{" * 500 + b"}" * 500 + b"}", "application/sparql-query"),
}  # fmt: skip
# GraphQL and MCP answer these with 200 and an error.
TOLD = {
    "a fragment bomb": query("{ ...F0 } " + " ".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(60)) + " fragment F60 on Query { version }"),
    "a flood of aliases": query("{" + " ".join(f"a{n}: version" for n in range(500)) + "}"),
    "a deep document": query("{a" * 900 + "}" * 900),
    "many braces": query("{" * 20_000),
    "a flood of directives": query("{version " + "@x " * 1900 + "}"),
    "a slug above": query('{plan(slug:"../../../plans/evil"){slug}}'),
    "a slug of NUL": query('{plan(slug:"\\u0000"){slug}}'),
    "to promote a slug above": query('mutation{promotePlan(slug:"../../../plans/evil"){slug}}'),
    "a file above": query('{reviewContext(files:["../secret.md"]){text}}'),
    "a file behind a link": query('{reviewContext(files:["link/secret.md"]){text}}'),
    "a path behind a link": query('mutation{ingest(paths:["link"]){documents}}'),
    "a pattern's file above": query('{entities(filter:{appliesTo:"../../x"}){id}}'),
    "a cursor that is none": query("query($a:String){entities(after:$a){id}}", a="A" * 50_000),
    "deep JSON": post("/graphql", b'{"query":"mutation($j:JSON!){checkReview(review:$j,receipt:$j){outcome}}","variables":{"j":' + NESTED + b"}}"),
    "a resource above": mcp("resources/read", {"uri": "rule://../../../secret.md"}),
    "a resource that is a file": mcp("resources/read", {"uri": "file:///etc/passwd"}),
    "a plan above, as a resource": mcp("resources/read", {"uri": "plan://../../../plans/evil"}),
    "a coded plan, as a resource": mcp("resources/read", {"uri": "plan://..%2f..%2f..%2fplans%2fevil"}),
    "a resource of NUL": mcp("resources/read", {"uri": "decision://\0"}),
    "a file behind a link, by a tool": mcp("tools/call", {"name": "review_context", "arguments": {"files": ["link/secret.md"]}}),
    "a size behind a link, by a tool": mcp("tools/call", {"name": "size_task", "arguments": {"files": ["link/secret.md"]}}),
    "an option of git, by a tool": mcp("tools/call", {"name": "review_context", "arguments": {"diff": "--output=owned..HEAD"}}),
    "a plan above, by a tool": mcp("tools/call", {"name": "plan_status", "arguments": {"slug": "../../../plans/evil"}}),
    "a file behind a link, by the prompt": mcp("prompts/get", {"name": "review_change", "arguments": {"files": "link/secret.md"}}),
    "deep arguments": mcp_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_review","arguments":{"review":' + NESTED + b',"receipt":{}}}}'),
}  # fmt: skip


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with attacked(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_refused(port: int, name: str) -> None:
    answer = talk(port, GARBAGE[name])
    assert answer[9:10] == b"4", answer[:500]
    assert STOLEN.encode() not in answer


@pytest.mark.parametrize("name", TOLD)
def test_what_is_well_formed_and_hostile_is_told_an_error(port: int, name: str) -> None:
    answer = talk(port, TOLD[name])
    assert answer[9:10] in b"24", answer[:500]
    told = json.loads(answer.partition(b"\r\n\r\n")[2])
    refused = told.get("errors") or told.get("error") or told.get("result", {}).get("isError")
    assert refused or told == {"data": {"plan": None}}, told
    assert STOLEN.encode() not in answer


@pytest.mark.parametrize(
    "host",
    [b"evil", b"127.0.0.1.evil.com", b"localhost:80@evil", b"", b"localhost.", b"[::1", b"[::1]x", b"127.1", b"0", b"2130706433", b"\xff"],
)  # fmt: skip
def test_a_host_that_only_looks_like_ours_is_refused(port: int, host: bytes) -> None:
    answer = talk(port, get(b"/graphql?query={version}", host=b"Host: " + host + b"\r\n"))
    assert answer[9:12] in {b"421", b"400"}


def test_a_graph_that_is_named_is_never_fetched(port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        place = f"http://127.0.0.1:{trap.getsockname()[1]}/"
        for text in (f"SELECT * FROM <{place}> {{ ?s ?p ?o }}", f"SELECT * {{ SERVICE <{place}> {{ ?s ?p ?o }} }}", f"LOAD <{place}>"):  # fmt: skip
            talk(port, post("/sparql", text.encode(), "application/sparql-query"))
        talk(port, get(f"/sparql?query=ASK%7B%3Fs%20%3Fp%20%3Fo%7D&default-graph-uri={place}".encode()))  # fmt: skip
        trap.setblocking(False)
        with pytest.raises(BlockingIOError):
            trap.accept()
