"""Settings of all tests: the same examples in every run, others on request."""

import os

from hypothesis import settings

# A red run must mean that the change is wrong. `HYPOTHESIS_PROFILE=exploring` looks for more.
# A busy machine is no failure: no example has a deadline.
settings.register_profile("steady", derandomize=True, print_blob=True, deadline=None)
settings.register_profile("exploring", settings.get_profile("default"), print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
