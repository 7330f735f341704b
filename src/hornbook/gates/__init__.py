"""Gates: commands and floors that can say no, each with a result.

`cannot_fail` refuses commands that could never say no. A gate judges a tree; what a reviewer thinks
of it does not come in.
"""
