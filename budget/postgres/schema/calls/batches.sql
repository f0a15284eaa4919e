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

-- What a batch may hold on each of these scopes, whose balances are locked: null, without limit. On a scope that is `shut`
-- each ask goes through the gate alone.
create function ledger_batch_rooms(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[], p_lapse interval, p_now timestamptz)
returns table (pos bigint, scope_id bigint, window_start timestamptz, shut boolean, frozen boolean, needs_price boolean,
               room_tokens bigint, room_nano bigint)
language sql stable as $$
    select f.pos, f.scope_id, f.start,
           (f.policy ->> 'frozen')::boolean or ledger_due(b, p_now) is true
           or (l.bounded and (l.tokens + b.granted_tokens = 0) is true)
           or (l.bounded and exists (select 1 from waiters w where w.tenant = p_tenant and w.scope_id = f.scope_id
                                     and w.last_asked > p_now - p_lapse and w.asks >= 2)),
           (f.policy ->> 'frozen')::boolean,
           l.nano is not null and not f.policy ? 'shadow',
           case when l.bounded then l.tokens + b.granted_tokens - b.spent_tokens - b.held_tokens
                                    - coalesce((f.policy -> 'reserve' ->> 0)::bigint, 0) end,
           case when l.bounded then l.nano + b.granted_nano - b.spent_nano - b.held_nano
                                    - coalesce((f.policy -> 'reserve' ->> 1)::bigint, 0) end
    from unnest(p_scopes, p_windows, p_policies) with ordinality f (scope_id, start, policy, pos)
    join balances b on b.tenant = p_tenant and b.scope_id = f.scope_id and b.window_start = f.start
    cross join lateral (select f.policy ->> 'mode' <> 'soft' as bounded, (f.policy -> 'limit' ->> 0)::bigint as tokens,
                               (f.policy -> 'limit' ->> 1)::bigint as nano offset 0) l
$$;

-- Creates the scopes that asks of these groups lack, and returns the groups concerned. An ask under a used key needs none.
create function ledger_batch_scopes(p_tenant text, p_keys text[], p_paths text[], p_labels text[], p_groups bigint[], p_fresh bigint[])
returns bigint[] language sql as $$
    with lacking as (
        select g.grp, kind_of(t.name) as kind, id_of(t.name) as id
        from (select distinct a.path, a.labels, a.grp
              from unnest(p_keys, p_paths, p_labels, p_groups) a (key, path, labels, grp)
              where a.grp = any (p_fresh) and not exists (select from holds h where h.tenant = p_tenant and h.key = a.key)) g
        cross join lateral ledger_expand(p_tenant, string_to_array(g.path, ' '), string_to_array(g.labels, ' ')) t
        where t.scope_id is null
    ), made as (
        insert into scopes (tenant, kind, id) select distinct p_tenant, l.kind, l.id from lacking l order by 2, 3 on conflict do nothing
    )
    select array_agg(distinct l.grp) from lacking l
$$;

-- Holds those asks of one tenant that are plain: under a new key, and fitting in full even if each ask before it got all
-- that it can get. So who comes first in a batch is never passed by who comes later. Scopes of a path, and labels, are
-- separated by blanks. Returns for each plain ask: a number for its path and labels (`grp`), the amounts
-- held on each scope before it, and, for the first of each number, the gate's views of it. The money of an ask is null if
-- its price is unknown.
create function ledger_hold_many(p_tenant text, p_keys text[], p_digests bytea[], p_paths text[], p_labels text[], p_tasks text[], p_models text[],
                                 p_tokens bigint[], p_nanos bigint[], p_leases interval[], p_lapse interval, p_defaults jsonb, p_now timestamptz,
                                 p_leasts bigint[], p_least_nanos bigint[])
returns table (key text, hold_id bigint, expires_at timestamptz, grp bigint, before_tokens bigint[], before_nano bigint[], views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    i_grp bigint[];                                   -- for each ask: the first ask with the same path and labels
    f_grp bigint[];                                   -- the scopes of all paths, flattened
    f_scope bigint[];
    f_task text[];
    f_start timestamptz[];
    f_policy jsonb[];
    v_versions text[];
    v_nanos bigint[] := array(select coalesce(u.n, 0) from unnest(p_nanos) with ordinality u (n, ord) order by u.ord);
    v_fresh bigint[];                                 -- groups with a scope that does not exist
    v_made bigint[];                                  -- groups of which this batch creates scopes
    v_held bigint[];                                  -- the hold of each ask; null for one that is not plain
    v_plain bigint[];                                 -- the asks that are plain
    v_undone boolean;                                 -- whether a scope was created for an ask that needs a price
begin
    select array_agg(x.grp order by x.ord) into i_grp
    from (select ord, min(ord) over (partition by path, labels, task) as grp
          from unnest(p_paths, p_labels, p_tasks) with ordinality u (path, labels, task, ord)) x;
    loop
        select array_agg(g.grp order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(g.task order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(t.scope_id order by g.grp, t.ord) filter (where t.scope_id is not null),
               coalesce(array_agg(g.grp) filter (where t.scope_id is null), '{}')
        into f_grp, f_task, f_scope, v_fresh
        from (select distinct u.path, u.labels, u.task, u.grp from unnest(p_paths, p_labels, p_tasks, i_grp) u (path, labels, task, grp)) g
        cross join lateral ledger_expand(p_tenant, string_to_array(g.path, ' '), string_to_array(g.labels, ' ')) t;
        exit when v_fresh = '{}' or v_made is not null;
        v_made := ledger_batch_scopes(p_tenant, p_keys, p_paths, p_labels, i_grp, v_fresh);
        exit when v_made is null;
    end loop;
    -- Amounts that may exceed the range of a balance are not plain.
    if f_scope is null or (select max(n) from unnest(v_nanos) n) > 1000000000000 then
        return;
    end if;
    v_versions := ledger_policy_versions(p_tenant, f_scope, f_task);
    select array_agg(ledger_window_start(split_part(p.window_of, ' ', 1), split_part(p.window_of, ' ', 2), v_now) order by p.ord),
           array_agg(p.policy order by p.ord)
    into f_start, f_policy from ledger_policies_of(p_tenant, f_scope, f_task, p_defaults) p;

    with paths as (
        select f.grp, array_agg(f.scope_id order by f.ord) as scope_ids, array_agg(f.start order by f.ord) as starts,
            jsonb_agg(f.policy order by f.ord) as policies
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, ord) group by f.grp
    ), made as (
        insert into holds (tenant, key, digest, path, labels, task, model, scope_ids, window_starts, state, asked_tokens, asked_nano, tokens, nano,
                           views, lease, expires_at, created_at)
        select p_tenant, a.key, a.digest, string_to_array(a.path, ' '), string_to_array(a.labels, ' '), a.task, a.model, p.scope_ids, p.starts,
               'held', a.tokens, a.nano, a.tokens, a.nano, p.policies, a.lease, v_now + a.lease, v_now
        from unnest(p_keys, p_digests, p_paths, p_labels, p_tasks, p_models, p_tokens, v_nanos, p_leases, i_grp)
             a (key, digest, path, labels, task, model, tokens, nano, lease, grp)
        join paths p on p.grp = a.grp
        where a.grp <> all (v_fresh)
        order by a.key on conflict (tenant, key) where key is not null do nothing returning key, hold_id
    )
    select array_agg(m.hold_id order by a.ord) into v_held
    from unnest(p_keys) with ordinality a (key, ord) left join made m on m.key = a.key;

    perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w), v_now) from (select distinct s, w from unnest(f_scope, f_start) u (s, w)) d;
    if ledger_policy_versions(p_tenant, f_scope, f_task) is distinct from v_versions then
        raise exception using errcode = 'PB001', message = 'a policy changed';
    end if;
    if array_position(v_held, null) is not null or exists (
        select 1
        from ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r
        join (select f.scope_id, f.start, sum(a.tokens) as tokens, sum(a.nano) as nano, bool_or(a.nano is null) as unpriced
              from unnest(p_tokens, p_nanos, i_grp) a (tokens, nano, grp) join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start)
                  on f.grp = a.grp
              group by 1, 2) d on d.scope_id = r.scope_id and d.start = r.window_start
        where r.shut or (d.unpriced and r.needs_price) or d.tokens > r.room_tokens or (d.nano > 0 and d.nano > r.room_nano))
    then
        with asks as (
            select a.*, r.scope_id, r.window_start, r.room_tokens, r.room_nano, r.shut, r.needs_price, r.frozen
            from unnest(v_held, p_tokens, v_nanos, p_leasts, p_least_nanos, p_nanos, i_grp) with ordinality
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
                   sum(case when h.hopeless then 0 else h.nano end) over w as sum_nano
            from hopes h window w as (partition by h.scope_id, h.window_start order by h.ord)
        )
        select array_agg(x.ord order by x.ord) filter (where x.plain), bool_or(x.unpriced and x.grp = any (v_made))
        into v_plain, v_undone
        from (select r.ord, r.grp, bool_or(r.price is null and r.needs_price) as unpriced,
                     bool_and(r.hold_id is not null and not r.hopeless and not r.shut and not (r.price is null and r.needs_price)
                              and (r.sum_tokens > r.room_tokens) is not true and (r.nano > 0 and r.sum_nano > r.room_nano) is not true) as plain
              from running r group by r.ord, r.grp) x;
        -- Nothing of an ask that needs a price is written, not even the names of its scopes.
        if v_plain is null or v_undone then
            raise exception using errcode = 'PB001', message = 'no plain ask';
        end if;
        delete from holds h using unnest(v_held) with ordinality x (hold_id, ord)
        where h.tenant = p_tenant and h.hold_id = any (v_held) and h.hold_id = x.hold_id and x.ord <> all (v_plain);
        select array_agg(a.key order by a.ord), array_agg(a.hold_id order by a.ord), array_agg(a.tokens order by a.ord),
               array_agg(a.nano order by a.ord), array_agg(a.grp order by a.ord), array_agg(a.lease order by a.ord)
        into p_keys, v_held, p_tokens, v_nanos, i_grp, p_leases
        from unnest(p_keys, v_held, p_tokens, v_nanos, i_grp, p_leases) with ordinality a (key, hold_id, tokens, nano, grp, lease, ord)
        where a.ord = any (v_plain);
    end if;

    return query
    with asks as (
        select a.*, f.scope_id, f.start, f.policy, f.pos
        from (select u.*, u.ord = min(u.ord) over (partition by u.grp) as leads
              from unnest(p_keys, v_held, p_tokens, v_nanos, i_grp) with ordinality u (key, hold_id, tokens, nano, grp, ord)) a
        join unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, pos) on f.grp = a.grp
    ), running as (
        select a.*, sum(a.tokens) over w as sum_tokens, sum(a.nano) over w as sum_nano, row_number() over w as n
        from asks a window w as (partition by a.scope_id, a.start order by a.ord)
    ), last as (
        select distinct on (r.scope_id, r.start) r.scope_id, r.start, r.sum_tokens, r.sum_nano, r.n, r.policy
        from running r order by r.scope_id, r.start, r.n desc
    ), moved as (
        update balances b set held_tokens = b.held_tokens + l.sum_tokens, held_nano = b.held_nano + l.sum_nano, seq = b.seq + l.n,
               limit_tokens = (l.policy -> 'limit' ->> 0)::bigint, limit_nano = (l.policy -> 'limit' ->> 1)::bigint,
                   mode = l.policy ->> 'mode', updated_at = v_now
        from last l where b.tenant = p_tenant and b.scope_id = l.scope_id and b.window_start = l.start
        returning b.*, l.sum_tokens as moved_tokens, l.sum_nano as moved_nano, l.n as moved_n
    ), posted as (
        insert into entries (tenant, at, scope_id, window_start, seq, kind, hold_id, d_held_tokens, d_held_nano,
                             spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                             spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
        select m.tenant, v_now, m.scope_id, m.window_start, m.seq - m.moved_n + r.n, 'hold', r.hold_id, r.tokens, r.nano,
               m.spent_tokens, m.held_tokens - m.moved_tokens + r.sum_tokens, m.granted_tokens, m.overrun_tokens,
               m.spent_nano, m.held_nano - m.moved_nano + r.sum_nano, m.granted_nano, m.overrun_nano,
               (r.policy -> 'limit' ->> 0)::bigint, (r.policy -> 'limit' ->> 1)::bigint, r.policy ->> 'mode'
        from running r join moved m on m.scope_id = r.scope_id and m.window_start = r.start
    )
    select r.key, r.hold_id, v_now + min(l.lease), r.grp,
           array_agg(m.held_tokens - m.moved_tokens + r.sum_tokens - r.tokens order by r.pos)::bigint[],
           array_agg(m.held_nano - m.moved_nano + r.sum_nano - r.nano order by r.pos)::bigint[],
           case when r.leads then jsonb_agg(r.policy || jsonb_build_object(
               'spent', jsonb_build_array(m.spent_tokens, m.spent_nano),
               'held', jsonb_build_array(m.held_tokens - m.moved_tokens, m.held_nano - m.moved_nano), 'granted',
                   jsonb_build_array(m.granted_tokens, m.granted_nano),
               'window_start', calendar_start(m.window_start), 'queued', false) order by r.pos) end
    from running r
    join moved m on m.scope_id = r.scope_id and m.window_start = r.start
    join unnest(p_leases) with ordinality l (lease, ord) on l.ord = r.ord
    group by r.key, r.hold_id, r.grp, r.ord, r.leads;
    perform ledger_warn(p_tenant, array_agg(f.scope_id), array_agg(f.start), array_agg(f.policy), v_now)
    from unnest(f_grp, f_scope, f_start, f_policy) f (grp, scope_id, start, policy) where f.grp = any (i_grp);
exception when sqlstate 'PB001' or numeric_value_out_of_range then
    return;
end $$;

-- Settles those attempts of one tenant that are next or in progress on open holds: overruns last, and of these last those
-- that free nothing of the other unit, so that what is spent and held is highest at the end, where warnings look. No order
-- does that for an overrun of money that frees tokens beside one of tokens that frees money: the former is left alone.
-- Joins repeat `any (p_holds)`: without statistics they would read all holds of the tenant.
create function ledger_settle_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_tokens bigint[], p_nanos bigint[],
    p_usages jsonb[], p_digests bytea[], p_defaults jsonb, p_now timestamptz)
returns table (hold_id bigint, overrun_tokens bigint, overrun_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_overrun boolean;
begin
    perform 1 from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds) order by h.hold_id for update;
    select array_agg(s.hold_id order by s.rank, s.ord), array_agg(s.attempt order by s.rank, s.ord),
           array_agg(s.tokens order by s.rank, s.ord), array_agg(s.nano order by s.rank, s.ord),
           array_agg(s.usage order by s.rank, s.ord), array_agg(s.digest order by s.rank, s.ord), bool_or(s.rank > 0)
    into p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests, v_overrun
    from (select s.*, s.tokens < h.tokens as frees_tokens,
                 case when s.tokens <= h.tokens and s.nano <= h.nano then 0
                      when s.tokens < h.tokens or s.nano < h.nano then 1 else 2 end as rank,
                 bool_or(s.tokens > h.tokens and s.nano < h.nano) over () as any_frees_money
          from unnest(p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests) with ordinality
               s (hold_id, attempt, tokens, nano, usage, digest, ord)
          join holds h on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id
                      and h.state = 'held'
          left join attempts a on a.tenant = p_tenant and a.hold_id = s.hold_id and a.attempt = h.attempts
          where s.tokens <= 1000000000 and s.nano <= 1000000000000
            and ((h.attempts = s.attempt and a.state = 'started') or (h.attempts + 1 = s.attempt and a.state is distinct from 'started'))) s
    where not (s.rank = 1 and s.frees_tokens and s.any_frees_money);
    if p_holds is null then
        return;
    end if;
    perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w), v_now)
    from (select distinct u.s, u.w from holds h cross join lateral unnest(h.scope_ids, h.window_starts) u (s, w)
          where h.tenant = p_tenant and h.hold_id = any (p_holds)) d;
    insert into attempts as a (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, usage, digest, started_at, reported_at)
    select p_tenant, s.hold_id, s.attempt, 'reported', s.tokens, s.nano, greatest(0, s.tokens - h.tokens), greatest(0, s.nano - h.nano),
           s.usage, s.digest, v_now, v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests) s (hold_id, attempt, tokens, nano, usage, digest)
    join holds h on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id
    on conflict (tenant, hold_id, attempt) do update set state = 'reported', tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    with reports as materialized (
        select s.hold_id, s.attempt, s.tokens, s.nano, h.tokens as held_tokens, h.nano as held_nano, u.scope_id, u.start, s.ord,
               greatest(0, s.tokens - h.tokens) as over_tokens, greatest(0, s.nano - h.nano) as over_nano
        from unnest(p_holds, p_attempts, p_tokens, p_nanos) with ordinality s (hold_id, attempt, tokens, nano, ord)
        join holds h on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id
        cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, start)
    ), parts as (
        select r.hold_id, r.attempt, r.scope_id, r.start, r.ord, 1 as part, r.tokens - r.over_tokens as tokens, r.nano - r.over_nano as nano,
               r.held_tokens, r.held_nano, 0 as over_tokens, 0 as over_nano
        from reports r
        union all
        select r.hold_id, r.attempt, r.scope_id, r.start, r.ord, 2, r.over_tokens, r.over_nano, 0, 0, r.over_tokens, r.over_nano
        from reports r where r.over_tokens > 0 or r.over_nano > 0
    ), running as (
        select r.*, sum(r.tokens) over w as sum_tokens, sum(r.nano) over w as sum_nano, sum(r.held_tokens) over w as sum_held_tokens,
               sum(r.held_nano) over w as sum_held_nano, sum(r.over_tokens) over w as sum_over_tokens, sum(r.over_nano) over w as sum_over_nano,
               row_number() over w as n
        from parts r window w as (partition by r.scope_id, r.start order by r.ord, r.part)
    ), last as (
        select distinct on (r.scope_id, r.start) r.* from running r order by r.scope_id, r.start, r.n desc
    ), moved as (
        update balances b set spent_tokens = b.spent_tokens + l.sum_tokens, spent_nano = b.spent_nano + l.sum_nano,
               held_tokens = b.held_tokens - l.sum_held_tokens, held_nano = b.held_nano - l.sum_held_nano,
               overrun_tokens = b.overrun_tokens + l.sum_over_tokens, overrun_nano = b.overrun_nano + l.sum_over_nano,
               seq = b.seq + l.n, updated_at = v_now
        from last l where b.tenant = p_tenant and b.scope_id = l.scope_id and b.window_start = l.start
        returning b.*, l.sum_tokens as m_tokens, l.sum_nano as m_nano, l.sum_held_tokens as m_held_tokens, l.sum_held_nano as m_held_nano,
                  l.sum_over_tokens as m_over_tokens, l.sum_over_nano as m_over_nano, l.n as m_n
    )
    insert into entries (tenant, at, scope_id, window_start, seq, kind, hold_id, attempt,
                         d_spent_tokens, d_held_tokens, d_overrun_tokens, d_spent_nano, d_held_nano, d_overrun_nano,
                         spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano,
                         limit_tokens, limit_nano, mode)
    select m.tenant, v_now, m.scope_id, m.window_start, m.seq - m.m_n + r.n, case r.part when 1 then 'settle' else 'overrun' end,
           r.hold_id, r.attempt, r.tokens, -r.held_tokens, r.over_tokens, r.nano, -r.held_nano, r.over_nano,
           m.spent_tokens - m.m_tokens + r.sum_tokens, m.held_tokens + m.m_held_tokens - r.sum_held_tokens, m.granted_tokens,
           m.overrun_tokens - m.m_over_tokens + r.sum_over_tokens,
           m.spent_nano - m.m_nano + r.sum_nano, m.held_nano + m.m_held_nano - r.sum_held_nano, m.granted_nano,
           m.overrun_nano - m.m_over_nano + r.sum_over_nano, m.limit_tokens, m.limit_nano, m.mode
    from running r join moved m on m.scope_id = r.scope_id and m.window_start = r.start;
    return query
    update holds h set state = 'settled', tokens = 0, nano = 0, attempts = s.attempt, charged_tokens = h.charged_tokens + s.tokens,
           charged_nano = h.charged_nano + s.nano, ended_at = v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos) s (hold_id, attempt, tokens, nano)
    join attempts a on a.tenant = p_tenant and a.hold_id = any (p_holds) and a.hold_id = s.hold_id and a.attempt = s.attempt
    where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id
    returning h.hold_id, a.overrun_tokens, a.overrun_nano;
    if v_overrun then
        perform ledger_warn(p_tenant, array_agg(x.scope_id), array_agg(x.start), array_agg(p.policy), v_now)
        from (select distinct u.scope_id, u.start, h.task
              from attempts a
              join holds h on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = a.hold_id
              cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, start)
              where a.tenant = p_tenant and a.hold_id = any (p_holds) and a.attempt = h.attempts
                and (a.overrun_tokens > 0 or a.overrun_nano > 0)) x
        cross join lateral ledger_policies_of(p_tenant, array[x.scope_id], array[x.task], p_defaults) p;
    end if;
end $$;
