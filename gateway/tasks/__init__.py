"""`/v1/tasks`."""
