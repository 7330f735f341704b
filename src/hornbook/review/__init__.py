"""Reviews: reads what a reviewer wrote, checks it against the tree, derives the outcome."""
