"""A signed message to an address of the team: who gets it can prove where it comes from.

The form is that of Standard Webhooks: the headers `webhook-id`, `webhook-timestamp` and
`webhook-signature`, which is `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64. A
secret that begins with `whsec_` is base64 behind that. No redirect is followed.
"""

import base64
import hashlib
import hmac
import http.client
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hornbook.process.egress import HostPort, NotReachedError, connect_to
from hornbook.version import __version__

SECONDS = 10.0
"""How long a connection, and an answer, may take if nothing else is said."""
_PREFIX = "whsec_"
_DONE = range(200, 300)


class NotDelivered(Exception):  # it is an outcome: whoever sends tries again
    """Why a message did not arrive."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """What is sent: the same id means the same message, whenever it was sent."""

    id: str
    timestamp: int
    body: bytes

    def signature(self, secret: str) -> str:
        """What proves that whoever knows the secret sent this body with this id at this time."""
        signed = f"{self.id}.{self.timestamp}.".encode() + self.body
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        return f"v1,{base64.b64encode(digest).decode('ascii')}"


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        return base64.b64decode(secret.removeprefix(_PREFIX))
    return secret.encode()


def deliver(
    url: str,
    message: SignedMessage,
    secret: str,
    private: Sequence[str],
    seconds: float = SECONDS,
) -> None:
    """Send a message, and be told that it arrived; connection and answer may take `seconds` each.

    Raises:
        NotDelivered: It did not, or the address may not be used.
    """
    target, parts = HostPort.of_url(url), urlsplit(url)
    if target is None:
        raise NotDelivered(f"{url} is no address")
    headers = {
        "content-type": "application/json",
        "user-agent": f"hornbook/{__version__}",
        "webhook-id": message.id,
        "webhook-timestamp": str(message.timestamp),
        "webhook-signature": message.signature(secret),
    }
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(target.host, target.port, timeout=seconds)
    try:
        listed = [HostPort.read(each) for each in private]
        connection.sock = connect_to(target, listed, "notify.private", seconds)
        connection.sock.settimeout(seconds)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=target.host)
        connection.request("POST", path, message.body, headers)
        status = connection.getresponse().status
    except NotReachedError as problem:
        raise NotDelivered(f"{target}: {problem}") from problem
    except (OSError, http.client.HTTPException) as problem:
        raise NotDelivered(f"{target}: {type(problem).__name__}: {problem}") from problem
    finally:
        connection.close()
    if status not in _DONE:
        raise NotDelivered(f"{target} answered with status {status}")
