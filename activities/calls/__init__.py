"""Admission and settlement of one model call."""
