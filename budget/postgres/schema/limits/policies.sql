-- Resolving and setting policies.

-- The effective policy of each scope: stored fields, then the request of p_task, then the defaults of its kind.
-- A request may only tighten fields that are stored; under a stored limit this applies to mode, window and zone too, under
-- a stored mode that stops calls to window and zone. It turns neither these nor a default mode that stops calls into a shadow.
-- `shared_…` applies to all tasks: on a scope that several tasks share, a request applies only to the calls of its own
-- task.
-- A policy in shadow only records: the gate gets the mode `soft` and no freeze, and `shadow` has those of the policy as
-- `{"shadow": {…}}`; else it is `{}`. `ladder` likewise is `{"ladder": […]}` or `{}`: a policy in shadow has none.
-- Each `offset 0` keeps a lookup by key what it is. Without statistics, as in the first minutes of a database, the planner
-- takes a tenant for a few rows, and would read all scopes of the tenant for each one of them.
create function ledger_policies(p_tenant text, p_scopes bigint[], p_task text, p_defaults jsonb)
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

-- The shared limits of a scope if the gate applies others because a task requested them: warnings follow the shared
-- ones.
create function ledger_shared(p_tokens bigint, p_nano bigint, p_mode text, p_shared_tokens bigint, p_shared_nano bigint, p_shared_mode text)
returns jsonb language sql stable as $$
    select case when p_tokens is not distinct from p_shared_tokens and p_nano is not distinct from p_shared_nano and p_mode = p_shared_mode
           then '{}' else jsonb_build_object('shared', jsonb_build_object(
               'limit', jsonb_build_array(p_shared_tokens, p_shared_nano), 'mode', p_shared_mode)) end
$$;

-- The part of a limit that only last calls may use. Whole amounts, so that it is the same everywhere.
create function ledger_reserve(p_limit bigint, p_mode text, p_share numeric) returns bigint language sql immutable parallel safe
return case when p_mode = 'soft' or p_share = 0 then 0 else coalesce(floor(p_limit * p_share)::bigint, 0) end;

-- What is left for one ask. An ordinary ask leaves the reserve alone. Each of the p_last_of calls that share the reserve
-- may use its part of it, so that all of them fit, or what an ordinary ask may use, if that is more.
create function ledger_room(p_left bigint, p_reserve bigint, p_last_of integer) returns bigint language sql immutable parallel safe
return case when p_left is null then null
            when coalesce(p_last_of, 0) = 0 then p_left - p_reserve
            else least(p_left, greatest(p_reserve / p_last_of, p_left - p_reserve)) end;

-- The gate's view of a reserve; empty if there is none.
create function ledger_reserved(p_tokens bigint, p_nano bigint, p_last_of integer) returns jsonb language sql stable parallel safe
return case when p_tokens = 0 and p_nano = 0 then '{}'
            else jsonb_build_object('reserve', jsonb_build_array(p_tokens, p_nano), 'last_of', coalesce(p_last_of, 0)) end;

-- Locks the balances of the scopes, and returns the policies that apply to them.
create function ledger_applied_policies(p_tenant text, p_scopes bigint[], p_defaults jsonb) returns applied_policy[] language plpgsql as $$
begin
    perform 1 from balances b where b.tenant = p_tenant and b.scope_id = any (p_scopes) order by b.scope_id, b.window_start for update;
    return array(select row(p.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win, p.zone)::applied_policy
                 from ledger_policies(p_tenant, p_scopes, '', p_defaults) p);
end $$;

-- Posts an entry for each balance in use whose limit or mode differs from `p_before`. A scope that has ended gets none. A
-- calendar window of another kind may go on with the balance of one that began at the same instant, as a month with that of
-- its first day: the grants in it were for that window, so they end.
-- A balance whose window was not the current one until now may have missed changes: its own limit and mode are those that
-- differ, unless they may be those that a task requested. One of which no entry says a limit, such as of a grant alone, has none.
create function ledger_post_policies(p_tenant text, p_before applied_policy[], p_by text, p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    b record;
    v_change text;
begin
    for b in select n.scope_id, x.window_start, case when m.moved then x.limit_tokens else o.limit_tokens end as old_tokens,
                    case when m.moved then x.limit_nano else o.limit_nano end as old_nano,
                    case when m.moved then x.mode else o.mode end as old_mode,
                    n.limit_tokens as new_tokens, n.limit_nano as new_nano, n.mode as new_mode,
                    n.win <> o.win and calendar_start(x.window_start) is not null as other_window
             from ledger_policies(p_tenant, array(select u.scope_id from unnest(p_before) u), '', p_defaults) n
             join unnest(p_before) o on o.scope_id = n.scope_id
             join scopes s on s.tenant = p_tenant and s.scope_id = n.scope_id and s.ended_at is null
             join balances x on x.tenant = p_tenant and x.scope_id = n.scope_id and x.window_start = ledger_window_start(n.win, n.zone, p_now)
             cross join lateral (
                 select x.window_start <> ledger_window_start(o.win, o.zone, p_now)
                    and (exists (select from balance_moves e where e.tenant = p_tenant and e.scope_id = x.scope_id and e.window_start = x.window_start
                                   and e.kind in ('hold', 'top_up', 'limit_raised', 'limit_lowered', 'mode_changed'))
                         or exists (select from closings c where c.tenant = p_tenant and c.scope_id = x.scope_id and c.window_start = x.window_start))
                    and not exists (
                        select from policies r where r.tenant = p_tenant and r.scope_id = n.scope_id and r.task <> ''
                        and (r.limit_tokens = x.limit_tokens or r.limit_nano_usd = x.limit_nano or r.mode = x.mode)) as moved) m
             order by n.scope_id loop
        v_change := case
            when (b.new_tokens < coalesce(b.old_tokens, b.new_tokens + 1)) is true
              or (b.new_nano < coalesce(b.old_nano, b.new_nano + 1)) is true then 'limit_lowered'
            when b.new_tokens is distinct from b.old_tokens or b.new_nano is distinct from b.old_nano then 'limit_raised'
            when b.new_mode <> b.old_mode then 'mode_changed' end;
        if v_change is not null then
            perform ledger_post(p_tenant, v_change, array[b.scope_id], array[b.window_start], p_now, p_ref => p_by,
                                p_limits => array[b.new_tokens], p_nanos => array[b.new_nano], p_modes => array[b.new_mode]);
        end if;
        if b.other_window then
            perform ledger_end_grants(p_tenant, array[b.scope_id], array[b.window_start], p_now, p_all => true);
        end if;
    end loop;
end $$;

-- The fields that a scope's stored policy sets; null: no policy is stored.
create function ledger_stored_fields(p_tenant text, p_scope bigint) returns jsonb language sql stable as $$
    select jsonb_strip_nulls(to_jsonb(p) - array['tenant', 'scope_id', 'task', 'sources', 'updated_by', 'updated_at'])
    from policies p where p.tenant = p_tenant and p.scope_id = p_scope and p.task = ''
$$;

-- Stores the fields of one source (p_task) for different scopes: p_clear is left to the next source, unless p_patches sets
-- it. Posts an entry for each balance in use whose limit or mode this changes. Returns the stored fields before and after,
-- unless they are those of a task's request. The scopes are locked before their balances, as everywhere, so that their
-- stored fields cannot change in between.
-- Planning it takes longer than running it, so each connection does it once.
create function ledger_set_policies(p_tenant text, p_scopes text[], p_task text, p_patches jsonb[], p_clear text[], p_sources jsonb[], p_by text,
                                    p_defaults jsonb, p_now timestamptz)
returns table (scope text, before jsonb, after jsonb) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_scopes bigint[];
    v_stored jsonb[];
    v_before applied_policy[];
begin
    perform v_now at time zone (u.patch ->> 'timezone') from unnest(p_patches) u (patch);
    insert into scopes (tenant, kind, id) select p_tenant, kind_of(u.name), id_of(u.name) from unnest(p_scopes) u (name)
    order by 2, 3 on conflict do nothing;
    v_scopes := array(select s.scope_id from unnest(p_scopes) with ordinality u (name, ord)
                      cross join lateral (select t.scope_id from scopes t
                                          where t.tenant = p_tenant and t.kind = kind_of(u.name) and t.id = id_of(u.name) offset 0) s
                      order by u.ord);
    if p_task = '' then
        perform from scopes s where s.tenant = p_tenant and s.scope_id = any (v_scopes) order by s.scope_id for no key update;
        v_stored := array(select ledger_stored_fields(p_tenant, u.scope_id) from unnest(v_scopes) with ordinality u (scope_id, ord)
                          order by u.ord);
    end if;
    v_before := ledger_applied_policies(p_tenant, v_scopes, p_defaults);
    -- An approval may be about to raise what its task has requested.
    perform from policies p where p.tenant = p_tenant and p.scope_id = any (v_scopes) and p.task = p_task order by p.scope_id for update;
    insert into policies
    select f.* from unnest(v_scopes, p_patches, p_sources) u (scope_id, patch, sources)
    left join policies p on p.tenant = p_tenant and p.scope_id = u.scope_id and p.task = p_task
    cross join lateral jsonb_populate_record(p, jsonb_object(p_clear, array_fill(null::text, array[cardinality(p_clear)])) || u.patch
        || jsonb_build_object('tenant', p_tenant, 'scope_id', u.scope_id, 'task', p_task, 'sources', coalesce(p.sources, '{}') || u.sources,
                              'updated_by', p_by, 'updated_at', v_now)) f
    on conflict (tenant, scope_id, task) do update set
        (limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure, approval, frozen, shadow,
         learned_holds, last_answer, rollover, ladder, sources, updated_by, updated_at)
        = (excluded.limit_tokens, excluded.limit_nano_usd, excluded.mode, excluded."window", excluded.timezone, excluded.warn_at,
           excluded.backpressure, excluded.approval, excluded.frozen, excluded.shadow,
           excluded.learned_holds, excluded.last_answer, excluded.rollover, excluded.ladder,
           excluded.sources, excluded.updated_by, excluded.updated_at);
    if p_task = '' then
        -- A policy without fields is none: a label does not join because of it.
        delete from policies p where p.tenant = p_tenant and p.scope_id = any (v_scopes) and p.task = ''
          and ledger_stored_fields(p_tenant, p.scope_id) = '{}';
        perform ledger_post_policies(p_tenant, v_before, p_by, p_defaults, v_now);
        return query select u.name, u.stored, ledger_stored_fields(p_tenant, u.scope_id)
                     from unnest(p_scopes, v_stored, v_scopes) u (name, stored, scope_id);
    end if;
end $$;

-- Stores the fields of one scope, for workers of earlier releases.
create function ledger_set_policy(p_tenant text, p_scope text, p_task text, p_patch jsonb, p_clear text[], p_sources jsonb, p_by text,
                                  p_defaults jsonb, p_now timestamptz, out before jsonb, out after jsonb)
language sql as $$
    select p.before, p.after from ledger_set_policies(p_tenant, array[p_scope], p_task, array[p_patch - p_clear], p_clear, array[p_sources],
                                                      p_by, p_defaults, p_now) p
$$;

-- Stores the fields of a template, or removes it (null); effective from the next hold, with an entry for each balance in
-- use whose limit or mode this changes. The caller holds `template_lock`.
create function ledger_set_template(p_tenant text, p_pattern text, p_fields jsonb, p_by text, p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_scopes bigint[];
    v_before applied_policy[];
begin
    perform v_now at time zone (p_fields ->> 'timezone');
    select coalesce(array_agg(s.scope_id), '{}') into v_scopes
    from scopes s where s.tenant = p_tenant and template_matches(p_pattern, s.kind, s.id);
    v_before := ledger_applied_policies(p_tenant, v_scopes, p_defaults);
    if p_fields is null then
        delete from policy_templates where tenant = p_tenant and pattern = p_pattern;
    else
        insert into policy_templates (tenant, pattern, fields, updated_by, updated_at) values (p_tenant, p_pattern, p_fields, p_by, v_now)
        on conflict (tenant, pattern) do update set fields = excluded.fields, updated_by = excluded.updated_by, updated_at = excluded.updated_at;
    end if;
    perform ledger_apply_templates(p_tenant, v_scopes);
    perform ledger_post_policies(p_tenant, v_before, p_by, p_defaults, v_now);
end $$;
