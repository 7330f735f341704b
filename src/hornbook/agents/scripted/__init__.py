"""Agents that do what a script says, the same each time: for trying the loop without a model."""
