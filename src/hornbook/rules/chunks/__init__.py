"""A document's body as blocks, outline and chunks: lossless and deterministic."""
