"""Alembic environment: the revisions that lead to the current schema.

The package that owns a table owns its SQL: `schema/` holds the current schema, a file for each subject; `migrations/`
holds the scripts of the revisions. A test compares both. A script of a release is never edited.
"""

from importlib.resources import files

from alembic import op


def apply_sql(package: str, path: str) -> None:
    """Run a script of `package` in the transaction of the migration.

    A script goes to the server as one message, through the driver's own connection: SQLAlchemy prepares every
    statement, and a prepared statement holds only one command.
    """
    adapted = op.get_bind().connection.dbapi_connection
    assert adapted is not None
    script = files(package).joinpath(path).read_text(encoding="utf-8")
    adapted.run_async(lambda driver: driver.execute(script))
