-- What policies in shadow would have done.

-- Counts each hold once, although its answer repeats; an event for the first of each scope, window and outcome. The
-- outcomes are those of the gate, one element for each hold and scope.
create function ledger_count_shadow(p_tenant text, p_holds bigint[], p_scopes text[], p_outcomes text[], p_delays bigint[], p_now timestamptz)
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
