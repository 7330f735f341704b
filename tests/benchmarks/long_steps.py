"""Three hundred steps of the embedded developer by `execute`, against a server on loopback."""

import tempfile
import time
from pathlib import Path

from tests.kit.long_execution import long_execution

STEPS = 300


def measure() -> dict[str, float]:
    """The tokens of some steps of a run that is approved in the end, and how flat they are."""
    with tempfile.TemporaryDirectory(prefix="hornbook-bench-") as folder:
        start = time.process_time()
        ran = long_execution(Path(folder), STEPS)
        seconds = time.process_time() - start
    if not ran.execution.approved or ran.steps != STEPS:
        raise AssertionError(f"{ran.steps} steps: {ran.execution.root.message}")
    steady = ran.tokens[3:]
    return {
        **{f"tokens of step {step}": ran.tokens[step - 1] for step in (1, 4, 100, STEPS)},
        "most tokens of any step": max(ran.tokens),
        "largest / smallest from step 4 on": max(steady) / min(steady),
        "milliseconds of CPU a step, gates aside": seconds / STEPS * 1000,
    }
