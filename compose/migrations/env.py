"""Alembic environment script. `purser.compose.migrate` passes a connection that holds the advisory lock."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
