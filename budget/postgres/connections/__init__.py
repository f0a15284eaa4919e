"""Reaching Postgres: pools, poolers, SQL in files."""
