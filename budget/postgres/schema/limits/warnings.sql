-- Writes an event for each warning threshold that a locked balance has reached, once per scope and window.
-- A policy that only records fires none.
-- p_policies: for each balance an object with `scope`, `mode`, `limit`, `warn_at` and optionally `shared`, as in
-- ledger_views.
create function ledger_warn(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[], p_now timestamptz)
returns void language sql set enable_seqscan = off as $$
    with reached as (
        select b.*, p.policy, t.threshold::numeric as threshold
        from unnest(p_scopes, p_windows, p_policies) x (scope_id, window_start, policy)
        cross join lateral (select x.scope_id, x.window_start, x.policy || coalesce(x.policy -> 'shared', '{}') as policy) p
        cross join lateral (select * from balances t
                            where t.tenant = p_tenant and t.scope_id = p.scope_id and t.window_start = p.window_start offset 0) b
        cross join lateral jsonb_array_elements_text(p.policy -> 'warn_at') t (threshold)
        where t.threshold::numeric <> all (b.warned_at) and not p.policy ? 'shadow'
          and ((b.spent_tokens + b.held_tokens >= t.threshold::numeric * ((p.policy -> 'limit' ->> 0)::bigint + b.granted_tokens)) is true
            or (b.spent_nano + b.held_nano >= t.threshold::numeric * ((p.policy -> 'limit' ->> 1)::bigint + b.granted_nano)) is true)
    ), fired as (
        insert into events (tenant, at, kind, scope, window_start, threshold, data)
        select r.tenant, p_now, 'threshold', r.policy ->> 'scope',
               coalesce(p_now - rolling_length(r.window_start), r.window_start), r.threshold, jsonb_build_object(
                   'mode', r.policy -> 'mode',
                   'limit', event_amount((r.policy -> 'limit' ->> 0)::bigint, (r.policy -> 'limit' ->> 1)::bigint),
                   'granted', event_amount(r.granted_tokens, r.granted_nano),
                   'spent', event_amount(r.spent_tokens, r.spent_nano), 'held', event_amount(r.held_tokens, r.held_nano))
        from reached r order by r.scope_id, r.threshold
        on conflict do nothing
    )
    update balances b set warned_at = b.warned_at || r.thresholds
    from (select scope_id, window_start, array_agg(threshold) as thresholds from reached group by 1, 2) r
    where b.tenant = p_tenant and b.scope_id = r.scope_id and b.window_start = r.window_start
$$;
