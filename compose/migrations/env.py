"""Run by Alembic. `purser.compose.migrate` hands over a connection with a transaction and the advisory lock."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
