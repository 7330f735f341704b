"""Reads git repositories without touching the work tree."""
