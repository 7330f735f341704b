"""Gates: commands and floors that can say no, each with a result."""
