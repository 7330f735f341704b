"""Workflows as data: definitions, their validation, and the rules by which a run moves on."""
