"""Dotted names, their IRIs, and the predicates and classes that the graph is written with."""
