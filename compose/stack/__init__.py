"""The embedded stack: real Postgres and a real Temporal server from pip packages, no Docker, no root."""
