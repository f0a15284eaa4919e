-- Batches. A batch writes those of its calls that are plain, and returns a row for each; the others it leaves alone, and
-- each of them goes through the gate by itself afterwards. Lock order, as everywhere: hold rows, then balances.

-- The policies of scopes that belong to different tasks. Where no task requests anything of a scope, all share one.
create function ledger_policies_of(p_tenant text, p_scopes bigint[], p_tasks text[], p_defaults jsonb)
returns table (ord bigint, scope_id bigint, limit_tokens bigint, limit_nano bigint, mode text, window_of text, policy jsonb)
language sql stable as $$
    with x as materialized (
        select u.ord, u.scope_id, coalesce(r.task, '') as task
        from unnest(p_scopes, p_tasks) with ordinality u (scope_id, task, ord)
        left join lateral (select t.task from policies t
                           where t.tenant = p_tenant and t.scope_id = u.scope_id and t.task = u.task offset 0) r on true
    ), resolved as materialized (
        select d.task, p.*
        from (select distinct x.scope_id, x.task from x) d
        cross join lateral (select * from ledger_policies(p_tenant, array[d.scope_id], d.task, p_defaults) offset 0) p
    )
    select x.ord, x.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win || ' ' || p.zone,
           jsonb_build_object('scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
                              'warn_at', p.warn_at, 'backpressure', p.backpressure, 'frozen', p.frozen)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode) || p.shadow || p.ladder
           || ledger_reserved(ledger_reserve(p.limit_tokens, p.mode, p.last_answer), ledger_reserve(p.limit_nano, p.mode, p.last_answer), 0)
    from x join resolved p on p.scope_id = x.scope_id and p.task = x.task
$$;

-- Versions of the stored policies on which those of these scopes depend. Whoever compares them under the locks of the
-- balances need not resolve the policies again: a change commits before it lets go of its balances. To be read in a
-- statement before the one that resolves, whose snapshot may be newer.
create function ledger_policy_versions(p_tenant text, p_scopes bigint[], p_tasks text[]) returns text[] language sql stable as $$
    select array_agg(v.version order by x.scope_id, x.task, v.source)
    from (select distinct u.scope_id, u.task from unnest(p_scopes, p_tasks) u (scope_id, task)) x
    cross join lateral (
        select 'template' as source, t.xmin::text as version from templated_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id
        union all
        select 'task ' || p.task, p.xmin::text from policies p
        where p.tenant = p_tenant and p.scope_id = x.scope_id and p.task in ('', x.task)
        offset 0) v
$$;

-- What a batch may hold on each of these scopes, whose balances are locked: null, without limit. `later_…` is the room once
-- all open holds have ended. On a scope that is `shut` each ask goes through the gate alone.
create function ledger_batch_rooms(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[], p_lapse interval, p_now timestamptz)
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

-- Creates the scopes that asks of these groups lack, and returns the groups concerned. An ask under a used key needs none.
create function ledger_batch_scopes(p_tenant text, p_keys text[], p_groups bigint[], p_paths text[], p_labels text[], p_fresh bigint[])
returns bigint[] language sql as $$
    with lacking as (
        select g.grp, kind_of(t.name) as kind, id_of(t.name) as id
        from (select distinct a.grp from unnest(p_keys, p_groups) a (key, grp)
              where a.grp = any (p_fresh) and not exists (select from holds h where h.tenant = p_tenant and h.key = a.key)) g
        cross join lateral ledger_expand(p_tenant, string_to_array(p_paths[g.grp], ' '), string_to_array(p_labels[g.grp], ' ')) t
        where t.scope_id is null
    ), made as (
        insert into scopes (tenant, kind, id) select distinct p_tenant, l.kind, l.id from lacking l order by 2, 3 on conflict do nothing
    )
    select array_agg(distinct l.grp) from lacking l
$$;

-- Posts events on locked balances: for each event, in order, an entry on every scope of its group. The scopes of all groups
-- are flattened (`f_…`). p_limits, p_nanos and p_modes are those that the gate applied to each of them; null leaves those
-- of the balances. Groups of different tasks may have different limits on one balance, so these stay with their events.
create function ledger_post_many(p_tenant text, p_kinds text[], p_holds bigint[], p_attempts integer[], p_groups bigint[],
                                 p_spent bigint[], p_spent_nano bigint[], p_held bigint[], p_held_nano bigint[],
                                 p_overrun bigint[], p_overrun_nano bigint[], f_grp bigint[], f_scope bigint[], f_start timestamptz[],
                                 p_limits bigint[], p_nanos bigint[], p_modes text[], p_now timestamptz)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    -- In the order of the events, and taken under the locks.
    v_numbers bigint[] := array(select nextval('journal_number_seq') from generate_series(1, cardinality(p_kinds)));
    v_differ boolean := p_modes is not null and f_grp[1] <> f_grp[cardinality(f_grp)] and exists (
        select from unnest(f_scope, f_start, p_limits, p_nanos, p_modes) f (scope_id, start, tokens, nano, mode)
        group by f.scope_id, f.start having count(distinct row(f.tokens, f.nano, f.mode)) > 1);
begin
    with parts as materialized (
        select e.*, f.scope_id, f.start, f.pos, row_number() over (partition by f.scope_id, f.start order by e.ord) as n
        from unnest(p_groups, p_spent, p_spent_nano, p_held, p_held_nano, p_overrun, p_overrun_nano) with ordinality
             e (grp, spent, spent_nano, held, held_nano, overrun, overrun_nano, ord)
        join unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos) on f.grp = e.grp
    ), totals as (
        select m.scope_id, m.start, count(*) as n, sum(m.spent) as spent, sum(m.spent_nano) as spent_nano,
               sum(m.held) as held, sum(m.held_nano) as held_nano, sum(m.overrun) as overrun, sum(m.overrun_nano) as overrun_nano,
               (array_agg(m.pos order by m.n desc))[1] as pos
        from parts m group by m.scope_id, m.start
    ), moved as (
        update balances b set
            spent_tokens = b.spent_tokens + t.spent, spent_nano = b.spent_nano + t.spent_nano,
            held_tokens = b.held_tokens + t.held, held_nano = b.held_nano + t.held_nano,
            overrun_tokens = b.overrun_tokens + t.overrun, overrun_nano = b.overrun_nano + t.overrun_nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[t.pos] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[t.pos] end,
            mode = case when p_modes is null then b.mode else p_modes[t.pos] end,
            seq = b.seq + t.n, updated_at = p_now, dormant = false
        from totals t where b.tenant = p_tenant and b.scope_id = any (f_scope) and b.scope_id = t.scope_id and b.window_start = t.start
        returning b.*, b.seq - t.n as seq_before
    ), posted as (
        insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                              spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                              spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
        select b.tenant, b.scope_id, b.window_start, b.seq_before + 1, b.seq, v_numbers[1], v_numbers[cardinality(v_numbers)], p_now, false,
               b.spent_tokens, b.held_tokens, b.granted_tokens, b.overrun_tokens,
               b.spent_nano, b.held_nano, b.granted_nano, b.overrun_nano, b.limit_tokens, b.limit_nano, b.mode
        from moved b
    ), scopes_of as (
        select m.ord, array_agg(m.scope_id order by m.pos) as ids, array_agg(m.start order by m.pos) as starts,
               array_agg(b.seq_before + m.n order by m.pos) as seqs,
               case when v_differ then array_agg(p_limits[m.pos] order by m.pos) end as limits,
               case when v_differ then array_agg(p_nanos[m.pos] order by m.pos) end as nanos,
               case when v_differ then array_agg(p_modes[m.pos] order by m.pos) end as modes
        from parts m join moved b on b.scope_id = m.scope_id and b.window_start = m.start group by m.ord
    )
    insert into journal (tenant, number, at, kind, hold_id, attempt, scope_ids, window_starts, seqs,
                         d_spent_tokens, d_held_tokens, d_overrun_tokens, d_spent_nano, d_held_nano, d_overrun_nano,
                         limits_tokens, limits_nano, modes) overriding system value
    select p_tenant, v_numbers[s.ord], p_now, p_kinds[s.ord], p_holds[s.ord], p_attempts[s.ord], s.ids, s.starts, s.seqs,
           p_spent[s.ord], p_held[s.ord], p_overrun[s.ord], p_spent_nano[s.ord], p_held_nano[s.ord], p_overrun_nano[s.ord],
           s.limits, s.nanos, s.modes
    from scopes_of s order by s.ord;
end $$;

-- Holds those asks of one tenant that are plain: under a new key, and fitting in full even if each ask before it got all
-- that it can get. So who comes first in a batch is never passed by who comes later. Asks with the same path, labels and
-- task form a group: p_groups has the number of each ask's group, whose scopes and labels, separated by blanks, are in
-- p_paths and p_labels. The money of an ask is null if its price is unknown.
-- An ask under a new key whose minimum would not fit even if all open holds had ended is answered too: its key is bound,
-- and nothing is held. Returns for each ask that is answered its place in the batch, and for each group the gate's views of
-- its scopes before the batch, in the order of scope_ids.
create function ledger_hold_many(p_tenant text, p_paths text[], p_labels text[], p_tasks text[],
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
    v_ids := array(select new_hold_id() from generate_series(1, cardinality(p_keys)));
    with paths as materialized (
        select f.grp, string_to_array(p_paths[f.grp], ' ') as path, string_to_array(p_labels[f.grp], ' ') as labels, p_tasks[f.grp] as task,
               array_agg(f.scope_id order by f.ord) as scope_ids, array_agg(f.start order by f.ord) as starts,
               jsonb_agg(f.policy order by f.ord) as policies
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, ord)
        where f.grp <> all (v_fresh) group by f.grp
    ), made as (
        insert into holds (tenant, hold_id, key, digest, path, labels, task, model, scope_ids, window_starts, state, asked_tokens, asked_nano,
                           tokens, nano, views, lease, expires_at, created_at)
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
        insert into holds (tenant, hold_id, key, digest, state, created_at)
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

-- Settles those attempts of one tenant that are next or in progress on open holds: overruns last, and of these last those
-- that free nothing of the other unit, so that what is spent and held is highest at the end, where warnings look. No order
-- does that for an overrun of money that frees tokens beside one of tokens that frees money: the former is left alone.
-- Holds that draw on the same balances form a group, as in ledger_post_many.
create function ledger_settle_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_tokens bigint[], p_nanos bigint[],
    p_usages jsonb[], p_digests bytea[], p_defaults jsonb, p_now timestamptz)
returns table (hold_id bigint, overrun_tokens bigint, overrun_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_groups bigint[];
    v_held bigint[];                                  -- what each hold held
    v_held_nano bigint[];
    v_over bigint[];
    v_over_nano bigint[];
    v_overrun boolean;
    f_grp bigint[];                                   -- the scopes of all groups, flattened
    f_scope bigint[];
    f_start timestamptz[];
begin
    perform 1 from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds) order by h.hold_id for update;
    with reports as materialized (
        select s.*, h.tokens as held, h.nano as held_nano, h.scope_ids, h.window_starts,
               case when s.tokens <= h.tokens and s.nano <= h.nano then 0
                    when s.tokens < h.tokens or s.nano < h.nano then 1 else 2 end as rank,
               bool_or(s.tokens > h.tokens and s.nano < h.nano) over () as any_frees_money,
               dense_rank() over (order by h.scope_ids, h.window_starts) as grp
        from unnest(p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests) with ordinality
             s (hold_id, attempt, tokens, nano, usage, digest, ord)
        cross join lateral (select * from holds h where h.tenant = p_tenant and h.hold_id = s.hold_id offset 0) h
        left join lateral (select a.state from attempts a
                           where a.tenant = p_tenant and a.hold_id = s.hold_id and a.attempt = h.attempts offset 0) a on true
        where h.state = 'held' and s.tokens <= 1000000000 and s.nano <= 1000000000000
          and ((h.attempts = s.attempt and a.state = 'started') or (h.attempts + 1 = s.attempt and a.state is distinct from 'started'))
    ), kept as materialized (
        select * from reports s where not (s.rank = 1 and s.tokens < s.held and s.any_frees_money)
    ), groups as (
        select distinct on (k.grp) k.grp, k.scope_ids, k.window_starts from kept k
    )
    select array_agg(k.hold_id order by k.rank, k.ord), array_agg(k.attempt order by k.rank, k.ord),
           array_agg(k.tokens order by k.rank, k.ord), array_agg(k.nano order by k.rank, k.ord),
           array_agg(k.usage order by k.rank, k.ord), array_agg(k.digest order by k.rank, k.ord),
           array_agg(k.held order by k.rank, k.ord), array_agg(k.held_nano order by k.rank, k.ord),
           array_agg(greatest(0, k.tokens - k.held) order by k.rank, k.ord),
           array_agg(greatest(0, k.nano - k.held_nano) order by k.rank, k.ord),
           array_agg(k.grp order by k.rank, k.ord), bool_or(k.rank > 0),
           (select array_agg(g.grp order by g.grp, u.ord) from groups g cross join lateral unnest(g.scope_ids) with ordinality u (s, ord)),
           (select array_agg(u.s order by g.grp, u.ord) from groups g cross join lateral unnest(g.scope_ids) with ordinality u (s, ord)),
           (select array_agg(u.w order by g.grp, u.ord) from groups g cross join lateral unnest(g.window_starts) with ordinality u (w, ord))
    into p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests, v_held, v_held_nano, v_over, v_over_nano, v_groups, v_overrun,
         f_grp, f_scope, f_start
    from kept k;
    if p_holds is null then
        return;
    end if;
    insert into attempts as a (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, usage, digest, started_at, reported_at)
    select p_tenant, s.hold_id, s.attempt, 'reported', s.tokens, s.nano, s.over, s.over_nano, s.usage, s.digest, v_now, v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos, v_over, v_over_nano, p_usages, p_digests)
         s (hold_id, attempt, tokens, nano, over, over_nano, usage, digest)
    on conflict (tenant, hold_id, attempt) do update set state = 'reported', tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    update holds h set state = 'settled', tokens = 0, nano = 0, attempts = s.attempt, charged_tokens = h.charged_tokens + s.tokens,
           charged_nano = h.charged_nano + s.nano, ended_at = v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos) s (hold_id, attempt, tokens, nano)
    where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id;
    -- Only now, so that other calls on these balances wait as briefly as possible: the holds are locked already.
    perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w)) from (select distinct u.s, u.w from unnest(f_scope, f_start) u (s, w)) d;
    -- What exceeds a hold is an entry of its own.
    perform ledger_post_many(p_tenant, array_agg(e.kind order by e.ord, e.part), array_agg(e.hold_id order by e.ord, e.part),
                             array_agg(e.attempt order by e.ord, e.part), array_agg(e.grp order by e.ord, e.part),
                             array_agg(e.spent order by e.ord, e.part), array_agg(e.spent_nano order by e.ord, e.part),
                             array_agg(e.held order by e.ord, e.part), array_agg(e.held_nano order by e.ord, e.part),
                             array_agg(e.over order by e.ord, e.part), array_agg(e.over_nano order by e.ord, e.part),
                             f_grp, f_scope, f_start, null, null, null, v_now)
    from unnest(p_holds, p_attempts, v_groups, p_tokens, p_nanos, v_held, v_held_nano, v_over, v_over_nano) with ordinality
         r (hold_id, attempt, grp, tokens, nano, held, held_nano, over, over_nano, ord)
    cross join lateral (
        select r.ord, 1 as part, 'settle' as kind, r.hold_id, r.attempt, r.grp, r.tokens - r.over as spent, r.nano - r.over_nano as spent_nano,
               -r.held as held, -r.held_nano as held_nano, 0::bigint as over, 0::bigint as over_nano
        union all
        select r.ord, 2, 'overrun', r.hold_id, r.attempt, r.grp, r.over, r.over_nano, 0, 0, r.over, r.over_nano
        where r.over > 0 or r.over_nano > 0) e;
    return query select s.* from unnest(p_holds, v_over, v_over_nano) s (hold_id, over, over_nano);
    if v_overrun then
        perform ledger_warn(p_tenant, array_agg(x.scope_id), array_agg(x.start), array_agg(p.policy), v_now)
        from (select distinct f.scope_id, f.start, h.task
              from unnest(p_holds, v_groups, v_over, v_over_nano) s (hold_id, grp, over, over_nano)
              cross join lateral (select t.task from holds t where t.tenant = p_tenant and t.hold_id = s.hold_id offset 0) h
              join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start) on f.grp = s.grp
              where s.over > 0 or s.over_nano > 0) x
        cross join lateral ledger_policies_of(p_tenant, array[x.scope_id], array[x.task], p_defaults) p;
    end if;
end $$;
