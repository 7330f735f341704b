"""A check of our own for schemathesis: what is described as valid is at least understood."""

from typing import Any

import schemathesis

# What only the server knows: a file, a plan, a model or a commit that is not there, a title that
# is taken, a name that the file system cannot hold. No description of a body can say that.
KNOWN_HERE_ONLY = frozenset({"refused", "configuration", "file"})


@schemathesis.check
def described_data_is_understood(_context: Any, response: Any, case: Any) -> None:
    """A body as described is never refused as `invalid`: then the description would be wrong."""
    if response.status_code == 422 and case.meta.generation.mode.is_positive:
        code = response.json()["code"]
        assert code in KNOWN_HERE_ONLY, f"described as valid, refused as {code}: {response.text}"
