"""Temporal activities, the side effects of the workflows: one activity per file, thin and idempotent."""
