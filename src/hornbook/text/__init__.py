"""Token counters and the glob dialect."""
