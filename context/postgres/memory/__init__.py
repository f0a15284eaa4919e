"""Postgres index for memory search."""
