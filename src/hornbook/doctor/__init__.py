"""The health of a rule set: what is wrong with it, and what it would have done to past changes.

Nothing here asks a model, and nothing changes the repository.
"""
