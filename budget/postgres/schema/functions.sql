-- The ledger's verbs. Each is one round trip and one transaction, and takes the same locks in the same order:
-- the hold row first, then the balances by (scope_id, window_start).
-- p_now is null in production (the server's clock decides) and set by tests of windows and leases.

-- First instant of the window that holds p_at. An hour is elapsed time, so a repeated hour is two windows; a day
-- begins at the first of two midnights where the clock is set back over midnight.
create function ledger_window_start(p_window text, p_zone text, p_at timestamptz) returns timestamptz language plpgsql stable as $$
declare
    v_midnight timestamp;
    v_start timestamptz;
    v_first timestamptz;
begin
    if p_window = 'lifetime' then
        return '-infinity';
    elsif p_window = 'hour' then
        return p_at - (p_at at time zone p_zone - date_trunc('hour', p_at at time zone p_zone));
    end if;
    v_midnight := date_trunc(p_window, p_at at time zone p_zone);
    v_start := v_midnight at time zone p_zone;
    -- The same midnight by the offset of the day before; Postgres takes the later one where there are two.
    v_first := v_start - ((v_start - interval '24 hours') at time zone p_zone - (v_midnight - interval '24 hours'));
    return case when v_first < v_start and v_first at time zone p_zone = v_midnight then v_first else v_start end;
end $$;

-- The instant after the window that begins at p_start; null for a lifetime. The zone tables of Postgres decide, as they do
-- for its beginning: those of Python may be of another year.
create function ledger_window_end(p_window text, p_zone text, p_start timestamptz) returns timestamptz language sql stable as $$
    select case p_window when 'lifetime' then null when 'hour' then p_start + interval '1 hour'
           else ledger_window_start(p_window, p_zone, p_start + case p_window when 'day' then interval '36 hours' else interval '32 days' end) end
$$;

-- The policy of each scope as it stands: stored, then the request of p_task, then the defaults of its kind.
-- What a stored policy sets, a request only tightens; under a stored limit that goes for mode, window and zone too.
-- `shared_…` is what everybody finds: on a scope that others share, a request counts for the calls of its task alone.
create function ledger_policies(p_scopes bigint[], p_task text, p_defaults jsonb)
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
    join scopes c on c.scope_id = x.scope_id
    cross join lateral (select p_defaults -> c.kind as v) d
    left join policies s on s.scope_id = x.scope_id and s.task = ''
    left join policies r on r.scope_id = x.scope_id and r.task = p_task and p_task <> ''
    cross join lateral (select s.limit_tokens is not null or s.limit_nano_usd is not null as limited, coalesce(s.mode, d.v ->> 'mode') as mode,
                               c.kind in ('tenant', 'user', 'session') as shared) k
    cross join lateral (select case when s.limit_tokens is null then coalesce(r.limit_tokens, (d.v ->> 'limit_tokens')::bigint)
                                    else least(s.limit_tokens, r.limit_tokens) end as tokens,
                               case when s.limit_nano_usd is null then coalesce(r.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint)
                                    else least(s.limit_nano_usd, r.limit_nano_usd) end as nano,
                               case when s.mode is null and not k.limited then coalesce(r.mode, k.mode)
                                    when 'hard' in (k.mode, r.mode) then 'hard'
                                    when 'approval' in (k.mode, r.mode) then 'approval'
                                    else 'soft' end as mode) m
$$;

-- The limits of a scope beside those that the gate applies, where a task asked for others: warnings are everybody's.
create function ledger_shared(p_tokens bigint, p_nano bigint, p_mode text, p_shared_tokens bigint, p_shared_nano bigint, p_shared_mode text)
returns jsonb language sql immutable as $$
    select case when p_tokens is not distinct from p_shared_tokens and p_nano is not distinct from p_shared_nano and p_mode = p_shared_mode
           then '{}' else jsonb_build_object('shared', jsonb_build_object(
               'limit', jsonb_build_array(p_shared_tokens, p_shared_nano), 'mode', p_shared_mode)) end
$$;

-- What the gate sees of a path whose balances are locked, before an ask. A scope that is closed lets nothing through;
-- where it is queued, somebody else has waited longer. One age of a waiter counts on all its scopes: of several that
-- wait for each other the oldest always goes.
create function ledger_views(p_hold bigint, p_scopes bigint[], p_windows timestamptz[], p_task text, p_defaults jsonb,
                             p_patient boolean, p_lapse interval, p_now timestamptz)
returns table (ord bigint, scope text, scope_id bigint, window_start timestamptz, limit_tokens bigint, limit_nano bigint, mode text,
               closed boolean, queued boolean, bounded boolean, room_tokens bigint, room_nano bigint,
               freed_tokens bigint, freed_nano bigint, shown jsonb)
language sql stable as $$
    select p.ord, p.scope, p.scope_id, b.window_start, p.limit_tokens, p.limit_nano, p.mode,
           p.frozen or (q.bounded and (p.limit_tokens + b.granted_tokens = 0 or p.limit_nano + b.granted_nano = 0) is true),
           q.queued, q.bounded,
           p.limit_tokens + b.granted_tokens - b.spent_tokens - b.held_tokens,
           p.limit_nano + b.granted_nano - b.spent_nano - b.held_nano,
           b.held_tokens, b.held_nano,
           jsonb_build_object(
               'scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
               'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
               'granted', jsonb_build_array(b.granted_tokens, b.granted_nano),
               'window_start', nullif(b.window_start, '-infinity'), 'frozen', p.frozen, 'queued', q.queued,
               'warn_at', p.warn_at, 'backpressure', p.backpressure)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode)
    from ledger_policies(p_scopes, p_task, p_defaults) p
    join balances b on b.scope_id = p.scope_id and b.window_start = p_windows[p.ord]
    cross join lateral (select p.mode <> 'soft' and (p.limit_tokens is not null or p.limit_nano is not null) as bounded) l
    cross join lateral (select l.bounded, l.bounded and p_patient and exists (
        select 1 from waiters w
        where w.scope_id = p.scope_id and w.hold_id <> p_hold and w.asks >= 2 and w.last_asked > p_now - p_lapse
          and w.since < coalesce((select min(m.since) from waiters m where m.hold_id = p_hold and m.last_asked > p_now - p_lapse), p_now)
    ) as queued) q
$$;

-- Locks balances in the one order; creates those that are new.
create function ledger_lock(p_scopes bigint[], p_windows timestamptz[], p_now timestamptz) returns void language plpgsql as $$
begin
    insert into balances (scope_id, window_start, updated_at)
    select x.s, x.w, p_now from unnest(p_scopes, p_windows) x (s, w)
    where not exists (select 1 from balances b where b.scope_id = x.s and b.window_start = x.w)
    order by 1, 2 on conflict do nothing;
    perform 1 from balances b join unnest(p_scopes, p_windows) x (s, w) on b.scope_id = x.s and b.window_start = x.w
    order by b.scope_id, b.window_start for update of b;
end $$;

-- Refuses what is beyond one large call where a locked balance has come halfway to what it can count: what calls really
-- cost is far less, so it goes on to settle there.
create function ledger_countable(p_scopes bigint[], p_windows timestamptz[], p_tokens bigint, p_nano bigint) returns void language plpgsql as $$
begin
    if (p_tokens > 1000000000 or p_nano > 1000000000000) and exists (
        select 1 from balances b join unnest(p_scopes, p_windows) x (s, w) on b.scope_id = x.s and b.window_start = x.w
        where (p_tokens > 1000000000 and b.spent_tokens::numeric + b.held_tokens + b.granted_tokens + p_tokens > 4611686018427387904)
           or (p_nano > 1000000000000 and b.spent_nano::numeric + b.held_nano + b.granted_nano + p_nano > 4611686018427387904)) then
        raise numeric_value_out_of_range using message = 'beyond what a balance can count';
    end if;
end $$;

-- Moves locked balances by the same delta and writes one entry for each.
-- p_limits, p_nanos and p_modes are what the gate applied; null keeps what the balance last saw.
create function ledger_post(p_kind text, p_hold bigint, p_attempt integer, p_ref text, p_scopes bigint[], p_windows timestamptz[],
                            p_limits bigint[], p_nanos bigint[], p_modes text[],
                            p_spent bigint, p_held bigint, p_granted bigint, p_overrun bigint,
                            p_spent_nano bigint, p_held_nano bigint, p_granted_nano bigint, p_overrun_nano bigint, p_now timestamptz)
returns void language sql as $$
    with moved as (
        update balances b set
            spent_tokens = b.spent_tokens + p_spent, held_tokens = b.held_tokens + p_held,
            granted_tokens = b.granted_tokens + p_granted, overrun_tokens = b.overrun_tokens + p_overrun,
            spent_nano = b.spent_nano + p_spent_nano, held_nano = b.held_nano + p_held_nano,
            granted_nano = b.granted_nano + p_granted_nano, overrun_nano = b.overrun_nano + p_overrun_nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[x.i] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[x.i] end,
            mode = case when p_modes is null then b.mode else p_modes[x.i] end,
            seq = b.seq + 1, updated_at = p_now
        from unnest(p_scopes, p_windows) with ordinality x (s, w, i)
        where b.scope_id = x.s and b.window_start = x.w
        returning b.*
    )
    insert into entries (at, scope_id, window_start, seq, kind, hold_id, attempt, ref,
                         d_spent_tokens, d_held_tokens, d_granted_tokens, d_overrun_tokens,
                         d_spent_nano, d_held_nano, d_granted_nano, d_overrun_nano,
                         spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                         spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
    select p_now, m.scope_id, m.window_start, m.seq, p_kind, p_hold, p_attempt, p_ref,
           p_spent, p_held, p_granted, p_overrun, p_spent_nano, p_held_nano, p_granted_nano, p_overrun_nano,
           m.spent_tokens, m.held_tokens, m.granted_tokens, m.overrun_tokens,
           m.spent_nano, m.held_nano, m.granted_nano, m.overrun_nano, m.limit_tokens, m.limit_nano, m.mode
    from moved m
$$;

-- Ends the grants of locked balances whose time has come.
create function ledger_end_grants(p_scopes bigint[], p_windows timestamptz[], p_now timestamptz) returns integer language plpgsql as $$
declare
    g record;
    v_ended integer := 0;
begin
    if not exists (select 1 from balances b join unnest(p_scopes, p_windows) x (s, w) on b.scope_id = x.s and b.window_start = x.w
                   where b.grants_end_at <= p_now) then
        return 0;
    end if;
    for g in update grants t set ended_at = p_now
             from unnest(p_scopes, p_windows) x (s, w)
             where t.scope_id = x.s and t.window_start = x.w and t.ended_at is null and t.until <= p_now returning t.* loop
        perform ledger_post('grant_ended', null, null, g.grant_id::text, array[g.scope_id], array[g.window_start], null, null, null,
                            0, 0, -g.tokens, 0, 0, 0, -g.nano, 0, p_now);
        v_ended := v_ended + 1;
    end loop;
    update balances b set grants_end_at = (select min(t.until) from grants t
                                           where t.scope_id = b.scope_id and t.window_start = b.window_start and t.ended_at is null)
    from unnest(p_scopes, p_windows) x (s, w) where b.scope_id = x.s and b.window_start = x.w;
    return v_ended;
end $$;

-- What the gate saw when it admitted a hold: the policies kept with it, the figures from its entries.
create function ledger_seen(h holds) returns jsonb language sql stable as $$
    select jsonb_agg(v.policy || jsonb_build_object(
               'spent', jsonb_build_array(e.spent_tokens, e.spent_nano),
               'held', jsonb_build_array(e.held_tokens - e.d_held_tokens, e.held_nano - e.d_held_nano),
               'granted', jsonb_build_array(e.granted_tokens, e.granted_nano),
               'window_start', nullif(e.window_start, '-infinity'), 'queued', false) order by v.ord)
    from jsonb_array_elements(h.views) with ordinality v (policy, ord)
    join entries e on e.hold_id = h.hold_id and e.kind = 'hold' and e.scope_id = h.scope_ids[v.ord]
$$;

-- The gate: holds the ask, or a part of it down to the least, on every scope of the path, or nothing at all.
-- p_nano is null where nobody knows the price: see ledger_hold_unpriced, which asks so.
create function ledger_hold(p_tenant text, p_key text, p_digest bytea, p_path text[], p_task text, p_model text,
                            p_tokens bigint, p_nano bigint, p_least_tokens bigint, p_least_nano bigint,
                            p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_new boolean;
    v_scopes bigint[];
    v_windows timestamptz[];
    v_again timestamptz[];
    v_short bigint[];
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_stopped boolean;
    v_waits boolean;
    v_since timestamptz;
    v_asks integer;
    v_room_tokens bigint;
    v_room_nano bigint;
    v_tokens bigint;
    v_nano bigint;
    v_views jsonb;
    v_warns boolean;
begin
    insert into holds (tenant, key, digest, state, created_at) values (p_tenant, p_key, p_digest, 'none', v_now)
    on conflict (tenant, key) do nothing returning * into h;
    v_new := found;
    if not v_new then
        select * into h from holds t where t.tenant = p_tenant and t.key = p_key for update;
        if h.digest is not null and h.digest <> p_digest then
            return query select 'key_reused', h.hold_id, h.state, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
            return;
        elsif h.state <> 'none' then
            return query select case when h.views is null then 'closed' else 'repeat' end, h.hold_id, h.state, h.asked_tokens, h.asked_nano,
                                h.expires_at, ledger_seen(h);
            return;
        end if;
    end if;

    insert into scopes (tenant, kind, id)
    select p_tenant, split_part(x.t, ':', 1), substr(x.t, strpos(x.t, ':') + 1) from unnest(p_path) x (t)
    where not exists (select 1 from scopes s where s.tenant = p_tenant and s.kind = split_part(x.t, ':', 1)
                      and s.id = substr(x.t, strpos(x.t, ':') + 1))
    order by 2, 3 on conflict do nothing;
    select array_agg(s.scope_id order by x.ord) into v_scopes from unnest(p_path) with ordinality x (t, ord)
    join scopes s on s.tenant = p_tenant and s.kind = split_part(x.t, ':', 1) and s.id = substr(x.t, strpos(x.t, ':') + 1);

    -- A policy may change its window while we wait for the locks, so look once more once we have them.
    select array_agg(ledger_window_start(p.win, p.zone, v_now) order by p.ord) into v_again from ledger_policies(v_scopes, p_task, p_defaults) p;
    while v_windows is distinct from v_again loop
        v_windows := v_again;
        perform ledger_lock(v_scopes, v_windows, v_now);
        select array_agg(ledger_window_start(p.win, p.zone, v_now) order by p.ord) into v_again from ledger_policies(v_scopes, p_task, p_defaults) p;
    end loop;
    perform ledger_end_grants(v_scopes, v_windows, v_now);

    select bool_or(v.closed or v.queued), min(v.room_tokens) filter (where v.bounded), min(v.room_nano) filter (where v.bounded),
           array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
           jsonb_agg(v.shown order by v.ord),
           -- Waiting helps if the ask fits everywhere beside what is spent.
           p_patient and not bool_or(v.closed or (v.bounded and ((v.room_tokens + v.freed_tokens < p_least_tokens) is true
                                                              or (v.room_nano + v.freed_nano < p_least_nano) is true)))
    into v_stopped, v_room_tokens, v_room_nano, v_limits, v_nanos, v_modes, v_views, v_waits
    from ledger_views(h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now) v;

    if p_nano is null then
        if num_nonnulls(variadic v_nanos) > 0 then
            raise exception using errcode = 'PB002', message = 'a price is needed', detail = v_views::text;
        end if;
        p_nano := 0;
        p_least_nano := 0;
    end if;
    v_tokens := least(p_tokens, v_room_tokens);
    if p_nano > v_room_nano then
        v_tokens := case when p_least_nano > v_room_nano or p_nano = p_least_nano then -1
                    else least(v_tokens, p_least_tokens + div((v_room_nano - p_least_nano)::numeric * (p_tokens - p_least_tokens), p_nano - p_least_nano)) end;
    end if;

    if v_stopped or v_tokens < p_least_tokens then
        -- It keeps its age where it waits now, unless it stopped asking.
        select min(w.since), max(w.asks) into v_since, v_asks from waiters w where w.hold_id = h.hold_id and w.last_asked > v_now - p_lapse;
        v_short := array(select v.scope_id from ledger_views(h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now) v
                         where v.bounded and (v.queued or v.room_tokens < p_least_tokens or v.room_nano < p_least_nano));
        delete from waiters w where w.hold_id = h.hold_id;
        if v_waits then
            insert into waiters (hold_id, scope_id, since, last_asked, asks)
            select h.hold_id, x.s, coalesce(v_since, v_now), v_now, coalesce(v_asks, 0) + 1 from unnest(v_short) x (s);
        end if;
        return query select 'short', null::bigint, 'none', p_tokens, p_nano, null::timestamptz, v_views;
        return;
    end if;

    v_nano := case when v_tokens = p_tokens then p_nano
              else p_least_nano + div((v_tokens - p_least_tokens)::numeric * (p_nano - p_least_nano) + (p_tokens - p_least_tokens - 1),
                                      p_tokens - p_least_tokens) end;
    perform ledger_countable(v_scopes, v_windows, v_tokens, v_nano);
    update holds t set path = p_path, task = p_task, model = p_model, scope_ids = v_scopes, window_starts = v_windows, state = 'held',
           asked_tokens = v_tokens, asked_nano = v_nano, tokens = v_tokens, nano = v_nano, views = v_views,
           lease = p_lease, expires_at = v_now + p_lease where t.hold_id = h.hold_id;
    perform ledger_post('hold', h.hold_id, null, null, v_scopes, v_windows, v_limits, v_nanos, v_modes,
                        0, v_tokens, 0, 0, 0, v_nano, 0, 0, v_now);
    perform ledger_warn(v_scopes, v_windows, array(select jsonb_array_elements(v_views)), v_now);
    if not v_new then
        delete from waiters w where w.hold_id = h.hold_id;
    end if;
    return query select 'held', h.hold_id, 'held', v_tokens, v_nano, v_now + p_lease, v_views;
end $$;

-- Asks for what nobody knows the price of. Where a scope limits money, in whatever mode, nothing is held, and nothing of
-- the ask is written: the same key may come again with a price.
create function ledger_hold_unpriced(p_tenant text, p_key text, p_digest bytea, p_path text[], p_task text, p_model text,
                                     p_tokens bigint, p_least_tokens bigint,
                                     p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql as $$
declare
    v_views text;
begin
    return query select * from ledger_hold(p_tenant, p_key, p_digest, p_path, p_task, p_model, p_tokens, null, p_least_tokens, null,
                                           p_lease, p_patient, p_lapse, p_defaults, p_now);
exception when sqlstate 'PB002' then
    get stacked diagnostics v_views = pg_exception_detail;
    return query select 'short', null::bigint, 'none', p_tokens, 0::bigint, null::timestamptz, v_views::jsonb;
end $$;

-- Adds to an open, locked hold through the gate: all scopes or none, never a part. p_nano is null where nobody knows the
-- price: that fits where no scope limits money.
create function ledger_top_up(h holds, p_kind text, p_tokens bigint, p_nano bigint, p_defaults jsonb, p_now timestamptz)
returns table (fits boolean, views jsonb) language plpgsql as $$
declare
    v_fits boolean;
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_views jsonb;
begin
    perform ledger_end_grants(h.scope_ids, h.window_starts, p_now);
    -- Waiting would not free what this hold itself sets aside, so the answer tells it apart.
    select not bool_or(v.closed or (v.bounded and ((v.room_tokens < p_tokens) is true or (v.room_nano < p_nano) is true))
                       or (p_nano is null and v.limit_nano is not null)),
           array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
           jsonb_agg(v.shown || jsonb_build_object('own', jsonb_build_array(h.tokens, h.nano)) order by v.ord)
    into v_fits, v_limits, v_nanos, v_modes, v_views
    from ledger_views(h.hold_id, h.scope_ids, h.window_starts, h.task, p_defaults, false, interval '0', p_now) v;
    if v_fits then
        p_nano := coalesce(p_nano, 0);
        perform ledger_countable(h.scope_ids, h.window_starts, p_tokens, p_nano);
        update holds t set tokens = t.tokens + p_tokens, nano = t.nano + p_nano where t.hold_id = h.hold_id;
        perform ledger_post(p_kind, h.hold_id, null, null, h.scope_ids, h.window_starts, v_limits, v_nanos, v_modes,
                            0, p_tokens, 0, 0, 0, p_nano, 0, 0, p_now);
        perform ledger_warn(h.scope_ids, h.window_starts, array(select jsonb_array_elements(v_views)), p_now);
    end if;
    return query select v_fits, v_views;
end $$;

-- Charges the attempt that started and never reported, if there is one, at what is held for it.
create function ledger_presume(p_hold bigint, p_now timestamptz) returns void language plpgsql as $$
declare
    h holds%rowtype;
    v_attempt integer;
begin
    select * into h from holds t where t.hold_id = p_hold;
    update attempts a set state = 'presumed', tokens = h.tokens, nano = h.nano
    where a.hold_id = p_hold and a.state = 'started' returning a.attempt into v_attempt;
    if not found then
        return;
    end if;
    update holds t set tokens = 0, nano = 0, charged_tokens = t.charged_tokens + h.tokens, charged_nano = t.charged_nano + h.nano
    where t.hold_id = p_hold;
    perform ledger_post('presumed', p_hold, v_attempt, null, h.scope_ids, h.window_starts, null, null, null,
                        h.tokens, -h.tokens, 0, 0, h.nano, -h.nano, 0, 0, p_now);
end $$;

-- Starts attempt p_attempt (null: the next one) and renews the lease. Earlier silence is presumed, the hold topped up.
create function ledger_start_attempt(p_tenant text, p_hold bigint, p_attempt integer, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_attempt integer;
    v_state text;
    t record;
begin
    select * into h from holds x where x.hold_id = p_hold and x.tenant = p_tenant for update;
    if not found then
        return query select 'not_found', p_attempt, null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    end if;
    v_attempt := coalesce(p_attempt, h.attempts + 1);
    select a.state into v_state from attempts a where a.hold_id = p_hold and a.attempt = v_attempt;
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
    perform ledger_lock(h.scope_ids, h.window_starts, v_now);
    perform ledger_presume(p_hold, v_now);
    select * into h from holds x where x.hold_id = p_hold;
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano then
        select * into t from ledger_top_up(h, 'top_up', greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano), p_defaults, v_now);
        if not t.fits then
            return query select 'short', v_attempt, h.state, greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano), h.expires_at, t.views;
            return;
        end if;
    end if;
    insert into attempts (hold_id, attempt, state, started_at) values (p_hold, v_attempt, 'started', v_now);
    update holds x set attempts = v_attempt, expires_at = v_now + x.lease where x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'started', v_attempt, 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Records what an attempt cost, in full. p_keep leaves the hold open for another attempt.
create function ledger_settle(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb, p_digest bytea,
                              p_keep boolean, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer)
language plpgsql as $$
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
    select * into h from holds x where x.hold_id = p_hold and x.tenant = p_tenant for update;
    if not found or h.state = 'none' or h.views is null then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, 0;
        return;
    end if;
    select * into a from attempts x where x.hold_id = p_hold and x.attempt = p_attempt;
    if a.state = 'reported' then
        return query select case when a.digest = p_digest then 'repeat' else 'conflict' end,
                            h.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, h.attempts;
        return;
    elsif a.state is null and p_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts;
        return;
    end if;
    perform ledger_lock(h.scope_ids, h.window_starts, v_now);
    perform ledger_countable(h.scope_ids, h.window_starts, p_tokens, p_nano);
    if a.state is null then
        perform ledger_presume(p_hold, v_now);
        select * into h from holds x where x.hold_id = p_hold;
        insert into attempts (hold_id, attempt, state, started_at) values (p_hold, p_attempt, 'started', v_now) returning * into a;
        h.attempts := p_attempt;
    end if;
    v_state := h.state;
    if h.state <> 'held' or a.state = 'presumed' then
        v_late := true;
        v_over := greatest(0, p_tokens - a.tokens);
        v_over_nano := greatest(0, p_nano - a.nano);
        perform ledger_post('late', p_hold, p_attempt, null, h.scope_ids, h.window_starts, null, null, null,
                            p_tokens - a.tokens, 0, 0, v_over, p_nano - a.nano, 0, 0, v_over_nano, v_now);
    else
        v_over := greatest(0, p_tokens - h.tokens);
        v_over_nano := greatest(0, p_nano - h.nano);
        v_free := case when p_keep then p_tokens - v_over else h.tokens end;
        v_free_nano := case when p_keep then p_nano - v_over_nano else h.nano end;
        perform ledger_post('settle', p_hold, p_attempt, null, h.scope_ids, h.window_starts, null, null, null,
                            p_tokens - v_over, -v_free, 0, 0, p_nano - v_over_nano, -v_free_nano, 0, 0, v_now);
        if v_over > 0 or v_over_nano > 0 then
            perform ledger_post('overrun', p_hold, p_attempt, null, h.scope_ids, h.window_starts, null, null, null,
                                v_over, 0, 0, v_over, v_over_nano, 0, 0, v_over_nano, v_now);
        end if;
        h.tokens := h.tokens - v_free;
        h.nano := h.nano - v_free_nano;
        v_state := case when p_keep then 'held' else 'settled' end;
    end if;
    update holds x set state = v_state, tokens = h.tokens, nano = h.nano, attempts = h.attempts,
           charged_tokens = h.charged_tokens + p_tokens - a.tokens, charged_nano = h.charged_nano + p_nano - a.nano,
           ended_at = case when v_state = 'held' then null else coalesce(h.ended_at, v_now) end where x.hold_id = p_hold;
    update attempts x set state = 'reported', tokens = p_tokens, nano = p_nano, overrun_tokens = v_over, overrun_nano = v_over_nano,
           late = v_late, usage = p_usage, digest = p_digest, reported_at = v_now where x.hold_id = p_hold and x.attempt = p_attempt;
    if v_over > 0 or v_over_nano > 0 then
        perform ledger_warn(h.scope_ids, h.window_starts, array(
            select jsonb_build_object('scope', p.scope, 'mode', p.shared_mode, 'limit', jsonb_build_array(p.shared_tokens, p.shared_nano),
                                      'warn_at', p.warn_at)
            from ledger_policies(h.scope_ids, h.task, p_defaults) p order by p.ord), v_now);
    end if;
    return query select 'settled', v_state, p_tokens, p_nano, v_over, v_over_nano, v_late, h.attempts;
end $$;

-- Ends a hold as 'released' or 'expired': an attempt that never reported is presumed, the rest is freed.
create function ledger_close(p_hold bigint, p_state text, p_now timestamptz) returns void language plpgsql as $$
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.hold_id = p_hold for update;
    if h.state <> 'held' then
        return;
    end if;
    perform ledger_lock(h.scope_ids, h.window_starts, p_now);
    perform ledger_presume(p_hold, p_now);
    select * into h from holds x where x.hold_id = p_hold;
    perform ledger_post(case p_state when 'expired' then 'expire' else 'release' end, p_hold, null, null,
                        h.scope_ids, h.window_starts, null, null, null, 0, -h.tokens, 0, 0, 0, -h.nano, 0, 0, p_now);
    update holds x set state = p_state, tokens = 0, nano = 0, ended_at = p_now where x.hold_id = p_hold;
end $$;

-- Releases by id or by key. A key that was never used is closed, so that a straggling ask cannot hold.
create function ledger_release(p_tenant text, p_hold bigint, p_key text, p_now timestamptz)
returns table (hold_id bigint, state text, charged_tokens bigint, charged_nano bigint) language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_hold bigint := p_hold;
    v_state text;
begin
    if p_key is not null then
        insert into holds (tenant, key, state, created_at, ended_at) values (p_tenant, p_key, 'released', v_now, v_now)
        on conflict (tenant, key) do nothing;
        select x.hold_id into v_hold from holds x where x.tenant = p_tenant and x.key = p_key;
    end if;
    select x.state into v_state from holds x where x.hold_id = v_hold and x.tenant = p_tenant for update;
    if not found then
        return;
    elsif v_state = 'none' then
        update holds x set state = 'released', ended_at = v_now where x.hold_id = v_hold;
        delete from waiters w where w.hold_id = v_hold;
    else
        perform ledger_close(v_hold, 'released', v_now);
    end if;
    return query select x.hold_id, x.state, x.charged_tokens, x.charged_nano from holds x where x.hold_id = v_hold;
end $$;

-- Renews the lease of an open hold and, through the gate, adds to it; p_nano as ledger_top_up takes it.
create function ledger_extend(p_tenant text, p_hold bigint, p_tokens bigint, p_nano bigint, p_lease interval, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb) language plpgsql as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    t record;
begin
    select * into h from holds x where x.hold_id = p_hold and x.tenant = p_tenant for update;
    if not found then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    elsif h.state <> 'held' then
        return query select 'closed', h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    if p_tokens > 0 or p_nano > 0 then
        perform ledger_lock(h.scope_ids, h.window_starts, v_now);
        select * into t from ledger_top_up(h, 'top_up', p_tokens, p_nano, p_defaults, v_now);
        if not t.fits then
            return query select 'short', h.state, h.tokens, h.nano, h.expires_at, t.views;
            return;
        end if;
    end if;
    update holds x set expires_at = greatest(x.expires_at, v_now + coalesce(p_lease, x.lease)) where x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'extended', 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Expires holds whose lease and grace are over. Several processes may run it at once: each takes what no other has.
create function ledger_expire(p_grace interval, p_limit integer, p_now timestamptz) returns integer language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_holds bigint[];
begin
    select array_agg(x.hold_id) into v_holds from (
        select y.hold_id from holds y where y.state = 'held' and y.expires_at < v_now - p_grace
        order by y.expires_at limit p_limit for update skip locked) x;
    -- Many holds, one lock order: all their balances first.
    perform ledger_lock(array_agg(d.s), array_agg(d.w), v_now)
    from (select distinct u.s, u.w from holds x cross join lateral unnest(x.scope_ids, x.window_starts) u (s, w)
          where x.hold_id = any (v_holds)) d;
    perform ledger_close(x.h, 'expired', v_now) from unnest(v_holds) x (h);
    delete from waiters w where w.last_asked < v_now - interval '1 hour';
    return coalesce(cardinality(v_holds), 0);
end $$;

-- Ends grants whose time has come, for balances that nobody asks.
create function ledger_sweep_grants(p_limit integer, p_now timestamptz) returns integer language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    b record;
    v_count integer := 0;
begin
    for b in select x.scope_id, x.window_start
             from (select distinct g.scope_id, g.window_start from grants g where g.ended_at is null and g.until <= v_now limit p_limit) due
             join balances x on x.scope_id = due.scope_id and x.window_start = due.window_start
             order by x.scope_id, x.window_start for update of x skip locked loop
        v_count := v_count + ledger_end_grants(array[b.scope_id], array[b.window_start], v_now);
    end loop;
    return v_count;
end $$;

-- Gives extra limit to a scope in one window.
create function ledger_grant(p_scope bigint, p_window timestamptz, p_tokens bigint, p_nano bigint, p_until timestamptz,
                             p_approval text, p_decision text, p_by text, p_now timestamptz)
returns bigint language plpgsql as $$
declare
    v_grant bigint;
begin
    perform ledger_lock(array[p_scope], array[p_window], p_now);
    perform ledger_countable(array[p_scope], array[p_window], p_tokens, p_nano);
    insert into grants (scope_id, window_start, tokens, nano, until, approval_id, decision_id, granted_by, created_at)
    values (p_scope, p_window, p_tokens, p_nano, p_until, p_approval, p_decision, p_by, p_now) returning grant_id into v_grant;
    perform ledger_post('grant', null, null, v_grant::text, array[p_scope], array[p_window], null, null, null,
                        0, 0, p_tokens, 0, 0, 0, p_nano, 0, p_now);
    update balances b set grants_end_at = least(b.grants_end_at, p_until) where b.scope_id = p_scope and b.window_start = p_window;
    return v_grant;
end $$;

-- Writes the fields of one source for a scope; a changed limit or mode of a balance in use becomes an entry.
create function ledger_set_policy(p_tenant text, p_scope text, p_task text, p_patch jsonb, p_clear text[], p_sources jsonb, p_by text,
                                  p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_kind text := split_part(p_scope, ':', 1);
    v_id text := substr(p_scope, strpos(p_scope, ':') + 1);
    v_scope bigint;
    v_old record;
    b record;
    v_change text;
begin
    perform v_now at time zone (p_patch ->> 'timezone');
    insert into scopes (tenant, kind, id) values (p_tenant, v_kind, v_id) on conflict do nothing;
    select s.scope_id into v_scope from scopes s where s.tenant = p_tenant and s.kind = v_kind and s.id = v_id;
    perform 1 from balances x where x.scope_id = v_scope order by x.scope_id, x.window_start for update;
    select * into v_old from ledger_policies(array[v_scope], '', p_defaults);
    insert into policies as p (scope_id, task, limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure, approval,
                               frozen, sources, updated_by, updated_at)
    values (v_scope, p_task, (p_patch ->> 'limit_tokens')::bigint, (p_patch ->> 'limit_nano_usd')::bigint, p_patch ->> 'mode',
            p_patch ->> 'window', p_patch ->> 'timezone',
            case when p_patch ? 'warn_at' then array(select t::numeric from jsonb_array_elements_text(p_patch -> 'warn_at') t) end,
            p_patch -> 'backpressure', p_patch -> 'approval', (p_patch ->> 'frozen')::boolean, p_sources, p_by, v_now)
    on conflict (scope_id, task) do update set
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
             from ledger_policies(array[v_scope], '', p_defaults) n
             join balances x on x.scope_id = v_scope and x.window_start = ledger_window_start(n.win, n.zone, v_now) loop
        v_change := case
            when (b.new_tokens < coalesce(v_old.limit_tokens, b.new_tokens + 1)) is true
              or (b.new_nano < coalesce(v_old.limit_nano, b.new_nano + 1)) is true then 'limit_lowered'
            when b.new_tokens is distinct from v_old.limit_tokens or b.new_nano is distinct from v_old.limit_nano then 'limit_raised'
            when b.new_mode <> v_old.mode then 'mode_changed' end;
        if v_change is not null then
            perform ledger_post(v_change, null, null, p_by, array[v_scope], array[b.window_start],
                                array[b.new_tokens], array[b.new_nano], array[b.new_mode], 0, 0, 0, 0, 0, 0, 0, 0, v_now);
        end if;
    end loop;
end $$;
