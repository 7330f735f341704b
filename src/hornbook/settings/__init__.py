"""Settings: every key of `.hornbook/config.yaml` as a plain value with its file and line.

No room's knowledge comes in: a room hands in the checks that only it can make.
"""
