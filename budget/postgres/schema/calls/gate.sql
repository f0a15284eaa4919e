-- The gate. Each operation of the ledger is one round trip and one transaction, and takes locks in the same order:
-- new scopes by kind and id, the hold row, then the balances by (scope_id, window_start).
-- p_now is null in production (the server's clock applies) and set by tests of windows and leases.
-- Their plans are generic: the planner takes the lists of a call for ten or a hundred members, so that such a plan looks dearer
-- to it than planning, and it would plan every statement in every call, which took two thirds of the time of a hold.

-- The gate's view of a path whose balances are locked, before an ask. A closed scope admits nothing; on a queued scope
-- another ask has waited longer. Room for money is never below 0, so that what costs nothing fits. `later_…` is the
-- room once all open holds have ended. `starts` is the window of the policy, and `due` whether ledger_catch_up has
-- something to do first: then the figures are not yet those of the gate. `calm_…` is what may be held more without a
-- warning, at the lowest threshold; null: whatever is held, none fires. A waiter has one age for all its scopes: of
-- several that wait for each other, the oldest always proceeds.
create function ledger_views(p_tenant text, p_hold bigint, p_scopes bigint[], p_windows timestamptz[], p_task text, p_defaults jsonb,
                             p_patient boolean, p_lapse interval, p_now timestamptz, p_last_of integer[] default null)
returns table (ord bigint, scope text, scope_id bigint, window_start timestamptz, limit_tokens bigint, limit_nano bigint, mode text,
               closed boolean, queued boolean, bounded boolean, needs_price boolean, room_tokens bigint, room_nano bigint,
               later_tokens bigint, later_nano bigint, calm_tokens numeric, calm_nano numeric, starts timestamptz, due boolean, shown jsonb)
language sql stable as $$
    select p.ord, p.scope, p.scope_id, b.window_start, p.limit_tokens, p.limit_nano, p.mode,
           p.frozen or (q.bounded and (p.limit_tokens + g.tokens = 0) is true),
           q.queued, q.bounded, p.limit_nano is not null and p.shadow = '{}',
           ledger_room(p.limit_tokens + g.tokens - b.spent_tokens - b.held_tokens, r.tokens, p_last_of[p.ord]),
           case when p.limit_nano is not null then greatest(0,
               ledger_room(p.limit_nano + g.nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])) end,
           ledger_room(p.limit_tokens + g.tokens - b.spent_tokens, r.tokens, p_last_of[p.ord]),
           case when p.limit_nano is not null then greatest(0,
               ledger_room(p.limit_nano + g.nano - b.spent_nano, r.nano, p_last_of[p.ord])) end,
           p.warn_at[1] * (p.shared_tokens + g.tokens) - b.spent_tokens - b.held_tokens,
           p.warn_at[1] * (p.shared_nano + g.nano) - b.spent_nano - b.held_nano,
           ledger_window_start(p.win, p.zone, p_now), ledger_due(b, p_now),
           jsonb_build_object(
               'scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
               'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
               'granted', jsonb_build_array(g.tokens, g.nano),
               'window_start', calendar_start(b.window_start), 'frozen', p.frozen, 'queued', q.queued,
               'warn_at', p.warn_at, 'backpressure', p.backpressure)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode) || p.shadow || p.ladder
           || ledger_reserved(r.tokens, r.nano, p_last_of[p.ord])
    -- As a subquery of its own: merged into this one, each of its columns would be computed wherever it is named.
    from (select * from ledger_policies(p_tenant, p_scopes, p_task, p_defaults) offset 0) p
    cross join lateral (select ledger_reserve(p.limit_tokens, p.mode, p.last_answer) as tokens,
                               ledger_reserve(p.limit_nano, p.mode, p.last_answer) as nano offset 0) r
    -- By its key, whatever the planner assumes: see `ledger_policies`.
    cross join lateral (select * from balances t
                        where t.tenant = p_tenant and t.scope_id = p.scope_id and t.window_start = p_windows[p.ord] offset 0) b
    -- What has rolled over into the next window is no room of this one any more.
    left join lateral (
        select n.tokens, n.nano from grants n
        where calendar_start(b.window_start) is not null and n.tenant = p_tenant and n.scope_id = p.scope_id
          and n.window_start > b.window_start and n.ended_at is null and n.rolled_over
          and n.window_start = ledger_window_end(p.win, p.zone, b.window_start) offset 0) o on true
    cross join lateral (select b.granted_tokens - coalesce(o.tokens, 0) as tokens,
                               b.granted_nano - coalesce(o.nano, 0) as nano offset 0) g
    cross join lateral (select p.mode <> 'soft' and (p.limit_tokens is not null or p.limit_nano is not null) as bounded) l
    cross join lateral (select l.bounded, l.bounded and p_patient and exists (
        select 1 from waiters w
        where w.tenant = p_tenant and w.scope_id = p.scope_id and w.hold_id <> p_hold and w.asks >= 2 and w.last_asked > p_now - p_lapse
          and w.since < coalesce((select min(m.since) from waiters m
                                  where m.tenant = p_tenant and m.hold_id = p_hold and m.last_asked > p_now - p_lapse), p_now)
    ) as queued offset 0) q
$$;

-- The gate's view at the time it admitted a hold: the policies stored with the hold, the figures from its entries, or as they
-- were kept when these were deleted.
create function ledger_seen(h holds) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(v.policy || jsonb_build_object(
               'spent', jsonb_build_array(e.spent_tokens, e.spent_nano),
               'held', jsonb_build_array(e.held_tokens - e.d_held_tokens, e.held_nano - e.d_held_nano),
               'granted', jsonb_build_array(e.granted_tokens, e.granted_nano),
               'window_start', calendar_start(e.window_start), 'queued', false) order by v.ord),
           (select c.seen from carried_events c where c.tenant = h.tenant and c.hold_id = h.hold_id and c.kind = 'hold'))
    from jsonb_array_elements(h.views) with ordinality v (policy, ord)
    join entries e on e.tenant = h.tenant and e.hold_id = h.hold_id and e.kind = 'hold' and e.scope_id = h.scope_ids[v.ord]
$$;

-- The scopes of an ask; creates those that it lacks. Most asks have no labels, and most tenants neither further limits nor
-- templates: then the path is all, and looking it up takes a fraction of the time of ledger_expand.
create function ledger_scopes(p_tenant text, p_path text[], p_labels text[]) returns bigint[]
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    v_scopes bigint[];
begin
    if p_labels = '{}' and not exists (select from policy_templates t where t.tenant = p_tenant)
       and not exists (select from unnest(p_path) x (name)
                       cross join lateral (select from scopes t
                                           where t.tenant = p_tenant and t.kind = kind_of(x.name) and split_part(t.id, '@', 1) = id_of(x.name)
                                             and strpos(t.id, '@') > 0 offset 0) s) then
        select array_agg(s.scope_id order by x.ord) into v_scopes
        from unnest(p_path) with ordinality x (name, ord)
        left join lateral (select t.scope_id from scopes t
                           where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true;
        if array_position(v_scopes, null) is null then
            return v_scopes;
        end if;
    end if;
    loop
        select array_agg(x.scope_id order by x.ord) into v_scopes from ledger_expand(p_tenant, p_path, p_labels) x;
        exit when array_position(v_scopes, null) is null;
        insert into scopes (tenant, kind, id) select p_tenant, kind_of(x.name), id_of(x.name)
        from ledger_expand(p_tenant, p_path, p_labels) x order by 2, 3 on conflict do nothing;
    end loop;
    return v_scopes;
end $$;

-- The gate: holds the ask, or a part of it not below the minimum, on every scope of ledger_expand, or nothing at all.
-- p_nano is null if the price is unknown: see ledger_hold_unpriced. p_last_of, of a last call: for each scope of the path,
-- how many last calls share its reserve.
create function ledger_hold(p_tenant text, p_key text, p_digest bytea, p_path text[], p_labels text[], p_task text, p_model text,
                            p_tokens bigint, p_nano bigint, p_least_tokens bigint, p_least_nano bigint,
                            p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamptz,
                            p_last_of integer[])
returns table (outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_new boolean;
    v_scopes bigint[];
    v_windows timestamptz[];
    v_wanted timestamptz[];
    v_due boolean;
    v_short bigint[];
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_stopped boolean;
    v_needs_price boolean;
    v_waits boolean;
    v_since timestamptz;
    v_asks integer;
    v_room_tokens bigint;
    v_room_nano bigint;
    v_tokens bigint;
    v_nano bigint;
    v_views jsonb;
    v_calm_tokens numeric;
    v_calm_nano numeric;
begin
    -- New scopes come before the key, as in a batch: else two that ask with one key under new scopes could wait for each other.
    if not exists (select from holds t where t.tenant = p_tenant and t.key = p_key) then
        v_scopes := ledger_scopes(p_tenant, p_path, p_labels);
    end if;
    loop
        insert into holds (tenant, key, digest, state, created_at) values (p_tenant, p_key, p_digest, 'none', v_now)
        on conflict (tenant, key) where key is not null do nothing returning * into h;
        v_new := found;
        exit when v_new;
        select * into h from holds t where t.tenant = p_tenant and t.key = p_key for update;
        exit when found;  -- else retention has just deleted it
    end loop;
    if not v_new then
        if h.digest is not null and h.digest <> p_digest then
            return query select 'key_reused', h.hold_id, h.state, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
            return;
        elsif h.state <> 'none' then
            return query select case when h.views is null then 'closed' else 'repeat' end, h.hold_id, h.state, h.asked_tokens, h.asked_nano,
                                h.expires_at, ledger_seen(h);
            return;
        end if;
    end if;

    v_scopes := coalesce(v_scopes, ledger_scopes(p_tenant, p_path, p_labels));

    select array_agg(ledger_window_start(p.win, p.zone, v_now) order by p.ord) into v_wanted
    from ledger_policies(p_tenant, v_scopes, p_task, p_defaults) p;
    loop
        -- A policy may change its window while this waits for the locks, so look again under the locks.
        if v_windows is distinct from v_wanted then
            v_windows := v_wanted;
            perform ledger_open(p_tenant, v_scopes, v_windows, v_now);
        end if;
        select bool_or(v.closed or v.queued), bool_or(v.needs_price),
               min(v.room_tokens) filter (where v.bounded), min(v.room_nano) filter (where v.bounded),
               array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
               jsonb_agg(v.shown order by v.ord),
               -- Waiting helps if the ask fits everywhere once all open holds have ended.
               p_patient and not bool_or(v.closed or (v.bounded and ((v.later_tokens < p_least_tokens) is true
                                                                  or (v.later_nano < p_least_nano) is true))),
               array_agg(v.starts order by v.ord), bool_or(v.due), min(v.calm_tokens), min(v.calm_nano)
        into v_stopped, v_needs_price, v_room_tokens, v_room_nano, v_limits, v_nanos, v_modes, v_views, v_waits, v_wanted, v_due,
             v_calm_tokens, v_calm_nano
        from ledger_views(p_tenant, h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now, p_last_of) v;
        continue when v_windows is distinct from v_wanted;
        exit when v_due is not true;
        perform ledger_catch_up(p_tenant, v_scopes, v_windows, p_defaults, v_now);
    end loop;

    if p_nano is null then
        if v_needs_price then
            raise exception using errcode = 'PB002', message = 'a price is needed', detail = v_views::text;
        end if;
        p_nano := 0;
        p_least_nano := 0;
    end if;
    v_tokens := least(p_tokens, v_room_tokens);
    if p_nano > v_room_nano then
        v_tokens := case when p_least_nano > v_room_nano or p_nano = p_least_nano then -1
                    else least(v_tokens, p_least_tokens + div((v_room_nano - p_least_nano)::numeric * (p_tokens - p_least_tokens),
                        p_nano - p_least_nano)) end;
    end if;

    if v_stopped or v_tokens < p_least_tokens then
        -- A waiter keeps its age unless it has stopped asking.
        select min(w.since), max(w.asks) into v_since, v_asks
        from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id and w.last_asked > v_now - p_lapse;
        if v_waits then
            v_short := array(select v.scope_id
                             from ledger_views(p_tenant, h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now,
                                               p_last_of) v
                             where v.bounded and (v.queued or v.room_tokens < p_least_tokens or v.room_nano < p_least_nano));
        end if;
        delete from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id;
        insert into waiters (tenant, hold_id, scope_id, since, last_asked, asks)
        select p_tenant, h.hold_id, x.s, coalesce(v_since, v_now), v_now, coalesce(v_asks, 0) + 1 from unnest(v_short) x (s);
        return query select 'short', null::bigint, 'none', p_tokens, p_nano, null::timestamptz, v_views;
        return;
    end if;

    v_nano := case when v_tokens = p_tokens then p_nano
              else p_least_nano + div((v_tokens - p_least_tokens)::numeric * (p_nano - p_least_nano) + (p_tokens - p_least_tokens - 1),
                                      p_tokens - p_least_tokens) end;
    perform ledger_countable(p_tenant, v_scopes, v_windows, v_tokens, v_nano);
    update holds t set path = p_path, labels = p_labels, task = p_task, model = p_model, scope_ids = v_scopes, window_starts = v_windows,
           state = 'held',
           asked_tokens = v_tokens, asked_nano = v_nano, tokens = v_tokens, nano = v_nano, views = v_views,
           lease = p_lease, expires_at = v_now + p_lease where t.tenant = p_tenant and t.hold_id = h.hold_id;
    perform ledger_post(p_tenant, 'hold', v_scopes, v_windows, v_now, p_hold => h.hold_id, p_held => row(v_tokens, v_nano)::amount,
                        p_limits => v_limits, p_nanos => v_nanos, p_modes => v_modes);
    if v_tokens >= v_calm_tokens or v_nano >= v_calm_nano then
        perform ledger_warn(p_tenant, v_scopes, v_windows, array(select jsonb_array_elements(v_views)), v_now);
    end if;
    if not v_new then
        delete from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id;
    end if;
    return query select 'held', h.hold_id, 'held', v_tokens, v_nano, v_now + p_lease, v_views;
end $$;

-- Asks for a hold of unknown price. If a scope limits money, in any mode, nothing is held and nothing of the ask is
-- written: the same key may be used again with a price.
create function ledger_hold_unpriced(p_tenant text, p_key text, p_digest bytea, p_path text[], p_labels text[], p_task text, p_model text,
                                     p_tokens bigint, p_least_tokens bigint,
                                     p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamptz,
                                     p_last_of integer[])
returns table (outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    v_views text;
begin
    return query select * from ledger_hold(p_tenant, p_key, p_digest, p_path, p_labels, p_task, p_model, p_tokens, null, p_least_tokens, null,
                                           p_lease, p_patient, p_lapse, p_defaults, p_now, p_last_of);
exception when sqlstate 'PB002' then
    get stacked diagnostics v_views = pg_exception_detail;
    return query select 'short', null::bigint, 'none', p_tokens, 0::bigint, null::timestamptz, v_views::jsonb;
end $$;

-- Adds to an open, locked hold through the gate: on all scopes or none, and never a part. p_nano is null if the price
-- is unknown: that fits only if no scope limits money. A last call cannot take more of a reserve than it got first.
create function ledger_top_up(h holds, p_kind text, p_tokens bigint, p_nano bigint, p_defaults jsonb, p_now timestamptz)
returns table (fits boolean, views jsonb) language plpgsql as $$
declare
    v_fits boolean;
    v_due boolean;
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_views jsonb;
begin
    loop
        -- Waiting would not free what this hold itself holds, so the views list it separately.
        select not bool_or(v.closed or (v.bounded and ((v.room_tokens < p_tokens) is true or (v.room_nano < p_nano) is true))
                           or (p_nano is null and v.needs_price)),
               array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
               jsonb_agg(v.shown || jsonb_build_object('own', jsonb_build_array(h.tokens, h.nano)) order by v.ord), bool_or(v.due)
        into v_fits, v_limits, v_nanos, v_modes, v_views, v_due
        from ledger_views(h.tenant, h.hold_id, h.scope_ids, h.window_starts, h.task, p_defaults, false, interval '0', p_now) v;
        exit when v_due is not true;
        perform ledger_catch_up(h.tenant, h.scope_ids, h.window_starts, p_defaults, p_now);
    end loop;
    if v_fits then
        p_nano := coalesce(p_nano, 0);
        perform ledger_countable(h.tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
        update holds t set tokens = t.tokens + p_tokens, nano = t.nano + p_nano where t.tenant = h.tenant and t.hold_id = h.hold_id;
        perform ledger_post(h.tenant, p_kind, h.scope_ids, h.window_starts, p_now, p_hold => h.hold_id,
                            p_held => row(p_tokens, p_nano)::amount,
                            p_limits => v_limits, p_nanos => v_nanos, p_modes => v_modes);
        perform ledger_warn(h.tenant, h.scope_ids, h.window_starts, array(select jsonb_array_elements(v_views)), p_now);
    end if;
    return query select v_fits, v_views;
end $$;
