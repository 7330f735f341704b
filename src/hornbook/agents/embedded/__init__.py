"""The embedded developer: stateless steps on a model, each built from what is on disk."""
