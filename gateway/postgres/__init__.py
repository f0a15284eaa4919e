"""The key store in Postgres."""
