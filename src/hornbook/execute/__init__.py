"""What runs: task templates, loaded as data and validated before anything starts."""
