"""Plans carried out: developer, gates, reviewer, step by step, each recorded before it counts.

Takes values and the repository's graph, never the facade above it.
"""
