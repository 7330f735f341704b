"""Contexts as pure functions over values: which rules bind, and how a rule reads."""
