"""A graph store that somebody else runs, asked over SPARQL 1.1."""
