"""The pages of tasks: the list, and one task with its progress."""
