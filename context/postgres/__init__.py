"""The conversation store in Postgres."""
