"""Programs: started, confined, kept and ended, so that nothing outlives what started it.

What a program is for is not known here.
"""
