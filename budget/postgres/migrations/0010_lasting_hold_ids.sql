-- No id of a hold is given out again after a restore or a failover: it ends in 20 random bits. Holds of before keep theirs.

create sequence hold_numbers owned by holds.hold_id;
select setval('hold_numbers', last_value, is_called) from holds_hold_id_seq;
create function new_hold_id() returns bigint language sql volatile as $$
    select (nextval('hold_numbers') << 20) | floor(random() * 1048576)::bigint
$$;
alter table holds alter hold_id drop identity;
alter table holds alter hold_id set default new_hold_id();

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
