"""What stands before a body: frontmatter, read strictly, else leniently, with lines."""
