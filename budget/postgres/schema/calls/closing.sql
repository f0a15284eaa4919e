-- Releasing, extending and expiring holds.

-- Ends a hold as 'released' or 'expired': an unreported attempt is presumed, the rest is freed.
create function ledger_close(p_tenant text, p_hold bigint, p_state text, p_now timestamptz) returns void language plpgsql as $$
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if h.state <> 'held' then
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_presume(p_tenant, p_hold, p_now);
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    perform ledger_post(p_tenant, case p_state when 'expired' then 'expire' else 'release' end, h.scope_ids, h.window_starts, p_now,
                        p_hold => p_hold, p_held => row(-h.tokens, -h.nano)::amount);
    update holds x set state = p_state, tokens = 0, nano = 0, ended_at = p_now where x.tenant = p_tenant and x.hold_id = p_hold;
end $$;

-- Releases by id or by key. An unused key is closed, so that a late ask cannot hold.
create function ledger_release(p_tenant text, p_hold bigint, p_key text, p_now timestamptz)
returns table (hold_id bigint, state text, charged_tokens bigint, charged_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_hold bigint := p_hold;
    v_state text;
begin
    if p_key is not null then
        insert into holds (tenant, key, state, created_at, ended_at) values (p_tenant, p_key, 'released', v_now, v_now)
        on conflict (tenant, key) where key is not null do nothing;
        select x.hold_id into v_hold from holds x where x.tenant = p_tenant and x.key = p_key;
    end if;
    select x.state into v_state from holds x where x.tenant = p_tenant and x.hold_id = v_hold for update;
    if not found then
        return;
    elsif v_state = 'none' then
        update holds x set state = 'released', ended_at = v_now where x.tenant = p_tenant and x.hold_id = v_hold;
        delete from waiters w where w.tenant = p_tenant and w.hold_id = v_hold;
    else
        perform ledger_close(p_tenant, v_hold, 'released', v_now);
    end if;
    return query select x.hold_id, x.state, x.charged_tokens, x.charged_nano from holds x
    where x.tenant = p_tenant and x.hold_id = v_hold;
end $$;

-- Renews the lease of an open hold and, through the gate, adds to it; p_nano as in ledger_top_up. Returns the amount that is
-- held, or the addition if it does not fit.
create function ledger_extend(p_tenant text, p_hold bigint, p_tokens bigint, p_nano bigint, p_lease interval, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    elsif h.state <> 'held' then
        return query select 'closed', h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    if p_tokens > 0 or p_nano > 0 then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        select * into t from ledger_top_up(h, 'top_up', p_tokens, p_nano, p_defaults, v_now);
        if not t.fits then
            return query select 'short', h.state, p_tokens, coalesce(p_nano, 0), h.expires_at, t.views;
            return;
        end if;
    end if;
    update holds x set expires_at = greatest(x.expires_at, v_now + coalesce(p_lease, x.lease))
    where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'extended', 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Expires holds whose lease and grace are over, one tenant after the other. Several processes may call it at the same
-- time: each takes different holds.
create function ledger_expire(p_grace interval, p_limit integer, p_now timestamptz) returns integer language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_lapsed timestamptz := v_now - p_grace;
    v_tenant text;
    v_holds bigint[];
    v_count integer := 0;
begin
    for v_tenant in select distinct due.tenant
                    from (select y.tenant from holds y where y.state = 'held' and y.expires_at < v_lapsed
                          order by y.expires_at limit p_limit) due
                    order by 1 loop
        select array_agg(x.hold_id) into v_holds from (
            select y.hold_id from holds y where y.tenant = v_tenant and y.state = 'held' and y.expires_at < v_lapsed
            order by y.expires_at limit p_limit - v_count for update skip locked) x;
        -- To keep the lock order across holds, lock all their balances first.
        perform ledger_lock(v_tenant, array_agg(d.s), array_agg(d.w))
        from (select distinct u.s, u.w from holds x cross join lateral unnest(x.scope_ids, x.window_starts) u (s, w)
              where x.tenant = v_tenant and x.hold_id = any (v_holds)) d;
        perform ledger_close(v_tenant, x.h, 'expired', v_now) from unnest(v_holds) x (h);
        v_count := v_count + coalesce(cardinality(v_holds), 0);
    end loop;
    delete from waiters w where w.last_asked < v_now - interval '1 hour';
    return v_count;
end $$;
