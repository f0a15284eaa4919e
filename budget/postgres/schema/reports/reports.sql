-- Support for reports: samples of balances, from which burn rates are computed without an extra write per call, and the
-- functions that read them.

-- What a balance had spent at a time. Rows are written when it changes: between two equal rows it was idle.
create table balance_samples (
    tenant       text not null,
    scope_id     bigint not null,
    window_start timestamptz not null,
    at           timestamptz not null,
    spent_tokens bigint not null,
    spent_nano   bigint not null,
    primary key (tenant, scope_id, window_start, at)
);
create index balance_samples_at on balance_samples (at);

-- When balances were last sampled.
create table balance_sampling (
    one        boolean primary key default true check (one),
    sampled_at timestamptz not null
);

-- What dormant balances have charged, and so on, in all: metrics read this instead of them. Rows are added up from time to time.
-- Further limits are left out: they count what their scopes count.
create table dormant_totals (
    tenant         text not null,
    total_id       bigint generated always as identity,
    kind           text not null,
    mode           text not null,
    charged_tokens bigint not null,
    charged_nano   bigint not null,
    granted_tokens bigint not null,
    granted_nano   bigint not null,
    overrun_tokens bigint not null,
    overrun_nano   bigint not null,
    primary key (tenant, total_id)
);

-- The calls of dormant shadow counts, and how long counted approval requests had waited: metrics read these instead of them.
create table shadow_totals (
    tenant  text not null,
    kind    text not null,
    outcome text not null,
    calls   bigint not null,
    primary key (tenant, kind, outcome)
);
create table approval_totals (
    tenant   text not null,
    state    text not null,
    up_to_s  double precision not null,               -- upper bound of their waits, and more than the next lower bound
    requests bigint not null,
    waited_s double precision not null,               -- the sum of their waits
    primary key (tenant, state, up_to_s)
);

-- The seconds that an approval request waited, and the lowest of the bounds that is not below; infinity if all are.
create function waited(a approvals, p_bounds double precision[])
returns table (seconds double precision, up_to_s double precision) language sql immutable rows 1 as $$
    select w.seconds, coalesce((select min(x.bound) from unnest(p_bounds) x (bound) where x.bound >= w.seconds), 'infinity')
    from (select extract(epoch from a.decided_at - a.created_at)::double precision as seconds) w
$$;

-- What a balance was charged in all, with what has fallen out of a rolling window, and its overrun, from which nothing is
-- taken back.
create function ledger_in_all(b balances)
returns table (charged_tokens bigint, charged_nano bigint, overrun_tokens bigint, overrun_nano bigint)
language sql immutable as $$
    select b.spent_tokens + b.rolled_tokens, b.spent_nano + b.rolled_nano,
           b.overrun_tokens + b.overrun_back_tokens, b.overrun_nano + b.overrun_back_nano
$$;

create function count_dormant() returns trigger language plpgsql as $$
begin
    insert into dormant_totals (tenant, kind, mode, charged_tokens, charged_nano, granted_tokens, granted_nano, overrun_tokens, overrun_nano)
    select s.tenant, s.kind, x.mode, x.sign * a.charged_tokens, x.sign * a.charged_nano, x.sign * x.granted_tokens, x.sign * x.granted_nano,
           x.sign * a.overrun_tokens, x.sign * a.overrun_nano
    from scopes s
    cross join lateral (select -1 as sign, old as b, old.mode, old.granted_tokens, old.granted_nano where old.dormant
                        union all select 1, new, new.mode, new.granted_tokens, new.granted_nano where new.dormant) x
    cross join lateral ledger_in_all(x.b) a
    where s.tenant = new.tenant and s.scope_id = new.scope_id and strpos(s.id, '@') = 0;
    return null;
end $$;
create trigger balances_dormant after update on balances
    for each row when (old.dormant or new.dormant) execute function count_dormant();

-- What a balance had spent at a time, interpolated linearly between two samples; no row before the first.
create function ledger_spent_at(p_tenant text, p_scope bigint, p_window timestamptz, p_at timestamptz,
                                p_now timestamptz, p_tokens bigint, p_nano bigint)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select a.spent_tokens + div((coalesce(z.spent_tokens, p_tokens) - a.spent_tokens) * g.gone, g.whole)::bigint,
           a.spent_nano + div((coalesce(z.spent_nano, p_nano) - a.spent_nano) * g.gone, g.whole)::bigint
    from (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.tenant = p_tenant and s.scope_id = p_scope and s.window_start = p_window and s.at <= p_at order by s.at desc limit 1) a
    left join lateral (
          select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.tenant = p_tenant and s.scope_id = p_scope and s.window_start = p_window and s.at > p_at and s.at < p_now
          order by s.at limit 1) z on true
    cross join lateral (select extract(epoch from p_at - a.at) * 1000000 as gone,
        extract(epoch from coalesce(z.at, p_now) - a.at) * 1000000 as whole) g
$$;

-- Limits and mode of a balance as the gate applied them last; on a shared scope for which a task has requested others,
-- those of the scope itself.
create function ledger_shared_limits(b balances, p_defaults jsonb)
returns table (tokens bigint, nano bigint, mode text) language sql stable as $$
    select case when e.scope_id is null then b.limit_tokens else e.limit_tokens end,
           case when e.scope_id is null then b.limit_nano else e.limit_nano end, coalesce(e.mode, b.mode)
    from (select) one
    left join lateral (
        select p.* from ledger_policies(b.tenant, array[b.scope_id], '', p_defaults) p
        where exists (select from policies r join scopes s on s.tenant = r.tenant and s.scope_id = r.scope_id
                      where r.tenant = b.tenant and r.scope_id = b.scope_id and r.task <> '' and is_shared(s.kind))) e on true
$$;

-- The scopes of a tenant, or for metrics of all (null), that are exhausted within a day at their current rate, and how
-- long they last, in microseconds. A unit of
-- which nothing was spent within the last hour is not exhausted, nor is a scope that has ended, is frozen or has a policy in
-- shadow. A scope without headroom left in one of its units is exhausted already.
create function ledger_exhausting(p_tenant text, p_defaults jsonb, p_now timestamptz)
returns table (tenant text, kind text, id text, mode text, lasts numeric) language sql stable as $$
    with clock as materialized (
        select coalesce(p_now, now()) as now
    ), live as materialized (
        select b.tenant, b.scope_id, b.window_start, l.mode, n.spent_tokens, n.spent_nano,
               l.tokens + b.granted_tokens - n.spent_tokens - b.held_tokens as room_tokens,
               l.nano + b.granted_nano - n.spent_nano - b.held_nano as room_nano
        from clock c, balances b cross join lateral ledger_shared_limits(b, p_defaults) l
        left join lateral ledger_falls_out(case when b.rolls_at <= c.now then b end, c.now) o on true
        cross join lateral (select b.spent_tokens - coalesce(o.tokens, 0) as spent_tokens,
                                   b.spent_nano - coalesce(o.nano, 0) as spent_nano) n
        where (p_tenant is null or b.tenant = p_tenant) and not b.dormant and b.updated_at > c.now - interval '24 hours'
          and (l.tokens is not null or l.nano is not null)
    ), paced as materialized (
        select l.tenant, l.scope_id, l.window_start, l.mode, c.now, r.lasts
        from live l cross join clock c
        join lateral (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
                      where s.tenant = l.tenant and s.scope_id = l.scope_id and s.window_start = l.window_start order by s.at limit 1) f
                          on f.at <= c.now - interval '60 seconds'
        left join lateral ledger_spent_at(l.tenant, l.scope_id, l.window_start, c.now - interval '1 hour', c.now,
            l.spent_tokens, l.spent_nano) h on true
        cross join lateral (select l.spent_tokens - coalesce(h.tokens, f.spent_tokens) as tokens,
            l.spent_nano - coalesce(h.nano, f.spent_nano) as nano) q
        -- If more is left than was ever spent, it lasts for more than a day at the rate of a day.
        left join lateral ledger_spent_at(l.tenant, l.scope_id, l.window_start,
            case when l.room_tokens <= l.spent_tokens or l.room_nano <= l.spent_nano then c.now - interval '24 hours' end,
            c.now, l.spent_tokens, l.spent_nano) d on true
        cross join lateral (values
            (l.room_tokens, q.tokens, q.tokens, least(interval '1 hour', c.now - f.at)),
            (l.room_tokens, q.tokens, l.spent_tokens - coalesce(d.tokens, f.spent_tokens), least(interval '24 hours', c.now - f.at)),
            (l.room_nano, q.nano, q.nano, least(interval '1 hour', c.now - f.at)),
            (l.room_nano, q.nano, l.spent_nano - coalesce(d.nano, f.spent_nano), least(interval '24 hours', c.now - f.at))) v (room, lately,
                burnt, over)
        cross join lateral (select div(v.room * extract(epoch from v.over) * 1000000, nullif(greatest(v.burnt, 0), 0)) as lasts) r
        where least(l.room_tokens, l.room_nano) > 0 and v.room > 0 and v.lately > 0 and r.lasts <= 86400000000
    ), soon as (
        select tenant, scope_id, window_start, mode, now, min(lasts) as lasts from paced group by 1, 2, 3, 4, 5
    )
    select s.tenant, s.kind, s.id, x.mode, x.lasts
    from soon x
    join scopes s on s.tenant = x.tenant and s.scope_id = x.scope_id
    left join lateral (
        select p.task from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.task <> ''
          and p.task = requesting_task(s.kind, s.id)
        order by p.updated_at desc limit 1) request on true
    cross join lateral ledger_policies(s.tenant, array[s.scope_id], coalesce(request.task, ''), p_defaults) e
    cross join lateral (select ledger_window_start(e.win, e.zone, x.now) as start) w
    where x.window_start = w.start and s.ended_at is null and not e.frozen and e.shadow = '{}'
      and (calendar_start(w.start) is null or x.lasts < extract(epoch from ledger_window_end(e.win, e.zone, w.start) - x.now) * 1000000)
$$;
