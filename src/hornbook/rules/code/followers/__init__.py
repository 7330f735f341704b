"""How each language's references are followed to files; one module a language, paths only."""
