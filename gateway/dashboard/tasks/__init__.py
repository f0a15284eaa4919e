"""Tasks: the list, and one task as it goes."""
