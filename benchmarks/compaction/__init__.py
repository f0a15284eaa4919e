"""What compaction keeps, how small it gets, what it breaks, and what is left after many of them."""
