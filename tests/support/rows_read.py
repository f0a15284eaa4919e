"""How many rows statements read, as Postgres counts them."""

from purser.budget.postgres.connections.pools import Pool

# Not `idx_tup_read`, which counts entries of old versions too, for as long as nobody has removed them.
_READ = """
select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables
where $1 = '{}'::text[] or relname = any($1)
"""


async def rows_read(pool: Pool, *tables: str) -> dict[str, int]:
    """Rows read so far of some tables, or of all if none is named; of whole tables and of indexes together."""
    await pool.execute("select pg_stat_force_next_flush()")
    await pool.execute("select pg_stat_clear_snapshot()")
    return {row["relname"]: row["read"] for row in await pool.fetch(_READ, tables)}
