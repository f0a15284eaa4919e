-- Corrects rollover, late reports on rolling windows, leases of extended holds, and the order of asks in a batch.

-- What rolls over into the calendar window that begins at p_start: what is left in the one before of the limit (the lower
-- of its own and today's) and of what had rolled over into it; other grants do not. A window without a balance was not
-- used: then the whole limit is left. Nothing rolls over into the first window of a scope, nor from one of another kind.
-- Only today's limit counts where the window's own is not known: nothing was admitted in it, or what was admitted last may
-- have had the limit of a task.
create or replace function ledger_left_over(p_tenant text, p_scope bigint, p_window text, p_zone text, p_start timestamptz,
                                 p_tokens bigint, p_nano bigint, p_share numeric)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select coalesce(least(floor(p_tokens * p_share), greatest(0, l.tokens)), 0)::bigint,
           coalesce(least(floor(p_nano * p_share), greatest(0, l.nano)), 0)::bigint
    from (select ledger_window_start(p_window, p_zone, p_start - interval '1 microsecond') as start) before
    cross join lateral (
        select b.* from balances b
        where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start < p_start
          -- A batch opens the balance of an ask that it leaves alone, and that may not reach the gate's rules.
          and (b.seq > 0 or b.limit_tokens is not null or b.limit_nano is not null)
        order by b.window_start desc limit 1) b
    cross join lateral (
        select coalesce(sum(g.tokens), 0) as tokens, coalesce(sum(g.nano), 0) as nano from grants g
        where g.tenant = p_tenant and g.scope_id = p_scope and g.window_start = b.window_start and g.rolled_over) carried
    cross join lateral (select case when b.window_start = before.start then 1 else 0 end as used) u
    cross join lateral (
        select exists (select from policies r where r.tenant = p_tenant and r.scope_id = p_scope and r.task <> '')
               or (b.limit_tokens is null and b.limit_nano is null
                   and (b.spent_tokens, b.held_tokens, b.spent_nano, b.held_nano) = (0, 0, 0, 0)) as unknown offset 0) w
    cross join lateral (
        select case when w.unknown then p_tokens when b.limit_tokens is not null then least(p_tokens, b.limit_tokens) end as tokens,
               case when w.unknown then p_nano when b.limit_nano is not null then least(p_nano, b.limit_nano) end as nano) o
    cross join lateral (
        select case when p_tokens is not null then o.tokens + u.used * (carried.tokens - b.spent_tokens - b.held_tokens) end as tokens,
               case when p_nano is not null then o.nano + u.used * (carried.nano - b.spent_nano - b.held_nano) end as nano) l
    where b.window_start <= before.start and calendar_start(b.window_start) is not null
$$;

-- Whether something of a calendar window has rolled over into a later one.
create or replace function ledger_rolled_on(p_tenant text, p_scope bigint, p_start timestamptz) returns boolean language sql stable as $$
    select exists (select from grants g where g.tenant = p_tenant and g.scope_id = p_scope and g.window_start > p_start
                                          and g.ended_at is null and g.rolled_over)
$$;

-- Grants what rolls over to locked balances of calendar windows, once for each, at its first ask.
create or replace function ledger_roll_over(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    r record;
    v_grant bigint;
begin
    for r in update balances b set rolled_over_at = p_now from unnest(p_scopes, p_windows) x (s, w)
             where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolled_over_at is null
               and calendar_start(b.window_start) is not null
             returning b.scope_id, b.window_start loop
        -- An ask that began before the window did may not have ended yet: what it holds does not roll over. Balances are
        -- locked by window, too, so this can meet such an ask in the other order: then Postgres ends one, which is tried again.
        perform from ledger_policies(p_tenant, array[r.scope_id], '', p_defaults) p, balances b
        where p.rollover is not null and b.tenant = p_tenant and b.scope_id = r.scope_id
          and b.window_start = ledger_window_start(p.win, p.zone, r.window_start - interval '1 microsecond')
        for update of b;
        insert into grants (tenant, scope_id, window_start, tokens, nano, granted_by, created_at, rolled_over)
        select p_tenant, r.scope_id, r.window_start, o.tokens, o.nano, 'rollover', p_now, true
        from ledger_policies(p_tenant, array[r.scope_id], '', p_defaults) p
        cross join lateral ledger_left_over(p_tenant, r.scope_id, p.win, p.zone, r.window_start, p.limit_tokens, p.limit_nano, p.rollover) o
        where p.rollover is not null and (o.tokens, o.nano) <> (0, 0)
        returning grant_id into v_grant;
        if v_grant is not null then
            perform ledger_post(p_tenant, 'grant', array[r.scope_id], array[r.window_start], p_now, p_ref => v_grant::text,
                                p_granted => (select row(g.tokens, g.nano)::amount from grants g where g.tenant = p_tenant and g.grant_id = v_grant));
        end if;
    end loop;
end $$;

-- The gate's view of a path whose balances are locked, before an ask. A closed scope admits nothing; on a queued scope
-- another ask has waited longer. Room for money is never below 0, so that what costs nothing fits. `later_…` is the
-- room once all open holds have ended. `starts` is the window of the policy, and `due` whether ledger_catch_up has
-- something to do first: then the figures are not yet those of the gate. `calm_…` is what may be held more without a
-- warning, at the lowest threshold; null: whatever is held, none fires. A waiter has one age for all its scopes: of
-- several that wait for each other, the oldest always proceeds.
create or replace function ledger_views(p_tenant text, p_hold bigint, p_scopes bigint[], p_windows timestamptz[], p_task text, p_defaults jsonb,
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

-- What a batch may hold on each of these scopes, whose balances are locked: null, without limit. `later_…` is the room once
-- all open holds have ended. On a scope that is `shut` each ask goes through the gate alone.
create or replace function ledger_batch_rooms(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[],
                                              p_lapse interval, p_now timestamptz)
returns table (pos bigint, scope_id bigint, window_start timestamptz, shut boolean, frozen boolean, needs_price boolean,
               room_tokens bigint, room_nano bigint, later_tokens bigint, later_nano bigint)
language sql stable as $$
    select f.pos, f.scope_id, f.start,
           (f.policy ->> 'frozen')::boolean or ledger_due(b, p_now) is true
           or (l.bounded and (l.tokens + b.granted_tokens = 0) is true)
           or (l.bounded and calendar_start(f.start) is not null and ledger_rolled_on(p_tenant, f.scope_id, f.start))
           or (l.bounded and exists (select 1 from waiters w where w.tenant = p_tenant and w.scope_id = f.scope_id
                                     and w.last_asked > p_now - p_lapse and w.asks >= 2)),
           (f.policy ->> 'frozen')::boolean,
           l.nano is not null and not f.policy ? 'shadow',
           r.tokens - b.held_tokens, r.nano - b.held_nano, r.tokens, r.nano
    from unnest(p_scopes, p_windows, p_policies) with ordinality f (scope_id, start, policy, pos)
    cross join lateral (select * from balances t
                        where t.tenant = p_tenant and t.scope_id = f.scope_id and t.window_start = f.start offset 0) b
    cross join lateral (select f.policy ->> 'mode' <> 'soft' as bounded, (f.policy -> 'limit' ->> 0)::bigint as tokens,
                               (f.policy -> 'limit' ->> 1)::bigint as nano offset 0) l
    cross join lateral (
        select case when l.bounded then l.tokens + b.granted_tokens - b.spent_tokens
                                        - coalesce((f.policy -> 'reserve' ->> 0)::bigint, 0) end as tokens,
               case when l.bounded then l.nano + b.granted_nano - b.spent_nano
                                        - coalesce((f.policy -> 'reserve' ->> 1)::bigint, 0) end as nano
        offset 0) r
$$;

-- Holds those asks of one tenant that are plain: under a new key, and fitting in full even if each ask before it got all
-- that it can get. So who comes first in a batch is never passed by who comes later. Asks with the same path, labels and
-- task form a group: p_groups has the number of each ask's group, whose scopes and labels, separated by blanks, are in
-- p_paths and p_labels. The money of an ask is null if its price is unknown.
-- An ask under a new key whose minimum would not fit even if all open holds had ended is answered too: its key is bound,
-- and nothing is held. Returns for each ask that is answered its place in the batch, and for each group the gate's views of
-- its scopes before the batch, in the order of scope_ids.
create or replace function ledger_hold_many(p_tenant text, p_paths text[], p_labels text[], p_tasks text[],
                                 p_keys text[], p_digests bytea[], p_groups bigint[], p_models text[],
                                 p_tokens bigint[], p_nanos bigint[], p_leases interval[], p_lapse interval, p_defaults jsonb, p_now timestamptz,
                                 p_leasts bigint[], p_least_nanos bigint[])
returns table (grp bigint, place bigint, hold_id bigint, expires_at timestamptz,
               scope_ids bigint[], window_starts timestamptz[], views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    f_grp bigint[];                                   -- the scopes of all groups, flattened
    f_scope bigint[];
    f_task text[];
    f_start timestamptz[];
    f_limit bigint[];
    f_nano bigint[];
    f_mode text[];
    f_policy jsonb[];
    v_versions text[];
    v_places bigint[] := array(select generate_series(1, cardinality(p_keys)));
    v_nanos bigint[] := array(select coalesce(u.n, 0) from unnest(p_nanos) with ordinality u (n, ord) order by u.ord);
    v_fresh bigint[];                                 -- groups with a scope that does not exist
    v_made bigint[];                                  -- groups of which this batch creates scopes
    v_ids bigint[];
    v_held bigint[];                                  -- the hold of each ask; null for one that is not plain
    v_plain bigint[];                                 -- the asks that are plain
    v_short bigint[];                                 -- the asks that cannot fit, whatever ends
    v_asked bigint[] := '{}';                         -- the groups of these
    v_undone boolean;                                 -- whether a scope was created for an ask that needs a price
    v_seen jsonb;                                     -- the gate's views by group
    v_zeros bigint[];
begin
    loop
        select array_agg(g.grp order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(g.task order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(t.scope_id order by g.grp, t.ord) filter (where t.scope_id is not null),
               coalesce(array_agg(g.grp) filter (where t.scope_id is null), '{}')
        into f_grp, f_task, f_scope, v_fresh
        from unnest(p_paths, p_labels, p_tasks) with ordinality g (path, labels, task, grp)
        cross join lateral ledger_expand(p_tenant, string_to_array(g.path, ' '), string_to_array(g.labels, ' ')) t;
        exit when v_fresh = '{}' or v_made is not null;
        v_made := ledger_batch_scopes(p_tenant, p_keys, p_groups, p_paths, p_labels, v_fresh);
        exit when v_made is null;
    end loop;
    -- Amounts that may exceed the range of a balance are not plain.
    if f_scope is null or (select max(n) from unnest(v_nanos) n) > 1000000000000 then
        return;
    end if;
    v_versions := ledger_policy_versions(p_tenant, f_scope, f_task);
    select array_agg(ledger_window_start(split_part(p.window_of, ' ', 1), split_part(p.window_of, ' ', 2), v_now) order by p.ord),
           array_agg(p.limit_tokens order by p.ord), array_agg(p.limit_nano order by p.ord), array_agg(p.mode order by p.ord),
           array_agg(p.policy order by p.ord)
    into f_start, f_limit, f_nano, f_mode, f_policy from ledger_policies_of(p_tenant, f_scope, f_task, p_defaults) p;

    -- Their ids are taken before they are inserted, so that each ask knows its own.
    v_ids := array(select nextval('holds_hold_id_seq') from generate_series(1, cardinality(p_keys)));
    with paths as materialized (
        select f.grp, string_to_array(p_paths[f.grp], ' ') as path, string_to_array(p_labels[f.grp], ' ') as labels, p_tasks[f.grp] as task,
               array_agg(f.scope_id order by f.ord) as scope_ids, array_agg(f.start order by f.ord) as starts,
               jsonb_agg(f.policy order by f.ord) as policies
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, ord)
        where f.grp <> all (v_fresh) group by f.grp
    ), made as (
        insert into holds (tenant, hold_id, key, digest, path, labels, task, model, scope_ids, window_starts, state, asked_tokens, asked_nano,
                           tokens, nano, views, lease, expires_at, created_at) overriding system value
        select p_tenant, a.id, a.key, a.digest, p.path, p.labels, p.task, a.model, p.scope_ids, p.starts,
               'held', a.tokens, a.nano, a.tokens, a.nano, p.policies, a.lease, v_now + a.lease, v_now
        from unnest(v_ids, p_keys, p_digests, p_groups, p_models, p_tokens, v_nanos, p_leases)
             a (id, key, digest, grp, model, tokens, nano, lease)
        join paths p on p.grp = a.grp
        order by a.key on conflict (tenant, key) where key is not null do nothing returning hold_id
    )
    select array_agg(m.hold_id order by a.ord) into v_held
    from unnest(v_ids) with ordinality a (id, ord) left join made m on m.hold_id = a.id;

    perform ledger_open(p_tenant, array_agg(d.s), array_agg(d.w), v_now) from (select distinct s, w from unnest(f_scope, f_start) u (s, w)) d;
    if ledger_policy_versions(p_tenant, f_scope, f_task) is distinct from v_versions then
        raise exception using errcode = 'PB001', message = 'a policy changed';
    end if;
    if array_position(v_held, null) is not null or exists (
        select 1
        from ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r
        join (select f.scope_id, f.start, sum(g.tokens) as tokens, sum(g.nano) as nano, bool_or(g.unpriced) as unpriced
              from (select a.grp, sum(a.tokens) as tokens, sum(a.nano) as nano, bool_or(a.nano is null) as unpriced
                    from unnest(p_tokens, p_nanos, p_groups) a (tokens, nano, grp) group by 1) g
              join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start) on f.grp = g.grp
              group by 1, 2) d on d.scope_id = r.scope_id and d.start = r.window_start
        where r.shut or (d.unpriced and r.needs_price) or d.tokens > r.room_tokens or (d.nano > 0 and d.nano > r.room_nano))
    then
        with asks as (
            select a.*, r.scope_id, r.window_start, r.room_tokens, r.room_nano, r.later_tokens, r.later_nano, r.shut, r.needs_price, r.frozen
            from unnest(v_held, p_tokens, v_nanos, p_leasts, p_least_nanos, p_nanos, p_groups) with ordinality
                 a (hold_id, tokens, nano, least, least_nano, price, grp, ord)
            join unnest(f_grp) with ordinality f (grp, pos) on f.grp = a.grp
            join ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r on r.pos = f.pos
        ), hopes as (
            -- An ask that cannot get even its minimum takes no room from those behind it.
            select a.*, bool_or(a.frozen or (not a.shut and ((a.least > a.room_tokens) is true
                                                             or (a.least_nano > 0 and a.least_nano > a.room_nano) is true)))
                            over (partition by a.ord) as hopeless
            from asks a
        ), running as (
            select h.*, sum(case when h.hopeless then 0 else h.tokens end) over w as sum_tokens,
                   sum(case when h.hopeless then 0 else h.nano end) over w as sum_nano,
                   -- What those in front have to fit counts too: their task may have a lower limit.
                   min(case when h.hopeless then null else h.room_tokens end) over w as tight_tokens,
                   min(case when h.hopeless then null else h.room_nano end) over w as tight_nano
            from hopes h window w as (partition by h.scope_id, h.window_start order by h.ord)
        )
        select array_agg(x.ord order by x.ord) filter (where x.plain), coalesce(array_agg(x.ord) filter (where x.short), '{}'),
               bool_or(x.unpriced and x.grp = any (v_made))
        into v_plain, v_short, v_undone
        from (select r.ord, r.grp, bool_or(r.price is null and r.needs_price) as unpriced,
                     bool_and(r.hold_id is not null and not r.shut and not (r.price is null and r.needs_price))
                         and bool_or(r.least > r.later_tokens or (r.least_nano > 0 and r.least_nano > r.later_nano)) as short,
                     bool_and(r.hold_id is not null and not r.hopeless and not r.shut and not (r.price is null and r.needs_price)
                              and (r.sum_tokens > r.tight_tokens) is not true and (r.sum_nano > 0 and r.sum_nano > r.tight_nano) is not true) as plain
              from running r group by r.ord, r.grp) x;
        -- Nothing of an ask that needs a price is written, not even the names of its scopes.
        if (v_plain is null and v_short = '{}') or v_undone then
            raise exception using errcode = 'PB001', message = 'no plain ask';
        end if;
        v_plain := coalesce(v_plain, '{}');
        delete from holds h using unnest(v_held) with ordinality x (hold_id, ord)
        where h.tenant = p_tenant and h.hold_id = any (v_held) and h.hold_id = x.hold_id and x.ord <> all (v_plain);
        insert into holds (tenant, hold_id, key, digest, state, created_at) overriding system value
        select p_tenant, v_held[x.ord], p_keys[x.ord], p_digests[x.ord], 'none', v_now from unnest(v_short) x (ord) order by p_keys[x.ord];
        v_asked := array(select distinct p_groups[x.ord] from unnest(v_short) x (ord));
        select coalesce(array_agg(a.ord order by a.ord), '{}'), coalesce(array_agg(a.hold_id order by a.ord), '{}'),
               array_agg(a.tokens order by a.ord), array_agg(a.nano order by a.ord),
               coalesce(array_agg(a.grp order by a.ord), '{}'), array_agg(a.lease order by a.ord)
        into v_places, v_held, p_tokens, v_nanos, p_groups, p_leases
        from unnest(v_held, p_tokens, v_nanos, p_groups, p_leases) with ordinality a (hold_id, tokens, nano, grp, lease, ord)
        where a.ord = any (v_plain);
    end if;

    select jsonb_object_agg(g.grp, g.views) into v_seen from (
        select f.grp, jsonb_agg(f.policy || jsonb_build_object(
                   'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
                   'granted', jsonb_build_array(b.granted_tokens, b.granted_nano),
                   'window_start', calendar_start(b.window_start), 'queued', false) order by f.pos) as views
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, pos)
        cross join lateral (select * from balances t
                            where t.tenant = p_tenant and t.scope_id = f.scope_id and t.window_start = f.start offset 0) b
        where f.grp = any (p_groups || v_asked) group by f.grp) g;
    if v_held <> '{}' then
        v_zeros := array_fill(0, array[cardinality(v_held)]);
        perform ledger_post_many(p_tenant, array_fill('hold'::text, array[cardinality(v_held)]), v_held, null, p_groups,
                                 v_zeros, v_zeros, p_tokens, v_nanos, v_zeros, v_zeros, f_grp, f_scope, f_start, f_limit, f_nano, f_mode, v_now);
        perform ledger_warn(p_tenant, array_agg(f.scope_id), array_agg(f.start), array_agg(f.policy), v_now)
        from unnest(f_grp, f_scope, f_start, f_policy) f (grp, scope_id, start, policy) where f.grp = any (p_groups);
    end if;
    -- Only now: what is returned stays returned, even if all that was written is undone below.
    return query select null::bigint, a.place, a.hold_id, v_now + a.lease, null::bigint[], null::timestamptz[], null::jsonb
                 from unnest(v_places, v_held, p_leases) a (place, hold_id, lease)
                 union all
                 select null, x.ord, null, null, null, null, null from unnest(v_short) x (ord)
                 order by 2;
    return query select f.grp, null::bigint, null::bigint, null::timestamptz, array_agg(f.scope_id order by f.pos),
                        array_agg(f.start order by f.pos), v_seen -> f.grp::text
                 from unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos)
                 where v_seen ? f.grp::text group by f.grp;
exception when sqlstate 'PB001' or numeric_value_out_of_range then
    return;
end $$;

-- Starts attempt p_attempt (null: the next one) and renews the lease. Presumes an unreported one and tops up the hold.
-- p_most_… is the most that its request can use, if that may be more than is held.
create or replace function ledger_start_attempt(p_tenant text, p_hold bigint, p_attempt integer, p_defaults jsonb, p_now timestamptz,
                                     p_most_tokens bigint default null, p_most_nano bigint default null)
returns table (outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_attempt integer;
    v_state text;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', p_attempt, null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    end if;
    v_attempt := coalesce(p_attempt, h.attempts + 1);
    select a.state into v_state from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = v_attempt;
    if h.state <> 'held' then
        return query select 'closed', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state = 'started' then
        return query select 'started', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state is not null or v_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.attempts, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    -- Most attempts are the first of a full hold. They move no balance, so they wait for none.
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano
       or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.state = 'started') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        perform ledger_presume(p_tenant, p_hold, v_now);
        select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    end if;
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano then
        select * into t from ledger_top_up(h, 'top_up', greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
            p_defaults, v_now);
        if not t.fits then
            return query select 'short', v_attempt, h.state, greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
                h.expires_at, t.views;
            return;
        end if;
    end if;
    insert into attempts (tenant, hold_id, attempt, state, most_tokens, most_nano, started_at)
    values (p_tenant, p_hold, v_attempt, 'started', p_most_tokens, p_most_nano, v_now);
    update holds x set attempts = v_attempt, expires_at = greatest(x.expires_at, v_now + x.lease) where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'started', v_attempt, 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Records the full cost of an attempt. p_keep leaves the hold open for another attempt.
create or replace function ledger_settle(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb,
                                         p_digest bytea, p_keep boolean, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    a attempts%rowtype;
    v_state text;
    v_over bigint := 0;
    v_over_nano bigint := 0;
    v_late boolean := false;
    v_free bigint;
    v_free_nano bigint;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found or h.state = 'none' or h.views is null then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, 0;
        return;
    end if;
    select * into a from attempts x where x.tenant = p_tenant and x.hold_id = p_hold and x.attempt = p_attempt;
    if a.state = 'reported' then
        return query select case when a.digest = p_digest then 'repeat' else 'conflict' end,
                            h.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, h.attempts;
        return;
    elsif a.state is null and p_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts;
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_countable(p_tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
    if a.state is null then
        if h.attempts > 0 then
            perform ledger_presume(p_tenant, p_hold, v_now);
            select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
        end if;
        a.tokens := 0;
        a.nano := 0;
        a.overrun_tokens := 0;
        a.overrun_nano := 0;
        h.attempts := p_attempt;
    end if;
    v_state := h.state;
    if h.state <> 'held' or a.state = 'presumed' then
        v_late := true;
        -- Without its overrun, what was presumed is what was held.
        v_over := greatest(0, p_tokens - a.tokens + a.overrun_tokens);
        v_over_nano := greatest(0, p_nano - a.nano + a.overrun_nano);
        perform ledger_post(p_tenant, 'late', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - a.tokens, p_nano - a.nano)::amount,
                            p_overrun => row(v_over - a.overrun_tokens, v_over_nano - a.overrun_nano)::amount);
        -- The charge that it replaces may have fallen out of a rolling window: then the next ask takes this out, too, even one
        -- whose time is before that of this report.
        update balances b set rolls_at = '-infinity' from unnest(h.scope_ids, h.window_starts) x (s, w)
        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolls_at is not null;
    else
        v_over := greatest(0, p_tokens - h.tokens);
        v_over_nano := greatest(0, p_nano - h.nano);
        v_free := case when p_keep then p_tokens - v_over else h.tokens end;
        v_free_nano := case when p_keep then p_nano - v_over_nano else h.nano end;
        perform ledger_post(p_tenant, 'settle', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - v_over, p_nano - v_over_nano)::amount,
                            p_held => row(-v_free, -v_free_nano)::amount);
        if v_over > 0 or v_over_nano > 0 then
            perform ledger_post(p_tenant, 'overrun', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                                p_spent => row(v_over, v_over_nano)::amount, p_overrun => row(v_over, v_over_nano)::amount);
        end if;
        h.tokens := h.tokens - v_free;
        h.nano := h.nano - v_free_nano;
        v_state := case when p_keep then 'held' else 'settled' end;
    end if;
    update holds x set state = v_state, tokens = h.tokens, nano = h.nano, attempts = h.attempts,
           charged_tokens = h.charged_tokens + p_tokens - a.tokens, charged_nano = h.charged_nano + p_nano - a.nano,
           ended_at = case when v_state = 'held' then null else coalesce(h.ended_at, v_now) end
    where x.tenant = p_tenant and x.hold_id = p_hold;
    insert into attempts (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, late, usage, digest,
                          started_at, reported_at)
    values (p_tenant, p_hold, p_attempt, 'reported', p_tokens, p_nano, v_over, v_over_nano, v_late, p_usage, p_digest, v_now, v_now)
    on conflict (tenant, hold_id, attempt) do update set state = excluded.state, tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano, late = excluded.late,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    if v_over > 0 or v_over_nano > 0 then
        perform ledger_warn(p_tenant, h.scope_ids, h.window_starts, array(
            select jsonb_build_object('scope', p.scope, 'mode', p.shared_mode, 'limit', jsonb_build_array(p.shared_tokens, p.shared_nano),
                                      'warn_at', p.warn_at) || p.shadow
            from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p order by p.ord), v_now);
    end if;
    return query select 'settled', v_state, p_tokens, p_nano, v_over, v_over_nano, v_late, h.attempts;
end $$;
