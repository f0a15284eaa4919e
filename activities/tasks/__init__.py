"""Tasks: the task file, its checks, and the timeline of what happened."""
