"""The secret of this machine: who can read `.hornbook/secret` may write through the local server.

It is made when a server starts for the first time. The file gets its name only when it is whole, so
that of two servers that start at once both have the same secret. A secret that another account
could have read or written is none, and is refused rather than mended.
"""

import os
import re
import secrets
import stat
from contextlib import suppress

from hornbook.disk import write_whole
from hornbook.errors import ConfigError
from hornbook.settings.places import Places

_SECRET = re.compile(r"[A-Za-z0-9_-]{32,128}")
OWNER_ONLY = 0o600
PREFIX = "hbs_"
"""Tells what a secret is for whoever finds one."""


def local_secret(places: Places) -> str:
    """The secret, which is made if there is none.

    Raises:
        ConfigError: Others could have read it, or it is damaged.
        OSError: It cannot be made here.
    """
    found = read_secret(places)
    if found is not None:
        return found
    places.ignore_secrets()
    draft = places.secret.with_name(f"secret.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        write_whole(draft, f"{PREFIX}{secrets.token_urlsafe(32)}\n".encode(), OWNER_ONLY)
        with suppress(FileExistsError):  # another server was faster: then its secret is ours
            os.link(draft, places.secret)
    finally:
        draft.unlink(missing_ok=True)
    found = read_secret(places)
    if found is None:
        raise ConfigError([f"{places.secret.name}: it was removed while the server started."])
    return found


def read_secret(places: Places) -> str | None:
    """The secret; None if there is none.

    Raises:
        ConfigError: Others could have read it, or it is damaged; the message has a remedy.
    """
    try:
        handle = os.open(places.secret, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _unfit(f"cannot be read ({problem.strerror})") from problem
    with os.fdopen(handle, "rb") as file:
        known = os.fstat(handle)
        why = _why_unfit(known)
        text = "" if why else file.read(200).decode("ascii", "replace").strip()
    if not why and _SECRET.fullmatch(text) is None:
        why = "is damaged"
    if why:
        raise _unfit(why)
    return text


def _why_unfit(known: os.stat_result) -> str:
    if not stat.S_ISREG(known.st_mode):
        return "is no file"
    if known.st_uid != os.getuid():
        return f"belongs to the account {known.st_uid}, and this is {os.getuid()}"
    if known.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return "can be read or written by other accounts"
    return ""


def _unfit(why: str) -> ConfigError:
    return ConfigError(
        [f".hornbook/secret {why}: remove it, and the next `hornbook serve` makes another."]
    )
