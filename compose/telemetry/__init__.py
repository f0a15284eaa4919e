"""Logging and metrics of a process."""
