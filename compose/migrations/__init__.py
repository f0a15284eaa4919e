"""Schema revisions. Each applies one `.sql` file of the package that owns the tables."""

from importlib.resources import files

from alembic import op


def apply_sql(package: str, name: str) -> None:
    """Run the script `schema/{name}` of `package` in the transaction of the migration.

    Statements of a script go to the server as one message, hence the driver's own connection: SQLAlchemy prepares
    every statement, and a prepared statement holds one command only.
    """
    script = files(package).joinpath("schema", name).read_text(encoding="utf-8")
    adapted = op.get_bind().connection.dbapi_connection
    assert adapted is not None
    adapted.run_async(lambda driver: driver.execute(script))
