"""`purser demo`: a real task under a tight budget, in a house of its own that is gone afterwards."""
