"""Settings of all tests: the same examples in every run, others on request."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A red run must mean that the change is wrong, and never that the machine is slow.
# `HYPOTHESIS_PROFILE=exploring`, which is `make fuzz`, looks for more: as many as each test asks for.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("steady", unhurried, derandomize=True, max_examples=30)
settings.register_profile("quick", unhurried, derandomize=True, max_examples=20)
settings.register_profile("exploring", unhurried)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")
PARTS = {"steady": 5, "quick": 1000}
"""How many times more examples a test may ask for than it is given, where a profile gives few."""
settings.load_profile(PROFILE)

# Nine thousand cases and all that they import: to look through them for cycles, as Python does each
# few hundred objects, is an eighth of the time that collecting them takes.
gc.set_threshold(100_000, 20, 20)

# A shell without a terminal starts what it puts into the background with SIGINT ignored, and every
# process inherits that: the tests that interrupt one would wait for it in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A gate that runs these tests marks its environment, and then nobody counts as a person.
for name in ("HORNBOOK_ROLE", "HORNBOOK_CONFINED", "HORNBOOK_GATE_RUN"):
    os.environ.pop(name, None)

# Only a person commits to a plan, and who that is git says: whether or not this machine knows one.
_identity, _name = tempfile.mkstemp(prefix="hornbook-test-git-")
os.write(_identity, b"[user]\n\tname = t\n\temail = t@example.org\n")
os.close(_identity)
os.environ["GIT_CONFIG_GLOBAL"] = _name
atexit.register(Path(_name).unlink, missing_ok=True)

# Repositories without `.hornbook/` have their graph in the cache folder: not in that of a person.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="hornbook-test-cache-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Have one server of forks for all processes that share a run: it takes seconds to start."""
    shared = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if shared and not config.pluginmanager.has_plugin("tests.kit.no_processes"):
        from tests.kit import forks

        os.environ[forks.SHARED] = forks.address()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A property that asks for many examples gets its part of them."""
    part = PARTS.get(PROFILE, 1)
    least = settings.get_profile(PROFILE).max_examples
    for item in items:
        test = getattr(item, "obj", None)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if isinstance(own, settings) and own.max_examples > least:
            found = getattr(test, "__func__", test)
            fewer = max(least, own.max_examples // part)
            found._hypothesis_internal_use_settings = settings(own, max_examples=fewer)  # type: ignore[union-attr]  # there is no other way
