-- Budgets as they are shown.

-- Scopes with the rows that their policy resolves from and their balance in the current window. What a task requests for
-- a scope that others share applies only to its own calls: p_task, or null: the task that a scope belongs to.
-- Planning this takes ten times as long as reading a scope, so each connection does it once.
create function ledger_budgets(p_tenant text, p_task text, p_defaults jsonb, p_now timestamptz, p_scopes bigint[])
returns table (scope_id bigint, scope text, stored jsonb, template jsonb, request jsonb, window_start timestamptz, window_end timestamptz,
               spent_tokens bigint, spent_nano bigint, held_tokens bigint, held_nano bigint, granted_tokens bigint, granted_nano bigint,
               overrun_tokens bigint, overrun_nano bigint, limit_tokens bigint, limit_nano bigint, would jsonb)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
    return query
    select s.scope_id, s.kind || ':' || s.id, to_jsonb(f), to_jsonb(m), to_jsonb(q),
           calendar_start(w.start), ledger_window_end(e.win, e.zone, w.start),
           coalesce(b.spent_tokens, 0) - coalesce(r.tokens, 0), coalesce(b.spent_nano, 0) - coalesce(r.nano, 0),
           coalesce(b.held_tokens, 0), coalesce(b.held_nano, 0),
           coalesce(b.granted_tokens, 0) - o.tokens + coalesce(v.tokens, 0),
           coalesce(b.granted_nano, 0) - o.nano + coalesce(v.nano, 0),
           coalesce(b.overrun_tokens, 0) - coalesce(r.overrun_tokens, 0),
           coalesce(b.overrun_nano, 0) - coalesce(r.overrun_nano, 0), e.limit_tokens, e.limit_nano,
           (select jsonb_object_agg(c.outcome, c.calls) from shadow_counts c
            where c.tenant = p_tenant and c.scope_id = x.scope_id and c.window_start = w.start)
    from unnest(p_scopes) x (scope_id)
    cross join lateral (select * from scopes t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) s
    left join lateral (select * from policies t where t.tenant = p_tenant and t.scope_id = x.scope_id and t.task = '' offset 0) f on true
    left join lateral (select * from templated_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) m on true
    left join lateral (
        select p.* from policies p where p.tenant = p_tenant and p.scope_id = x.scope_id and p.task <> ''
          and p.task = coalesce(p_task, requesting_task(s.kind, s.id))
        order by p.updated_at desc limit 1) q on true
    cross join lateral (select * from ledger_policies(p_tenant, array[x.scope_id], coalesce(q.task, ''), p_defaults) offset 0) e
    cross join lateral (select ledger_window_start(e.win, e.zone, v_now) as start offset 0) w
    left join lateral (select t as of_window, t.* from balances t
                       where t.tenant = p_tenant and t.scope_id = x.scope_id and t.window_start = w.start offset 0) b on true
    left join lateral ledger_falls_out(case when b.rolls_at <= v_now then b.of_window end, v_now) r on true
    cross join lateral (
        select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano from grants g
        where g.tenant = p_tenant and g.scope_id = x.scope_id and g.window_start = w.start
          and g.ended_at is null and g.until <= v_now) o
    -- What the first ask of the window will roll over.
    left join lateral (
        select l.* from ledger_left_over(p_tenant, x.scope_id, e.win, e.zone, w.start, e.limit_tokens, e.limit_nano, e.rollover) l
        where e.rollover is not null and b.rolled_over_at is null and calendar_start(w.start) is not null) v on true;
end $$;

-- The scopes with a window or a time zone of their own. All others of a kind share its default, except further limits.
create view own_windows as
    select tenant, scope_id from policies where "window" is not null or timezone is not null
    union all
    select tenant, scope_id from templated_policies where "window" is not null or timezone is not null;

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
