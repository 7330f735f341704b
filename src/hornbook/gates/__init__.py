"""Gates: commands and floors that can say no, each with a result.

A gate judges a tree; what a reviewer thinks of it does not come in.
"""
