"""The RDF graph behind a small interface: statements, queries, generations on disk."""
