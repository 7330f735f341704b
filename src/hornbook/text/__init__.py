"""Text without meaning: globs of the one dialect, token counters, constraint bullets."""
