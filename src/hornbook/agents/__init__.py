"""Those who do the work: command lines, the embedded developer, and scripted ones for tests."""
