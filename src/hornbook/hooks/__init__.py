"""Hooks of agent hosts: the guard before a tool, the work log after it, the context of a session.

Standard library only until a plan must be compiled: a hook starts for every call of an agent.
"""
