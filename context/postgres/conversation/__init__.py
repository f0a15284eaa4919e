"""Postgres stores of conversations: messages, facts, pins and summaries."""
