"""Agents: what does the work of a role, behind one seam."""
