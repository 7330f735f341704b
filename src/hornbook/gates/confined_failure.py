"""Whether a gate may have failed only because it was confined, told by what it printed."""

import re

NO_NETWORK = (
    " It has no network, and its output tells of a failed connection: if it needs one, set "
    "`network: true` for the gate."
)
NO_WRITING = (
    " It writes only the tree and temporary files, and its output tells of a write that was "
    "refused: if it needs a folder elsewhere, name it in `writable` under `gates`."
)

# As resolvers and clients of C, Python, Node, Go, Rust, Java, curl and git say it.
_CONNECTION = re.compile(
    r"could not resolve|couldn't resolve|name resolution|name or service not known"
    r"|no such host|nodename nor servname|unknownhostexception|getaddrinfo|eai_again|enotfound"
    r"|network is unreachable|enetunreach|no route to host|ehostunreach"
    r"|connection refused|econnrefused|connectionrefusederror|failed to connect"
    r"|failed to establish a new connection|max retries exceeded|dial tcp"
    r"|error sending request for url|dns error|network is down"
    r"|--offline was specified|enotcached|only-if-cached|disabled by goproxy=off"
    r"|network connectivity is disabled"
    r"|\bconnect\b[^\n]{0,80}(?:eacces|permission denied)|(?:\.connect|create_connection)\(",
    re.IGNORECASE,
)
_WRITE = re.compile(r"read-only file system|erofs|permission denied|eacces", re.IGNORECASE)


def why_confined(output: str, *, network: bool) -> str:
    """What to add to the message of a gate that failed while it was confined; often nothing."""
    told = NO_NETWORK if not network and _CONNECTION.search(output) else ""
    return told + (NO_WRITING if _WRITE.search(output) else "")
