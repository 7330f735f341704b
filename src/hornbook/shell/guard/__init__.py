"""What a command line would write; standard library only, for a hook starts at every call."""
