"""The version of Hornbook."""

__version__ = "0.1.0"
