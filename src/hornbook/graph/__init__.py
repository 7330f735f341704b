"""The RDF graph: statements, stores, generations on disk, and what is asked of them.

An index of files and events that can be deleted; only here are RDF libraries imported.
"""
