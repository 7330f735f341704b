"""Hooks of agent hosts: the guard before a tool, the work log after it, the context of a session.

What runs before a tool is standard library only and imports nothing but this package: it starts
once for every call an agent makes. That is why its values are named tuples and not dataclasses.
"""
