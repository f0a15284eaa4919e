-- Locking balances and posting entries.

-- Locks balances in the common order. Each is found by its key: see `ledger_policies`.
create function ledger_lock(p_tenant text, p_scopes bigint[], p_windows timestamptz[]) returns void
language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform 1 from (select u.s, u.w from unnest(p_scopes, p_windows) u (s, w) order by 1, 2 offset 0) x
    cross join lateral (select 1 from balances b
                        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w for update offset 0) b;
end $$;

-- Locks balances of which some may not exist yet, and creates these. Nearly always all exist; to see that takes a fraction of
-- the time of an insert that finds nothing to do.
create function ledger_open(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz) returns void
language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform from unnest(p_scopes, p_windows) x (s, w)
    left join lateral (select true as seen from balances b
                       where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w offset 0) b on true
    where b.seen is null limit 1;
    if found then
        insert into balances (tenant, scope_id, window_start, rolls_at, updated_at)
        select p_tenant, x.s, x.w, p_now + rolling_length(x.w), p_now
        from unnest(p_scopes, p_windows) x (s, w) order by x.s, x.w on conflict do nothing;
    end if;
    perform ledger_lock(p_tenant, p_scopes, p_windows);
end $$;

-- Refuses amounts beyond that of one large call once a locked balance is halfway to the end of its range: real calls
-- cost far less, so they can still be settled.
create function ledger_countable(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_tokens bigint, p_nano bigint)
returns void language plpgsql as $$
begin
    -- In a condition of its own: together, the query would be started to find that it need not run.
    if p_tokens > 1000000000 or p_nano > 1000000000000 then
        if exists (
            select 1 from balances b
            join unnest(p_scopes, p_windows) x (s, w) on b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w
            where (p_tokens > 1000000000 and b.spent_tokens::numeric + b.held_tokens + b.granted_tokens + p_tokens > 4611686018427387904)
               or (p_nano > 1000000000000 and b.spent_nano::numeric + b.held_nano + b.granted_nano + p_nano > 4611686018427387904)) then
            raise numeric_value_out_of_range using message = 'beyond what a balance can count';
        end if;
    end if;
end $$;

-- Changes locked balances by the same amounts: one event, with an entry on each of them.
-- p_limits, p_nanos and p_modes are those that the gate applied; null leaves those of the balance.
create function ledger_post(p_tenant text, p_kind text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz,
                            p_hold bigint default null, p_attempt integer default null, p_ref text default null,
                            p_spent amount default row(0, 0), p_held amount default row(0, 0),
                            p_granted amount default row(0, 0), p_overrun amount default row(0, 0),
                            p_limits bigint[] default null, p_nanos bigint[] default null, p_modes text[] default null)
returns void language sql set enable_seqscan = off as $$
    with moved as (
        update balances b set
            spent_tokens = b.spent_tokens + (p_spent).tokens, spent_nano = b.spent_nano + (p_spent).nano,
            held_tokens = b.held_tokens + (p_held).tokens, held_nano = b.held_nano + (p_held).nano,
            granted_tokens = b.granted_tokens + (p_granted).tokens, granted_nano = b.granted_nano + (p_granted).nano,
            overrun_tokens = b.overrun_tokens + (p_overrun).tokens, overrun_nano = b.overrun_nano + (p_overrun).nano,
            overrun_back_tokens = b.overrun_back_tokens - least(0, (p_overrun).tokens),
            overrun_back_nano = b.overrun_back_nano - least(0, (p_overrun).nano),
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[x.i] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[x.i] end,
            mode = case when p_modes is null then b.mode else p_modes[x.i] end,
            seq = b.seq + 1, updated_at = p_now, dormant = false
        from unnest(p_scopes, p_windows) with ordinality x (s, w, i)
        where b.tenant = p_tenant and b.scope_id = any (p_scopes) and b.scope_id = x.s and b.window_start = x.w
        returning b.*, x.i
    ), event as (
        insert into journal (tenant, at, kind, hold_id, attempt, ref, scope_ids, window_starts, seqs,
                             d_spent_tokens, d_held_tokens, d_granted_tokens, d_overrun_tokens,
                             d_spent_nano, d_held_nano, d_granted_nano, d_overrun_nano)
        select p_tenant, p_now, p_kind, p_hold, p_attempt, p_ref, p_scopes, p_windows, array_agg(m.seq order by m.i),
               (p_spent).tokens, (p_held).tokens, (p_granted).tokens, (p_overrun).tokens,
               (p_spent).nano, (p_held).nano, (p_granted).nano, (p_overrun).nano
        from moved m
        returning number
    )
    insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                          spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                          spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
    select m.tenant, m.scope_id, m.window_start, m.seq, m.seq, e.number, e.number, p_now, p_kind in ('late', 'correction'),
           m.spent_tokens, m.held_tokens, m.granted_tokens, m.overrun_tokens,
           m.spent_nano, m.held_nano, m.granted_nano, m.overrun_nano, m.limit_tokens, m.limit_nano, m.mode
    from moved m, event e
$$;
