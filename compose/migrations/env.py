"""Run by Alembic. `compose.migrate` hands over a connection with a transaction and the advisory lock in place."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
