"""Runs: what their events add up to, for the loop, for people and for the graph."""
