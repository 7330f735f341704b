"""One reader for each format in which teams already write rules and decisions.

`registry` lists them in the order in which they are asked; `protocol` says what a reader gives.
"""
