"""`/v1/holds`."""
