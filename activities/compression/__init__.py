"""Writing the next version of a summary."""
