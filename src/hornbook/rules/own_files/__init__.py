"""The files that Hornbook itself writes, as documents: plans, and records of what happened."""
