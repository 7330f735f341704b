"""What can be wrong with rules: a module for each kind of finding.

A check takes the rules as they were read before; it reads no rule itself, and writes nothing.
"""
