"""The store of tasks, agents and calls in Postgres."""
