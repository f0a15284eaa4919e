"""Approvals in Postgres."""
