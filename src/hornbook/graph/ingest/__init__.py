"""From files to the next generation: survey, work, documents, history, publication."""
