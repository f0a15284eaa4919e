"""`purser demo`: a real task under a tight budget, on a temporary stack that is removed afterwards."""
