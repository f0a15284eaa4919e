"""The ledger in Postgres."""
