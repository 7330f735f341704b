#!/usr/bin/env python3
"""PreToolUse for hosts that want a file: hands the payload to `hornbook hook pre-tool-use`.

Any outcome but a clean one is exit 2, which blocks: 1 or a missing program would let the call
through.
"""

import subprocess
import sys

try:
    done = subprocess.run(["hornbook", "hook", "pre-tool-use"], check=False)
    code = 0 if done.returncode == 0 else 2
except OSError as problem:
    sys.stderr.write(f"hornbook cannot be started ({problem}): install it or put it on PATH.\n")
    code = 2
sys.exit(code)
