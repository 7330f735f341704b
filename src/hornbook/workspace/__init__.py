"""The only place that turns configuration into objects."""
