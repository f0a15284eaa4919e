-- Resolving and setting policies.

-- The effective policy of each scope: stored fields, then the request of p_task, then the defaults of its kind.
-- A request may only tighten fields that are stored; under a stored limit this applies to mode, window and zone too.
-- `shared_…` applies to all tasks: on a scope that several tasks share, a request applies only to the calls of its own
-- task.
create function ledger_policies(p_tenant text, p_scopes bigint[], p_task text, p_defaults jsonb)
returns table (ord bigint, scope_id bigint, scope text, limit_tokens bigint, limit_nano bigint, mode text, win text, zone text,
               warn_at numeric[], backpressure jsonb, frozen boolean, shared_tokens bigint, shared_nano bigint, shared_mode text)
language sql stable as $$
    select x.ord, x.scope_id, c.kind || ':' || c.id,
           m.tokens, m.nano, m.mode,
           coalesce(s."window", case when not k.limited then r."window" end, d.v ->> 'window'),
           coalesce(s.timezone, case when not k.limited then r.timezone end, d.v ->> 'timezone'),
           coalesce(s.warn_at, r.warn_at, array(select t::numeric from jsonb_array_elements_text(d.v -> 'warn_at') t)),
           coalesce(s.backpressure, r.backpressure),
           coalesce(s.frozen, r.frozen, (d.v ->> 'frozen')::boolean) or r.frozen is true,
           case when k.shared then coalesce(s.limit_tokens, (d.v ->> 'limit_tokens')::bigint) else m.tokens end,
           case when k.shared then coalesce(s.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint) else m.nano end,
           case when k.shared then k.mode else m.mode end
    from unnest(p_scopes) with ordinality x (scope_id, ord)
    join scopes c on c.tenant = p_tenant and c.scope_id = x.scope_id
    cross join lateral (select p_defaults -> c.kind as v) d
    left join policies s on s.tenant = p_tenant and s.scope_id = x.scope_id and s.task = ''
    left join policies r on r.tenant = p_tenant and r.scope_id = x.scope_id and r.task = p_task and r.task <> ''
    cross join lateral (select s.limit_tokens is not null or s.limit_nano_usd is not null as limited, coalesce(s.mode, d.v ->> 'mode') as mode,
                               is_shared(c.kind) as shared) k
    cross join lateral (select case when s.limit_tokens is null then coalesce(r.limit_tokens, (d.v ->> 'limit_tokens')::bigint)
                                    else least(s.limit_tokens, r.limit_tokens) end as tokens,
                               case when s.limit_nano_usd is null then coalesce(r.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint)
                                    else least(s.limit_nano_usd, r.limit_nano_usd) end as nano,
                               case when s.mode is null and not k.limited then coalesce(r.mode, k.mode)
                                    when 'hard' in (k.mode, r.mode) then 'hard'
                                    when 'approval' in (k.mode, r.mode) then 'approval'
                                    else 'soft' end as mode) m
$$;

-- The shared limits of a scope if the gate applies others because a task requested them: warnings follow the shared
-- ones.
create function ledger_shared(p_tokens bigint, p_nano bigint, p_mode text, p_shared_tokens bigint, p_shared_nano bigint, p_shared_mode text)
returns jsonb language sql immutable as $$
    select case when p_tokens is not distinct from p_shared_tokens and p_nano is not distinct from p_shared_nano and p_mode = p_shared_mode
           then '{}' else jsonb_build_object('shared', jsonb_build_object(
               'limit', jsonb_build_array(p_shared_tokens, p_shared_nano), 'mode', p_shared_mode)) end
$$;

-- Stores the fields of one source for a scope; posts an entry if this changes the limit or mode of a balance in use.
create function ledger_set_policy(p_tenant text, p_scope text, p_task text, p_patch jsonb, p_clear text[], p_sources jsonb, p_by text,
                                  p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_kind text := kind_of(p_scope);
    v_id text := id_of(p_scope);
    v_scope bigint;
    v_old record;
    b record;
    v_change text;
begin
    perform v_now at time zone (p_patch ->> 'timezone');
    insert into scopes (tenant, kind, id) values (p_tenant, v_kind, v_id) on conflict do nothing;
    select s.scope_id into v_scope from scopes s where s.tenant = p_tenant and s.kind = v_kind and s.id = v_id;
    perform 1 from balances x where x.tenant = p_tenant and x.scope_id = v_scope order by x.scope_id, x.window_start for update;
    select * into v_old from ledger_policies(p_tenant, array[v_scope], '', p_defaults);
    insert into policies as p (tenant, scope_id, task, limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure, approval,
                               frozen, sources, updated_by, updated_at)
    values (p_tenant, v_scope, p_task, (p_patch ->> 'limit_tokens')::bigint, (p_patch ->> 'limit_nano_usd')::bigint, p_patch ->> 'mode',
            p_patch ->> 'window', p_patch ->> 'timezone',
            case when p_patch ? 'warn_at' then array(select t::numeric from jsonb_array_elements_text(p_patch -> 'warn_at') t) end,
            p_patch -> 'backpressure', p_patch -> 'approval', (p_patch ->> 'frozen')::boolean, p_sources, p_by, v_now)
    on conflict (tenant, scope_id, task) do update set
        limit_tokens = case when 'limit_tokens' = any (p_clear) then null else coalesce(excluded.limit_tokens, p.limit_tokens) end,
        limit_nano_usd = case when 'limit_nano_usd' = any (p_clear) then null else coalesce(excluded.limit_nano_usd, p.limit_nano_usd) end,
        mode = case when 'mode' = any (p_clear) then null else coalesce(excluded.mode, p.mode) end,
        "window" = case when 'window' = any (p_clear) then null else coalesce(excluded."window", p."window") end,
        timezone = case when 'timezone' = any (p_clear) then null else coalesce(excluded.timezone, p.timezone) end,
        warn_at = case when 'warn_at' = any (p_clear) then null else coalesce(excluded.warn_at, p.warn_at) end,
        backpressure = case when 'backpressure' = any (p_clear) then null else coalesce(excluded.backpressure, p.backpressure) end,
        approval = case when 'approval' = any (p_clear) then null else coalesce(excluded.approval, p.approval) end,
        frozen = case when 'frozen' = any (p_clear) then null else coalesce(excluded.frozen, p.frozen) end,
        sources = p.sources || excluded.sources, updated_by = excluded.updated_by, updated_at = excluded.updated_at;
    if p_task <> '' then
        return;
    end if;
    for b in select x.*, n.limit_tokens as new_tokens, n.limit_nano as new_nano, n.mode as new_mode
             from ledger_policies(p_tenant, array[v_scope], '', p_defaults) n
             join balances x on x.tenant = p_tenant and x.scope_id = v_scope and x.window_start = ledger_window_start(n.win, n.zone, v_now) loop
        v_change := case
            when (b.new_tokens < coalesce(v_old.limit_tokens, b.new_tokens + 1)) is true
              or (b.new_nano < coalesce(v_old.limit_nano, b.new_nano + 1)) is true then 'limit_lowered'
            when b.new_tokens is distinct from v_old.limit_tokens or b.new_nano is distinct from v_old.limit_nano then 'limit_raised'
            when b.new_mode <> v_old.mode then 'mode_changed' end;
        if v_change is not null then
            perform ledger_post(p_tenant, v_change, array[v_scope], array[b.window_start], v_now, p_ref => p_by,
                                p_limits => array[b.new_tokens], p_nanos => array[b.new_nano], p_modes => array[b.new_mode]);
        end if;
    end loop;
end $$;
