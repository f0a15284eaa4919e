"""How many rows statements read, as Postgres counts them."""

from purser.budget.postgres.connections.pools import Pool

_READ = """
select t.relname, t.seq_tup_read + sum(i.idx_tup_read)::bigint as read from pg_stat_user_tables t
join pg_stat_user_indexes i on i.relid = t.relid
where t.relname = any($1)
group by t.relname, t.seq_tup_read
"""


async def rows_read(pool: Pool, *tables: str) -> dict[str, int]:
    """Rows read so far of some tables, of whole tables and of indexes together."""
    await pool.execute("select pg_stat_force_next_flush()")
    await pool.execute("select pg_stat_clear_snapshot()")
    return {row["relname"]: row["read"] for row in await pool.fetch(_READ, tables)}
