"""Rule documents: found, read in every tool's format, chunked, named, and bound to files.

Values in, values out: no store, no plan, no review.
"""
