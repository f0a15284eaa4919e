"""Temporal workflows: they order the steps of tasks and leave every side effect to activities."""
