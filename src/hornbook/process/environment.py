"""What of our own environment a gate sees: a short list, never a secret."""

import re
from collections.abc import Mapping

INHERITED_TEXT = """
CARGO_HOME CARGO_TARGET_DIR CI CONDA_PREFIX GOCACHE GOFLAGS GOMODCACHE GOPATH GOROOT HOME
JAVA_HOME LANG LANGUAGE LOGNAME NODE_PATH NVM_DIR PATH PNPM_HOME PYENV_ROOT RUSTUP_HOME
RUSTUP_TOOLCHAIN SHELL SSL_CERT_DIR SSL_CERT_FILE TEMP TMP TMPDIR TZ USER VIRTUAL_ENV
XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
"""
INHERITED = frozenset(INHERITED_TEXT.split())
_LOCALE = re.compile(r"LC_[A-Z]+")


def environment(inherited: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The environment of a gate: what is on the list, and on top of it what the gate sets."""
    passed_on = {
        name: value
        for name, value in inherited.items()
        if name in INHERITED or _LOCALE.fullmatch(name)
    }
    return {**passed_on, **own}
