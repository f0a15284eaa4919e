"""The page of changes: who changed what, when, and from what to what."""
