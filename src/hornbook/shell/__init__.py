"""Shell commands as text: what they run, what they write, and whether they can fail.

Nothing is run here, no file is read; `guard` is standard library only, for hooks.
"""
