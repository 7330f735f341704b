"""Those who do the work: command lines, the embedded developer, and scripted ones for tests.

An agent is asked and never believed; what follows from its answer is decided elsewhere.
"""
