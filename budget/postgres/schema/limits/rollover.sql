-- Rollover: what is left of a calendar window is granted to the next one, up to a share of the limit.

-- What rolls over into the calendar window that begins at p_start: what is left in the one before of the limit (the lower
-- of its own and today's) and of what had rolled over into it; other grants do not. A window without a balance was not
-- used: then the whole limit is left. Nothing rolls over into the first window of a scope, nor from one of another kind.
-- Only today's limit counts where the window's own is not known: nothing was admitted in it, or what was admitted last may
-- have had the limit of a task.
create function ledger_left_over(p_tenant text, p_scope bigint, p_window text, p_zone text, p_start timestamptz,
                                 p_tokens bigint, p_nano bigint, p_share numeric)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select coalesce(least(floor(p_tokens * p_share), greatest(0, l.tokens)), 0)::bigint,
           coalesce(least(floor(p_nano * p_share), greatest(0, l.nano)), 0)::bigint
    from (select ledger_window_start(p_window, p_zone, p_start - interval '1 microsecond') as start) before
    cross join lateral (
        select b.* from balances b
        where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start < p_start
          -- A batch opens the balance of an ask that it leaves alone, and that may not reach the gate's rules.
          and (b.seq > 0 or b.limit_tokens is not null or b.limit_nano is not null)
        order by b.window_start desc limit 1) b
    cross join lateral (
        select coalesce(sum(g.tokens), 0) as tokens, coalesce(sum(g.nano), 0) as nano from grants g
        where g.tenant = p_tenant and g.scope_id = p_scope and g.ended_at is null
          and g.window_start = b.window_start and g.rolled_over) carried
    cross join lateral (select case when b.window_start = before.start then 1 else 0 end as used) u
    cross join lateral (
        select exists (select from policies r where r.tenant = p_tenant and r.scope_id = p_scope and r.task <> '')
               or (b.limit_tokens is null and b.limit_nano is null
                   and (b.spent_tokens, b.held_tokens, b.spent_nano, b.held_nano) = (0, 0, 0, 0)) as unknown offset 0) w
    cross join lateral (
        select case when w.unknown then p_tokens when b.limit_tokens is not null then least(p_tokens, b.limit_tokens) end as tokens,
               case when w.unknown then p_nano when b.limit_nano is not null then least(p_nano, b.limit_nano) end as nano) o
    cross join lateral (
        select case when p_tokens is not null then o.tokens + u.used * (carried.tokens - b.spent_tokens - b.held_tokens) end as tokens,
               case when p_nano is not null then o.nano + u.used * (carried.nano - b.spent_nano - b.held_nano) end as nano) l
    where b.window_start <= before.start and calendar_start(b.window_start) is not null
$$;

-- Whether something of a calendar window has rolled over into a later one.
create function ledger_rolled_on(p_tenant text, p_scope bigint, p_start timestamptz) returns boolean language sql stable as $$
    select exists (select from grants g where g.tenant = p_tenant and g.scope_id = p_scope and g.window_start > p_start
                                          and g.ended_at is null and g.rolled_over)
$$;

-- Grants what rolls over to locked balances of calendar windows, once for each, at its first ask.
create function ledger_roll_over(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    r record;
    v_grant bigint;
begin
    for r in update balances b set rolled_over_at = p_now from unnest(p_scopes, p_windows) x (s, w)
             where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolled_over_at is null
               and calendar_start(b.window_start) is not null
             returning b.scope_id, b.window_start loop
        -- An ask that began before the window did may not have ended yet: what it holds does not roll over. Balances are
        -- locked by window, too, so this can meet such an ask in the other order: then Postgres ends one, which is tried again.
        perform from ledger_policies(p_tenant, array[r.scope_id], '', p_defaults) p, balances b
        where p.rollover is not null and b.tenant = p_tenant and b.scope_id = r.scope_id
          and b.window_start = ledger_window_start(p.win, p.zone, r.window_start - interval '1 microsecond')
        for update of b;
        insert into grants (tenant, scope_id, window_start, tokens, nano, granted_by, created_at, rolled_over)
        select p_tenant, r.scope_id, r.window_start, o.tokens, o.nano, 'rollover', p_now, true
        from ledger_policies(p_tenant, array[r.scope_id], '', p_defaults) p
        cross join lateral ledger_left_over(p_tenant, r.scope_id, p.win, p.zone, r.window_start, p.limit_tokens, p.limit_nano, p.rollover) o
        where p.rollover is not null and (o.tokens, o.nano) <> (0, 0)
        returning grant_id into v_grant;
        if v_grant is not null then
            perform ledger_post(p_tenant, 'grant', array[r.scope_id], array[r.window_start], p_now, p_ref => v_grant::text,
                                p_granted => (select row(g.tokens, g.nano)::amount from grants g where g.tenant = p_tenant and g.grant_id = v_grant));
        end if;
    end loop;
end $$;

-- Whether a balance has to catch up with the time before the gate may count on it. Nearly always nothing is due, so the
-- gate asks this of the rows that it reads anyway.
create function ledger_due(b balances, p_now timestamptz) returns boolean language sql stable as $$
    select b.grants_end_at <= p_now or b.rolls_at <= p_now or (b.rolled_over_at is null and calendar_start(b.window_start) is not null)
$$;

-- Brings locked balances up to date: ends grants, takes out what has left a rolling window, and rolls over.
create function ledger_catch_up(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
begin
    perform ledger_end_grants(p_tenant, p_scopes, p_windows, p_now);
    perform ledger_roll_off(p_tenant, p_scopes, p_windows, p_now);
    perform ledger_roll_over(p_tenant, p_scopes, p_windows, p_defaults, p_now);
end $$;
