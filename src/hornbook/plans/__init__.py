"""Plans: their text, the log of events that is the truth about them, and what it adds up to.

Nothing here asks the graph or an agent; runs are known by their events only.
"""
