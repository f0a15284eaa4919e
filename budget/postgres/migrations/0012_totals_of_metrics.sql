-- Metrics read only totals of shadow counts whose balance no longer counts, and of approval requests that have ended.

alter table shadow_counts
    add column dormant boolean not null default false,
    add column dormant_calls bigint not null default 0;
create index shadow_counts_awake on shadow_counts (tenant, scope_id, window_start, outcome) where not dormant;
alter table approvals add column counted boolean not null default false;
create index approvals_uncounted on approvals (tenant, approval_id) where state <> 'pending' and not counted;

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
alter table shadow_totals alter column tenant set (n_distinct = 1);
alter table approval_totals alter column tenant set (n_distinct = 1);

-- Counts each hold once, although its answer repeats; an event for the first of each scope, window and outcome. The
-- outcomes are those of the gate, one element for each hold and scope.
create or replace function ledger_count_shadow(p_tenant text, p_holds bigint[], p_scopes text[], p_outcomes text[], p_delays bigint[],
                                    p_now timestamptz)
returns void language sql as $$
    with given as (
        select c.* from unnest(p_holds, p_scopes, p_outcomes, p_delays) c (hold_id, scope, outcome, delay_ms)
    ), locked as materialized (
        select h.hold_id from holds h
        where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.would is null order by h.hold_id for update
    ), uncounted as (
        update holds h set would = w.would
        from (select g.hold_id, jsonb_object_agg(g.scope, g.outcome) as would from given g group by 1) w
        join locked l on l.hold_id = w.hold_id
        where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = w.hold_id
        returning h.hold_id, h.scope_ids, h.window_starts, h.asked_tokens, h.asked_nano
    ), counted as (
        insert into shadow_counts as c (tenant, scope_id, window_start, outcome, calls, tokens, nano, delay_ms)
        select p_tenant, u.scope_id, u.window_start, g.outcome, count(*), sum(a.asked_tokens), sum(a.asked_nano), sum(g.delay_ms)
        from given g
        join uncounted a on a.hold_id = g.hold_id
        join scopes s on s.tenant = p_tenant and s.kind = kind_of(g.scope) and s.id = id_of(g.scope)
        join lateral unnest(a.scope_ids, a.window_starts) u (scope_id, window_start) on u.scope_id = s.scope_id
        group by 1, 2, 3, 4 order by 2, 3, 4
        on conflict (tenant, scope_id, window_start, outcome) do update set calls = c.calls + excluded.calls, tokens = c.tokens + excluded.tokens,
            nano = c.nano + excluded.nano, delay_ms = c.delay_ms + excluded.delay_ms, dormant = false
        returning c.*, xmax = 0 as first
    )
    select put_event(p_tenant, 'shadow', s.kind || ':' || s.id,
                     jsonb_build_object('outcome', f.outcome, 'window_start', calendar_start(f.window_start), 'calls', f.calls,
                                        'asked', event_amount(f.tokens, f.nano), 'delay_ms', f.delay_ms),
                     p_at => coalesce(p_now, clock_timestamp()), p_window_start => f.window_start)
    from counted f join scopes s on s.tenant = p_tenant and s.scope_id = f.scope_id where f.first order by f.scope_id, f.outcome
$$;
