-- Metrics read only the balances that can count, and what all others add up to; overrun as a counter that never falls; and no
-- budget counts whose policy is in shadow.

alter table balances
    add column dormant boolean not null default false,
    add column overrun_back_tokens bigint not null default 0,
    add column overrun_back_nano bigint not null default 0;
create index balances_awake on balances (tenant, scope_id, window_start) where not dormant;

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
alter table dormant_totals alter column tenant set (n_distinct = 1);

-- Changes locked balances by the same amounts: one event, with an entry on each of them.
-- p_limits, p_nanos and p_modes are those that the gate applied; null leaves those of the balance.
create or replace function ledger_post(p_tenant text, p_kind text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz,
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

-- Posts events on locked balances: for each event, in order, an entry on every scope of its group. The scopes of all groups
-- are flattened (`f_…`). p_limits, p_nanos and p_modes are those that the gate applied to each of them; null leaves those
-- of the balances. Groups of different tasks may have different limits on one balance, so these stay with their events.
create or replace function ledger_post_many(p_tenant text, p_kinds text[], p_holds bigint[], p_attempts integer[], p_groups bigint[],
                                 p_spent bigint[], p_spent_nano bigint[], p_held bigint[], p_held_nano bigint[],
                                 p_overrun bigint[], p_overrun_nano bigint[], f_grp bigint[], f_scope bigint[], f_start timestamptz[],
                                 p_limits bigint[], p_nanos bigint[], p_modes text[], p_now timestamptz)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    -- In the order of the events, and taken under the locks.
    v_numbers bigint[] := array(select nextval('journal_number_seq') from generate_series(1, cardinality(p_kinds)));
    v_differ boolean := p_modes is not null and f_grp[1] <> f_grp[cardinality(f_grp)] and exists (
        select from unnest(f_scope, f_start, p_limits, p_nanos, p_modes) f (scope_id, start, tokens, nano, mode)
        group by f.scope_id, f.start having count(distinct row(f.tokens, f.nano, f.mode)) > 1);
begin
    with parts as materialized (
        select e.*, f.scope_id, f.start, f.pos, row_number() over (partition by f.scope_id, f.start order by e.ord) as n
        from unnest(p_groups, p_spent, p_spent_nano, p_held, p_held_nano, p_overrun, p_overrun_nano) with ordinality
             e (grp, spent, spent_nano, held, held_nano, overrun, overrun_nano, ord)
        join unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos) on f.grp = e.grp
    ), totals as (
        select m.scope_id, m.start, count(*) as n, sum(m.spent) as spent, sum(m.spent_nano) as spent_nano,
               sum(m.held) as held, sum(m.held_nano) as held_nano, sum(m.overrun) as overrun, sum(m.overrun_nano) as overrun_nano,
               (array_agg(m.pos order by m.n desc))[1] as pos
        from parts m group by m.scope_id, m.start
    ), moved as (
        update balances b set
            spent_tokens = b.spent_tokens + t.spent, spent_nano = b.spent_nano + t.spent_nano,
            held_tokens = b.held_tokens + t.held, held_nano = b.held_nano + t.held_nano,
            overrun_tokens = b.overrun_tokens + t.overrun, overrun_nano = b.overrun_nano + t.overrun_nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[t.pos] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[t.pos] end,
            mode = case when p_modes is null then b.mode else p_modes[t.pos] end,
            seq = b.seq + t.n, updated_at = p_now, dormant = false
        from totals t where b.tenant = p_tenant and b.scope_id = any (f_scope) and b.scope_id = t.scope_id and b.window_start = t.start
        returning b.*, b.seq - t.n as seq_before
    ), posted as (
        insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                              spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                              spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
        select b.tenant, b.scope_id, b.window_start, b.seq_before + 1, b.seq, v_numbers[1], v_numbers[cardinality(v_numbers)], p_now, false,
               b.spent_tokens, b.held_tokens, b.granted_tokens, b.overrun_tokens,
               b.spent_nano, b.held_nano, b.granted_nano, b.overrun_nano, b.limit_tokens, b.limit_nano, b.mode
        from moved b
    ), scopes_of as (
        select m.ord, array_agg(m.scope_id order by m.pos) as ids, array_agg(m.start order by m.pos) as starts,
               array_agg(b.seq_before + m.n order by m.pos) as seqs,
               case when v_differ then array_agg(p_limits[m.pos] order by m.pos) end as limits,
               case when v_differ then array_agg(p_nanos[m.pos] order by m.pos) end as nanos,
               case when v_differ then array_agg(p_modes[m.pos] order by m.pos) end as modes
        from parts m join moved b on b.scope_id = m.scope_id and b.window_start = m.start group by m.ord
    )
    insert into journal (tenant, number, at, kind, hold_id, attempt, scope_ids, window_starts, seqs,
                         d_spent_tokens, d_held_tokens, d_overrun_tokens, d_spent_nano, d_held_nano, d_overrun_nano,
                         limits_tokens, limits_nano, modes) overriding system value
    select p_tenant, v_numbers[s.ord], p_now, p_kinds[s.ord], p_holds[s.ord], p_attempts[s.ord], s.ids, s.starts, s.seqs,
           p_spent[s.ord], p_held[s.ord], p_overrun[s.ord], p_spent_nano[s.ord], p_held_nano[s.ord], p_overrun_nano[s.ord],
           s.limits, s.nanos, s.modes
    from scopes_of s order by s.ord;
end $$;

-- The scopes of a tenant, or for metrics of all (null), that are exhausted within a day at their current rate, and how
-- long they last, in microseconds. A unit of
-- which nothing was spent within the last hour is not exhausted, nor is a scope that has ended, is frozen or has a policy in
-- shadow. A scope without headroom left in one of its units is exhausted already.
create or replace function ledger_exhausting(p_tenant text, p_defaults jsonb, p_now timestamptz)
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

drop function ledger_current_window(text, bigint, text, text, jsonb, timestamptz);

-- The start of the current window of one scope, and whether its policy is in shadow. What its own task requests for it counts.
create function ledger_current_window(p_tenant text, p_scope bigint, p_kind text, p_id text, p_defaults jsonb, p_now timestamptz)
returns table (start timestamptz, shadow boolean) language sql stable as $$
    select ledger_window_start(e.win, e.zone, p_now), e.shadow <> '{}'
    from (select (
        select p.task from policies p where p.tenant = p_tenant and p.scope_id = p_scope and p.task <> ''
          and p.task = requesting_task(p_kind, p_id)
        order by p.updated_at desc limit 1) as task offset 0) request
    cross join lateral ledger_policies(p_tenant, array[p_scope], coalesce(request.task, ''), p_defaults) e
$$;
