"""Reads documents: finds them, understands their frontmatter, cuts them into chunks."""
