#!/bin/sh
# PreCompact for hosts that want a file: writes a checkpoint and never stands in the way.
# A compaction that is blocked leaves the session without room, so every outcome is exit 0.
hornbook hook pre-compact || true
