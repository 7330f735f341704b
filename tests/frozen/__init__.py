"""What may not change while the code moves: answers, refusals, counts, and what the tests catch."""
