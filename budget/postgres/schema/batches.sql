-- Batches. A batch is written as a whole or not at all: then each of its calls goes through the gate alone. Both
-- functions return no row if the batch is not plain. Lock order, as everywhere: hold rows, then balances.

-- The policies of scopes that belong to different tasks.
create function ledger_policies_of(p_tenant text, p_scopes bigint[], p_tasks text[], p_defaults jsonb)
returns table (ord bigint, scope_id bigint, limit_tokens bigint, limit_nano bigint, mode text, window_of text, policy jsonb)
language sql stable as $$
    select x.ord, x.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win || ' ' || p.zone,
           jsonb_build_object('scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
                              'warn_at', p.warn_at, 'backpressure', p.backpressure, 'frozen', p.frozen)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode)
    from unnest(p_scopes, p_tasks) with ordinality x (scope_id, task, ord)
    cross join lateral ledger_policies(p_tenant, array[x.scope_id], x.task, p_defaults) p
$$;

-- Holds asks of one tenant; the scopes of a path are separated by blanks. Returns for each ask: the first ask with the
-- same path (`grp`), the amounts held on each scope before it, and, for the first ask of each path, the gate's views of
-- it. The money of an ask is null if its price is unknown.
create function ledger_hold_many(p_tenant text, p_keys text[], p_digests bytea[], p_paths text[], p_tasks text[], p_models text[],
                                 p_tokens bigint[], p_nanos bigint[], p_leases interval[], p_lapse interval, p_defaults jsonb, p_now timestamptz)
returns table (key text, hold_id bigint, expires_at timestamptz, grp bigint, before_tokens bigint[], before_nano bigint[], views jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    i_grp bigint[];                                   -- for each ask: the first ask with the same path
    f_grp bigint[];                                   -- the scopes of all paths, flattened
    f_scope bigint[];
    f_task text[];
    f_start timestamptz[];
    f_window text[];
    f_policy jsonb[];
    v_window text[];
    v_policy jsonb[];
    v_nanos bigint[] := array(select coalesce(u.n, 0) from unnest(p_nanos) with ordinality u (n, ord) order by u.ord);
    v_held bigint[];
    v_plain boolean;
begin
    select array_agg(x.grp order by x.ord) into i_grp
    from (select ord, min(ord) over (partition by path, task) as grp from unnest(p_paths, p_tasks) with ordinality u (path, task, ord)) x;
    select array_agg(g.grp order by g.grp, t.pos), array_agg(g.task order by g.grp, t.pos), array_agg(s.scope_id order by g.grp, t.pos)
    into f_grp, f_task, f_scope
    from (select distinct u.path, u.task, u.grp from unnest(p_paths, p_tasks, i_grp) u (path, task, grp)) g
    cross join lateral unnest(string_to_array(g.path, ' ')) with ordinality t (name, pos)
    left join scopes s on s.tenant = p_tenant and s.kind = kind_of(t.name) and s.id = id_of(t.name);
    -- New scopes, and amounts that may exceed the range of a balance, are not plain.
    if array_position(f_scope, null) is not null or (select max(n) from unnest(v_nanos) n) > 1000000000000 then
        return;
    end if;
    select array_agg(ledger_window_start(split_part(p.window_of, ' ', 1), split_part(p.window_of, ' ', 2), v_now) order by p.ord),
           array_agg(p.window_of order by p.ord), array_agg(p.policy order by p.ord)
    into f_start, f_window, f_policy from ledger_policies_of(p_tenant, f_scope, f_task, p_defaults) p;

    with paths as (
        select f.grp, array_agg(f.scope_id order by f.ord) as scope_ids, array_agg(f.start order by f.ord) as starts,
            jsonb_agg(f.policy order by f.ord) as policies
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, ord) group by f.grp
    ), made as (
        insert into holds (tenant, key, digest, path, task, model, scope_ids, window_starts, state, asked_tokens, asked_nano, tokens, nano,
                           views, lease, expires_at, created_at)
        select p_tenant, a.key, a.digest, string_to_array(a.path, ' '), a.task, a.model, p.scope_ids, p.starts, 'held', a.tokens, a.nano,
            a.tokens, a.nano,
               p.policies, a.lease, v_now + a.lease, v_now
        from unnest(p_keys, p_digests, p_paths, p_tasks, p_models, p_tokens, v_nanos, p_leases, i_grp)
             a (key, digest, path, task, model, tokens, nano, lease, grp)
        join paths p on p.grp = a.grp
        order by a.key on conflict (tenant, key) where key is not null do nothing returning key, hold_id
    )
    select array_agg(m.hold_id order by a.ord) into v_held from unnest(p_keys) with ordinality a (key, ord) join made m on m.key = a.key;

    v_plain := coalesce(cardinality(v_held), 0) = cardinality(p_keys);
    if v_plain then
        perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w), v_now) from (select distinct s, w from unnest(f_scope, f_start) u (s, w)) d;
        select array_agg(p.window_of order by p.ord), array_agg(p.policy order by p.ord) into v_window, v_policy
        from ledger_policies_of(p_tenant, f_scope, f_task, p_defaults) p;
        select f_window = v_window and f_policy = v_policy and not exists (
            select 1
            from unnest(f_scope, f_start, f_policy) f (scope_id, start, policy)
            join balances b on b.tenant = p_tenant and b.scope_id = f.scope_id and b.window_start = f.start
            join (select f.scope_id, f.start, sum(a.tokens) as tokens, sum(a.nano) as nano, bool_or(a.nano is null) as unpriced
                  from unnest(p_tokens, p_nanos, i_grp) a (tokens, nano, grp) join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start)
                      on f.grp = a.grp
                  group by 1, 2) d on d.scope_id = f.scope_id and d.start = f.start
            where (f.policy ->> 'frozen')::boolean or b.grants_end_at <= v_now
               or (d.unpriced and f.policy -> 'limit' ->> 1 is not null)
               or (f.policy ->> 'mode' <> 'soft' and (
                       ((f.policy -> 'limit' ->> 0)::bigint + b.granted_tokens - b.spent_tokens - b.held_tokens < d.tokens) is true
                    or ((f.policy -> 'limit' ->> 1)::bigint + b.granted_nano - b.spent_nano - b.held_nano < d.nano) is true
                    or ((f.policy -> 'limit' ->> 1)::bigint + b.granted_nano = 0) is true
                    or exists (select 1 from waiters w where w.tenant = p_tenant and w.scope_id = f.scope_id
                               and w.asks >= 2 and w.last_asked > v_now - p_lapse)))
        ) into v_plain;
    end if;
    if not v_plain then
        raise exception using errcode = 'PB001', message = 'not a plain batch';
    end if;

    return query
    with asks as (
        select a.*, f.scope_id, f.start, f.policy, f.pos
        from unnest(p_keys, v_held, p_tokens, v_nanos, i_grp) with ordinality a (key, hold_id, tokens, nano, grp, ord)
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
           case when r.ord = r.grp then jsonb_agg(r.policy || jsonb_build_object(
               'spent', jsonb_build_array(m.spent_tokens, m.spent_nano),
               'held', jsonb_build_array(m.held_tokens - m.moved_tokens, m.held_nano - m.moved_nano), 'granted',
                   jsonb_build_array(m.granted_tokens, m.granted_nano),
               'window_start', nullif(m.window_start, '-infinity'), 'queued', false) order by r.pos) end
    from running r
    join moved m on m.scope_id = r.scope_id and m.window_start = r.start
    join unnest(p_leases) with ordinality l (lease, ord) on l.ord = r.ord
    group by r.key, r.hold_id, r.grp, r.ord;
    perform ledger_warn(p_tenant, f_scope, f_start, f_policy, v_now);
exception when sqlstate 'PB001' or numeric_value_out_of_range then
    return;
end $$;

-- Settles attempts of one tenant that are next or in progress, on open holds, if each holds enough. Joins repeat
-- `any (p_holds)`: without statistics they would read all holds of the tenant.
create function ledger_settle_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_tokens bigint[], p_nanos bigint[],
    p_usages jsonb[], p_digests bytea[], p_now timestamptz)
returns table (hold_id bigint) language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_plain boolean;
begin
    perform 1 from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds) order by h.hold_id for update;
    select count(*) = cardinality(p_holds) into v_plain
    from unnest(p_holds, p_attempts, p_tokens, p_nanos) s (hold_id, attempt, tokens, nano)
    join holds h on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id
                and h.state = 'held' and h.tokens >= s.tokens and h.nano >= s.nano
    left join attempts a on a.tenant = p_tenant and a.hold_id = s.hold_id and a.attempt = h.attempts
    where (h.attempts = s.attempt and a.state = 'started') or (h.attempts + 1 = s.attempt and a.state is distinct from 'started');
    if not v_plain then
        return;
    end if;
    perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w), v_now)
    from (select distinct u.s, u.w from holds h cross join lateral unnest(h.scope_ids, h.window_starts) u (s, w)
          where h.tenant = p_tenant and h.hold_id = any (p_holds)) d;
    insert into attempts as a (tenant, hold_id, attempt, state, tokens, nano, usage, digest, started_at, reported_at)
    select p_tenant, s.hold_id, s.attempt, 'reported', s.tokens, s.nano, s.usage, s.digest, v_now, v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests) s (hold_id, attempt, tokens, nano, usage, digest)
    on conflict (tenant, hold_id, attempt) do update set state = 'reported', tokens = excluded.tokens, nano = excluded.nano,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    with reports as (
        select s.hold_id, s.attempt, s.tokens, s.nano, h.tokens as held_tokens, h.nano as held_nano, u.scope_id, u.start, s.ord
        from unnest(p_holds, p_attempts, p_tokens, p_nanos) with ordinality s (hold_id, attempt, tokens, nano, ord)
        join holds h on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id
        cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, start)
    ), running as (
        select r.*, sum(r.tokens) over w as sum_tokens, sum(r.nano) over w as sum_nano, sum(r.held_tokens) over w as sum_held_tokens,
               sum(r.held_nano) over w as sum_held_nano, row_number() over w as n
        from reports r window w as (partition by r.scope_id, r.start order by r.ord)
    ), last as (
        select distinct on (r.scope_id, r.start) r.* from running r order by r.scope_id, r.start, r.n desc
    ), moved as (
        update balances b set spent_tokens = b.spent_tokens + l.sum_tokens, spent_nano = b.spent_nano + l.sum_nano,
               held_tokens = b.held_tokens - l.sum_held_tokens, held_nano = b.held_nano - l.sum_held_nano, seq = b.seq + l.n, updated_at = v_now
        from last l where b.tenant = p_tenant and b.scope_id = l.scope_id and b.window_start = l.start
        returning b.*, l.sum_tokens as m_tokens, l.sum_nano as m_nano, l.sum_held_tokens as m_held_tokens, l.sum_held_nano as m_held_nano, l.n as m_n
    )
    insert into entries (tenant, at, scope_id, window_start, seq, kind, hold_id, attempt,
                         d_spent_tokens, d_held_tokens, d_spent_nano, d_held_nano,
                         spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano,
                         limit_tokens, limit_nano, mode)
    select m.tenant, v_now, m.scope_id, m.window_start, m.seq - m.m_n + r.n, 'settle', r.hold_id, r.attempt,
           r.tokens, -r.held_tokens, r.nano, -r.held_nano,
           m.spent_tokens - m.m_tokens + r.sum_tokens, m.held_tokens + m.m_held_tokens - r.sum_held_tokens, m.granted_tokens, m.overrun_tokens,
           m.spent_nano - m.m_nano + r.sum_nano, m.held_nano + m.m_held_nano - r.sum_held_nano, m.granted_nano, m.overrun_nano,
           m.limit_tokens, m.limit_nano, m.mode
    from running r join moved m on m.scope_id = r.scope_id and m.window_start = r.start;
    return query
    update holds h set state = 'settled', tokens = 0, nano = 0, attempts = s.attempt, charged_tokens = h.charged_tokens + s.tokens,
           charged_nano = h.charged_nano + s.nano, ended_at = v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos) s (hold_id, attempt, tokens, nano)
    where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id returning h.hold_id;
end $$;
