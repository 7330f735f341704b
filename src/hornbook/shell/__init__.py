"""Shell commands as text: what they run, what they write, and what becomes of a failure.

Nothing is run here, no file is read; `guard` is standard library only, for hooks.
"""
