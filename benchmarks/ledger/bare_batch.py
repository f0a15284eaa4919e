"""The least that a batch of holds and settlements has to write: the limit for `purser bench ledger`.

Keys are unique, balances change under locks and only if all of the batch fits, and each event has one durable entry
with its scopes. There are no policies, windows, modes, attempts, leases, warnings or answers with figures.
"""

import time
from collections.abc import Sequence

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.micro_batching import MicroBatcher

SCOPES = 3
_SCHEMA = f"""
create table bare_balances (scope_id bigint primary key, most bigint not null, spent bigint not null default 0,
                            held bigint not null default 0) with (fillfactor = 60);
create table bare_holds (hold_id bigint generated always as identity primary key, key text not null unique,
                         tokens bigint not null, charged bigint, state text not null) with (fillfactor = 70);
create table bare_entries (entry_id bigint generated always as identity primary key, at timestamptz not null,
                           kind text not null, hold_id bigint not null, scope_ids bigint[] not null,
                           held bigint not null, spent bigint not null);
insert into bare_balances (scope_id, most) select n, 1000000000000 from generate_series(1, {SCOPES}) n;
create function bare_hold(p_keys text[], p_tokens bigint[]) returns setof bigint language plpgsql as $$
declare
    v_scopes bigint[] := array(select generate_series(1, {SCOPES}));
    v_sum bigint := (select sum(n) from unnest(p_tokens) n);
    v_held bigint[];
begin
    perform 1 from bare_balances b where b.scope_id = any (v_scopes) order by b.scope_id for update;
    if exists (select from bare_balances b where b.scope_id = any (v_scopes) and b.spent + b.held + v_sum > b.most) then
        return;
    end if;
    with made as (
        insert into bare_holds (key, tokens, state)
        select u.key, u.tokens, 'held' from unnest(p_keys, p_tokens) with ordinality u (key, tokens, ord) order by u.ord
        returning hold_id)
    select array_agg(m.hold_id) into v_held from made m;
    update bare_balances b set held = b.held + v_sum where b.scope_id = any (v_scopes);
    insert into bare_entries (at, kind, hold_id, scope_ids, held, spent)
    select clock_timestamp(), 'hold', u.hold_id, v_scopes, u.tokens, 0
    from unnest(v_held, p_tokens) u (hold_id, tokens);
    return query select unnest(v_held);
end $$;
create function bare_settle(p_holds bigint[], p_used bigint[]) returns void language plpgsql as $$
declare
    v_scopes bigint[] := array(select generate_series(1, {SCOPES}));
    v_held bigint[];
begin
    perform 1 from bare_balances b where b.scope_id = any (v_scopes) order by b.scope_id for update;
    with settled as (
        update bare_holds h set state = 'settled', charged = u.used
        from unnest(p_holds, p_used) with ordinality u (hold_id, used, ord)
        where h.hold_id = any (p_holds) and h.hold_id = u.hold_id and h.state = 'held'
        returning u.ord, h.tokens)
    select array_agg(s.tokens order by s.ord) into v_held from settled s;
    update bare_balances b set held = b.held - (select sum(n) from unnest(v_held) n),
                               spent = b.spent + (select sum(n) from unnest(p_used) n)
    where b.scope_id = any (v_scopes);
    insert into bare_entries (at, kind, hold_id, scope_ids, held, spent)
    select clock_timestamp(), 'settle', u.hold_id, v_scopes, -u.held, u.used
    from unnest(p_holds, v_held, p_used) u (hold_id, held, used);
end $$;
"""


class BareLedger:
    """Holds and settles in batches, and does nothing else."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: of a database that `prepare` has seen.
        """
        self._pool = pool
        self._holds = MicroBatcher[tuple[str, int], int](self._hold_together, self._hold, lambda ask: ("", ask[0]))
        self._settles = MicroBatcher[tuple[int, int], bool](
            self._settle_together, self._settle, lambda report: ("", report[0])
        )

    async def prepare(self) -> None:
        """Creates its tables and functions."""
        await self._pool.execute(_SCHEMA)

    async def pair(self, key: str, tokens: int, used: int) -> float:
        """Holds and settles; the seconds that the hold took."""
        begun = time.perf_counter()
        hold_id = await self._holds.call((key, tokens))
        took = time.perf_counter() - begun
        await self._settles.call((hold_id, used))
        return took

    async def spent(self) -> set[tuple[int, int]]:
        """What the balances have spent and hold: one pair if they agree."""
        return {(row["spent"], row["held"]) for row in await self._pool.fetch("select spent, held from bare_balances")}

    async def _hold_together(self, asks: Sequence[tuple[str, int]]) -> list[int]:
        keys, tokens = map(list, zip(*asks, strict=True))
        rows = await self._pool.fetch("select bare_hold($1, $2)", keys, tokens)
        return [row[0] for row in rows]

    async def _settle_together(self, reports: Sequence[tuple[int, int]]) -> list[bool]:
        holds, used = map(list, zip(*reports, strict=True))
        await self._pool.execute("select bare_settle($1, $2)", holds, used)
        return [True] * len(reports)

    async def _hold(self, ask: tuple[str, int]) -> int:
        return (await self._hold_together([ask]))[0]

    async def _settle(self, report: tuple[int, int]) -> bool:
        return (await self._settle_together([report]))[0]
