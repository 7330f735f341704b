"""A relay between clients and a Postgres that can stop, delay or cut what passes; on loopback."""

import contextlib
import selectors
import socket
import threading
import time
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

_CHUNK = 65536


class Relay:
    """Listens on a port of loopback and passes everything on to the socket of a server."""

    def __init__(self, url: str) -> None:
        folder = parse_qs(urlsplit(url).query)["host"][0]
        self._target = next(Path(folder).glob(".s.PGSQL.*[0-9]"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._passing = threading.Event()
        self._passing.set()
        self._refusing = False
        self._closed = False
        self.delay = 0.0
        name = urlsplit(url).path.lstrip("/")
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}/{name}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self._closed = True
        self.resume()
        self._listener.close()
        self._drop()

    def stop(self) -> None:
        """Swallow everything, as a network does that is cut: nobody is told."""
        self._passing.clear()

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        self._refusing = True
        self._drop()

    def resume(self) -> None:
        """Pass everything again."""
        self._refusing = False
        self._passing.set()

    def _drop(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                if self._refusing:
                    raise ConnectionRefusedError
                server.connect(str(self._target))
            except OSError:
                client.close()
                server.close()
                continue
            with self._lock:
                self._pairs.append((client, server))
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        with selectors.DefaultSelector() as ready, contextlib.suppress(OSError, ValueError):
            for end in other:
                ready.register(end, selectors.EVENT_READ, end)
            while True:
                for key, _ in ready.select():
                    end = key.data
                    data = end.recv(_CHUNK)
                    if not data:
                        raise OSError("ended")
                    self._passing.wait()
                    if self.delay:
                        time.sleep(self.delay)
                    other[end].sendall(data)
        for end in other:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
