"""Plays a shell program through without running it: which failures of it would be seen."""
