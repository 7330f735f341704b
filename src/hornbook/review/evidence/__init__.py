"""What a review rests on: places and quotes read, looked up, and held against the change."""
