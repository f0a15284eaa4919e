"""Postgres stores of conversations, memory and sessions."""
