"""Commands that work on conversations in files."""
