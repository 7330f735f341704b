"""Runs the few tests that failed in `.ci/run` once more, alone: what fails again is wrong.

Tests of killed, paused and cut-off processes meet races that only a loaded machine shows, a few in
twelve thousand. Each that passes alone is named, so that it can be mended; more than a handful, or
none because style or types failed, is no race.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST = 5


def main(path: str) -> int:
    """The exit code: 0 if all that had failed passed this time."""
    names = list(dict.fromkeys(map(json.loads, Path(path).read_text("utf-8").splitlines())))
    if not 0 < len(names) <= MOST:
        return 1
    print(f"once more, alone, since {len(names)} failed among all others:", *names, sep="\n  ")
    return subprocess.call([sys.executable, "-m", "pytest", "-n", "0", *names])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
