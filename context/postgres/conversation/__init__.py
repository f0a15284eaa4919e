"""Messages, facts, pins and summaries in Postgres."""
