"""`hornbook serve` as a process: it starts, follows changes, logs, and stops cleanly."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import answer, run
from tests.kit.forks import ForkedProcess
from tests.kit.serve_process import forked_serving, free_port, serving
from tests.kit.servers import READER
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import SOPS, with_the_example_sop, write


def ask(address: str, query: str, **headers: str) -> Any:
    request = urllib.request.Request(
        f"{address}/graphql",
        data=json.dumps({"query": query}).encode(),
        headers={"content-type": "application/json", **headers},
    )
    with urllib.request.urlopen(request, timeout=SAFETY) as answer:
        return json.load(answer)


def test_it_ingests_follows_changes_and_stops_with_a_stream_open(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    with serving(root, "--ingest", "--watch") as (address, process):
        request = urllib.request.Request(
            f"{address}/graphql",
            data=b'{"query":"subscription { graphVersions { documents } }"}',
            headers={"content-type": "application/json", "accept": "text/event-stream"},
        )
        with urllib.request.urlopen(request, timeout=SAFETY) as stream:

            def following() -> int:
                while not (line := stream.readline()).startswith(b"data: "):
                    pass
                found: int = json.loads(line[6:])["data"]["graphVersions"]["documents"]
                return found

            assert following() == 2
            # The first burst of a watch is empty: it tells that the watch stands.
            write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
            assert following() == 3
            process.send_signal(signal.SIGTERM)
            rest = stream.read()
        assert b"event: complete" in rest
        out, logged = process.communicate(timeout=SAFETY)
        assert process.returncode == -signal.SIGTERM
        assert out == ""
        lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
        assert any(line["message"] == "ingested" for line in lines)
        assert "Traceback" not in logged


def test_a_stop_during_an_ingest_leaves_nothing_behind(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    kept = root / ".hornbook/store/generations"
    with forked_serving(root, "--ingest") as (address, process):
        (published,) = kept.iterdir()
        write(root, {f"{SOPS}/new-{n}.md": f"# New {n}\n\nText.\n" for n in range(3000)})
        request = urllib.request.Request(
            f"{address}/api/v1/ingest", b"{}", {"content-type": "application/json"}
        )
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: urllib.request.urlopen(request, timeout=SAFETY).status)
            while len(list(kept.iterdir())) < 2 and not answer.done():
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SAFETY)
            assert isinstance(answer.exception(), OSError)
        assert process.returncode == -signal.SIGTERM
        assert list(kept.iterdir()) == [published]


def test_a_stop_before_it_listens_is_a_stop(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    write(root, {f"{SOPS}/new-{n}.md": f"# New {n}\n\nText.\n" for n in range(3000)})
    asked = ["--root", str(root), "serve", "--ingest", "--port", str(free_port())]
    process = ForkedProcess(asked, folder=root, environment=os.environ)
    while not (root / ".hornbook/store").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, logged = process.communicate(timeout=SAFETY)
    assert process.returncode == -signal.SIGTERM
    assert "Traceback" not in logged


def test_other_commands_work_on_the_same_root(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    with forked_serving(root, "--ingest") as (address, _):
        write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
        assert answer(root, "ingest", "--json")["documents"] == 3
        assert len(ask(address, "{ sops { id } }")["data"]["sops"]) == 3


def test_beyond_loopback_it_does_not_start_without_tokens(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    done = run(root, "serve", "--host", "0.0.0.0", "--port", str(free_port()))
    assert done.returncode == 2
    assert "HORNBOOK_TOKENS" in done.stderr


def test_a_token_is_needed_and_never_logged(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    tokens = f"ci:read:{READER}"
    with forked_serving(root, "--host", "0.0.0.0", HORNBOOK_TOKENS=tokens) as (address, process):
        with pytest.raises(urllib.error.HTTPError):
            ask(address, "{ version }")
        found = ask(address, "{ version }", authorization=f"Bearer {READER}")
        assert found == {"data": {"version": ""}}
        process.send_signal(signal.SIGINT)
        _, logged = process.communicate(timeout=SAFETY)
        assert '"caller": "ci"' in logged
        assert READER not in logged


ARENAS = """
import ctypes, os, threading
from hornbook.serve.service import keep_few_arenas

keep_few_arenas()
together = threading.Barrier(8)


def take() -> None:
    together.wait()
    held = [bytearray(1000) for _ in range(1000)]
    together.wait()


threads = [threading.Thread(target=take) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
told = ctypes.c_void_p(library.fdopen(1, b"w"))
library.malloc_info(0, told)
library.fflush(told)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this is no glibc")
def test_threads_of_the_server_take_memory_from_two_places() -> None:
    told = subprocess.run(
        [sys.executable, "-c", ARENAS], capture_output=True, text=True, check=True
    )
    assert told.stdout.count("<heap nr=") == 2
