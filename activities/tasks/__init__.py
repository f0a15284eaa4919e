"""Tasks: the task file and its checks, what an agent's activities know, the timeline, tasks with lost workflows."""
