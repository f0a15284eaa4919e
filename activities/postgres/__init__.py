"""The task store in Postgres."""
