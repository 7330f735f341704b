"""Git: commits, changes, work trees, and what is written to a repository.

Nothing here knows rules, plans or reviews; every git process is started here.
"""
