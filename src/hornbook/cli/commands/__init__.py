"""The commands, a module for each group: what they ask of the workspace, and how it is shown."""
