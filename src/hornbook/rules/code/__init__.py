"""Source code from afar: signatures, imports and what was generated, file by file."""
