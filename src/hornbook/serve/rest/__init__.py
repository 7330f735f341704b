"""REST under `/api/v1`: routes, and the shapes of bodies and answers."""
