"""Who did what: the events of all plans, whether they are whole, and how long they are kept."""
