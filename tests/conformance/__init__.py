"""Suites and clients that others wrote, against a real server: `make conformance`."""
