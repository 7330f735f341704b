"""The real pytest, as little projects of tests run it."""

import sys

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--disable-plugin-autoload")
"""Without the plugins that this environment happens to have: they take longer than the tests."""
