"""How large the prompts of the embedded developer are over three hundred steps."""

import tempfile
import time
from pathlib import Path

from tests.kit.step_runs import long_run


def measure() -> dict[str, float]:
    """The tokens of some steps, and how flat they are."""
    with tempfile.TemporaryDirectory(prefix="hornbook-bench-") as folder:
        start = time.perf_counter()
        tokens = long_run(Path(folder)).tokens
        seconds = time.perf_counter() - start
    steady = tokens[3:]
    return {
        **{f"tokens of step {step}": tokens[step - 1] for step in (1, 4, 100, 300)},
        "most tokens of any step": max(tokens),
        "largest / smallest from step 4 on": max(steady) / min(steady),
        "milliseconds a step, gates and model aside": seconds / len(tokens) * 1000,
    }
