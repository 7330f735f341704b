"""Runs commands so that nothing they start outlives them."""
