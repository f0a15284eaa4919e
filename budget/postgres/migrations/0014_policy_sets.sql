-- Store the policies of many scopes in one call.

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
create or replace function ledger_set_policy(p_tenant text, p_scope text, p_task text, p_patch jsonb, p_clear text[], p_sources jsonb, p_by text,
                                  p_defaults jsonb, p_now timestamptz, out before jsonb, out after jsonb)
language sql as $$
    select p.before, p.after from ledger_set_policies(p_tenant, array[p_scope], p_task, array[p_patch - p_clear], p_clear, array[p_sources],
                                                      p_by, p_defaults, p_now) p
$$;
