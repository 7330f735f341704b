"""Reviews: read, held against the change as git has it, and judged.

The outcome is derived here and nowhere else; no agent is asked.
"""
