"""Who may come in over HTTP: the secret of this machine, tokens, sessions, and what each may do."""
