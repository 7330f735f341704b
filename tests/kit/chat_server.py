"""A server on loopback that speaks the chat protocols of OpenAI and Anthropic, as it is told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.kit.waiting import SAFETY


@dataclass
class Reply:
    """What the server answers: a text, whole or cut, or a status with headers and a raw body."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hold: bool = False
    cut: bool = False


@dataclass
class ChatServer:
    """The requests that came in, with their headers, and where the server listens."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def chat_server(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[ChatServer]:
    """A server that answers each request as `reply` says, until the block ends."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            served.requests.append(body)
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            told = reply(body)
            if told.hold:
                released.wait(SAFETY)
            data = told.raw if told.raw is not None else json.dumps(self._answer(body, told)).encode()  # fmt: skip
            self.send_response(told.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _answer(self, body: dict[str, Any], told: Reply) -> dict[str, Any]:
            if told.status != 200:
                return {"error": {"message": told.text, "type": "test", "code": None}}
            if self.path.endswith("/messages"):
                return {
                    "id": "m1",
                    "type": "message",
                    "role": "assistant",
                    "model": body["model"],
                    "content": [{"type": "text", "text": told.text}],
                    "stop_reason": "max_tokens" if told.cut else "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 11, "output_tokens": 7},
                }
            return {
                "id": "c1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "length" if told.cut else "stop",
                        "message": {"role": "assistant", "content": told.text},
                    }
                ],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            }

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
            del format, arguments

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = ChatServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        released.set()
        server.shutdown()
        server.server_close()
        thread.join()
