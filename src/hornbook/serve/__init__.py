"""GraphQL and HTTP over the workspace: thin adapters, no answers of their own."""
