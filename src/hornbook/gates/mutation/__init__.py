"""Mutants: faults that are put into added lines, to see whether any test notices."""
