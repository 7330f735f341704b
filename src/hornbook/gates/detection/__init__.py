"""Which gates `init` finds for a repository that nobody described yet."""
