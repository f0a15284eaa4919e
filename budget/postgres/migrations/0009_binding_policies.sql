-- No request of a task leaves the window of a stored mode that stops calls, or turns a default mode that does into a shadow.

-- The effective policy of each scope: stored fields, then the request of p_task, then the defaults of its kind.
-- A request may only tighten fields that are stored; under a stored limit this applies to mode, window and zone too, under
-- a stored mode that stops calls to window and zone. It turns neither these nor a default mode that stops calls into a shadow.
-- `shared_…` applies to all tasks: on a scope that several tasks share, a request applies only to the calls of its own
-- task.
-- A policy in shadow only records: the gate gets the mode `soft` and no freeze, and `shadow` has those of the policy as
-- `{"shadow": {…}}`; else it is `{}`. `ladder` likewise is `{"ladder": […]}` or `{}`: a policy in shadow has none.
-- Each `offset 0` keeps a lookup by key what it is. Without statistics, as in the first minutes of a database, the planner
-- takes a tenant for a few rows, and would read all scopes of the tenant for each one of them.
create or replace function ledger_policies(p_tenant text, p_scopes bigint[], p_task text, p_defaults jsonb)
returns table (ord bigint, scope_id bigint, scope text, limit_tokens bigint, limit_nano bigint, mode text, win text, zone text,
               warn_at numeric[], backpressure jsonb, frozen boolean, shared_tokens bigint, shared_nano bigint, shared_mode text,
               shadow jsonb, last_answer numeric, rollover numeric, ladder jsonb)
language sql stable as $$
    select x.ord, x.scope_id, s.kind || ':' || s.id,
           m.tokens, m.nano, case when a.shadow then 'soft' else m.mode end,
           coalesce(n.period, s."window", case when not k.binding then r."window" end, d.v ->> 'window'),
           coalesce(s.timezone, case when not k.binding then r.timezone end, d.v ->> 'timezone'),
           coalesce(s.warn_at, r.warn_at, array(select t::numeric from jsonb_array_elements_text(d.v -> 'warn_at') t)),
           coalesce(s.backpressure, r.backpressure),
           a.frozen and not a.shadow,
           case when k.shared then coalesce(s.limit_tokens, (d.v ->> 'limit_tokens')::bigint) else m.tokens end,
           case when k.shared then coalesce(s.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint) else m.nano end,
           case when a.shadow then 'soft' when k.shared then k.mode else m.mode end,
           case when a.shadow then jsonb_build_object('shadow', jsonb_build_object('mode', m.mode, 'frozen', a.frozen)) else '{}' end,
           coalesce(s.last_answer, r.last_answer, (d.v ->> 'last_answer')::numeric, 0),
           coalesce(s.rollover, (d.v ->> 'rollover')::numeric),
           case when a.shadow or coalesce(s.ladder, r.ladder, '[]') = '[]' then '{}'
                else jsonb_build_object('ladder', coalesce(s.ladder, r.ladder)) end
    from unnest(p_scopes) with ordinality x (scope_id, ord)
    cross join lateral (select * from stored_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) s
    -- A further limit has its period as window, and no default limits.
    cross join lateral (select nullif(split_part(s.id, '@', 2), '') as period) n
    cross join lateral (select case when n.period is null then p_defaults -> s.kind
                               else (p_defaults -> s.kind) - array['limit_tokens', 'limit_nano_usd'] end as v) d
    left join lateral (select * from policies t
                       where t.tenant = p_tenant and t.scope_id = x.scope_id and t.task = p_task and t.task <> '' offset 0) r on true
    cross join lateral (select num_nonnulls(s.limit_tokens, s.limit_nano_usd) > 0 as limited,
                               num_nonnulls(s.limit_tokens, s.limit_nano_usd, nullif(s.mode, 'soft')) > 0 as binding,
                               coalesce(s.mode, d.v ->> 'mode') as mode, is_shared(s.kind) as shared) k
    cross join lateral (select case when s.limit_tokens is null then coalesce(r.limit_tokens, (d.v ->> 'limit_tokens')::bigint)
                                    else least(s.limit_tokens, r.limit_tokens) end as tokens,
                               case when s.limit_nano_usd is null then coalesce(r.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint)
                                    else least(s.limit_nano_usd, r.limit_nano_usd) end as nano,
                               case when s.mode is null and not k.limited then coalesce(r.mode, k.mode)
                                    when 'hard' in (k.mode, r.mode) then 'hard'
                                    when 'approval' in (k.mode, r.mode) then 'approval'
                                    else 'soft' end as mode) m
    cross join lateral (select coalesce(s.frozen, r.frozen, (d.v ->> 'frozen')::boolean) or r.frozen is true as frozen,
                               case when num_nonnulls(s.limit_tokens, s.limit_nano_usd, s.mode, s.frozen, s.shadow) = 0 and d.v ->> 'mode' = 'soft'
                                    then coalesce(r.shadow, (d.v ->> 'shadow')::boolean, false)
                                    else coalesce(s.shadow, (d.v ->> 'shadow')::boolean, false) and r.shadow is not false end as shadow) a
$$;
