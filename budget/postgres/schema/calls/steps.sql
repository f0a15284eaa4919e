-- Batches of steps of holds: attempts, releases and extensions. Each step is judged by itself, in the order of the batch,
-- once the rows of all are locked in the one order: hold rows by id, then balances. So the answers are those that the
-- steps would get one after the other.

-- Locks these holds, and of the open ones the balances, unless the steps move none.
create function ledger_lock_holds(p_tenant text, p_holds bigint[], p_moves boolean) returns void language plpgsql as $$
begin
    perform 1 from (select distinct u.hold_id from unnest(p_holds) u (hold_id) order by 1 offset 0) x
    cross join lateral (select 1 from holds h where h.tenant = p_tenant and h.hold_id = x.hold_id for update offset 0) h;
    if p_moves then
        perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w))
        from (select distinct u.s, u.w
              from unnest(p_holds) x (hold_id)
              cross join lateral (select h.scope_ids, h.window_starts from holds h
                                  where h.tenant = p_tenant and h.hold_id = x.hold_id and h.state = 'held' offset 0) h
              cross join lateral unnest(h.scope_ids, h.window_starts) u (s, w)) d
        having count(*) > 0;
    end if;
end $$;

-- Whether an attempt of one of these holds may move balances: an earlier one is silent, or a top-up is due.
create function ledger_attempts_move(p_tenant text, p_holds bigint[]) returns boolean language sql stable as $$
    select exists (
        select from unnest(p_holds) x (hold_id)
        cross join lateral (select h.hold_id from holds h
                            where h.tenant = p_tenant and h.hold_id = x.hold_id and h.state = 'held'
                              and (h.tokens < h.asked_tokens or h.nano < h.asked_nano
                                   or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = h.hold_id and a.state = 'started'))
                            offset 0) h)
$$;

-- Starts attempts; see ledger_start_attempt.
create function ledger_start_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_mosts bigint[], p_most_nanos bigint[],
                                  p_defaults jsonb, p_now timestamptz)
returns table (ord bigint, outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    perform ledger_lock_holds(p_tenant, p_holds, false);
    if ledger_attempts_move(p_tenant, p_holds) then
        perform ledger_lock_holds(p_tenant, p_holds, true);
    end if;
    return query select x.ord, s.* from unnest(p_holds, p_attempts, p_mosts, p_most_nanos) with ordinality
                     x (hold_id, attempt, most_tokens, most_nano, ord)
                 cross join lateral ledger_start_attempt(p_tenant, x.hold_id, x.attempt, p_defaults, p_now, x.most_tokens, x.most_nano) s;
end $$;

-- Releases holds by id, or by key where the id is null; see ledger_release. Unused keys are closed in the order in which
-- a batch takes new ones.
create function ledger_release_many(p_tenant text, p_holds bigint[], p_keys text[], p_now timestamptz)
returns table (ord bigint, hold_id bigint, state text, charged_tokens bigint, charged_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
    insert into holds (tenant, key, state, created_at, ended_at)
    select p_tenant, k.key, 'released', v_now, v_now from (select distinct u.key from unnest(p_keys) u (key) where u.key is not null) k
    order by k.key on conflict (tenant, key) where key is not null do nothing;
    select array_agg(coalesce(u.hold_id, h.hold_id) order by u.ord) into p_holds
    from unnest(p_holds, p_keys) with ordinality u (hold_id, key, ord)
    left join lateral (select t.hold_id from holds t where t.tenant = p_tenant and t.key = u.key offset 0) h on true;
    perform ledger_lock_holds(p_tenant, p_holds, true);
    return query select x.ord, r.* from unnest(p_holds) with ordinality x (hold_id, ord)
                 cross join lateral ledger_release(p_tenant, x.hold_id, null, p_now) r;
end $$;

-- Extends holds; see ledger_extend.
create function ledger_extend_many(p_tenant text, p_holds bigint[], p_tokens bigint[], p_nanos bigint[], p_leases interval[],
                                   p_defaults jsonb, p_now timestamptz)
returns table (ord bigint, outcome text, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    perform ledger_lock_holds(p_tenant, p_holds, (select bool_or(u.tokens > 0 or u.nano > 0) from unnest(p_tokens, p_nanos) u (tokens, nano)));
    return query select x.ord, e.* from unnest(p_holds, p_tokens, p_nanos, p_leases) with ordinality
                     x (hold_id, tokens, nano, lease, ord)
                 cross join lateral ledger_extend(p_tenant, x.hold_id, x.tokens, x.nano, x.lease, p_defaults, p_now) e;
end $$;
