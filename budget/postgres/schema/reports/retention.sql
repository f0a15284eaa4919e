-- Retention of the journal: deletes the oldest range that a checkpoint closed, whole, once all its events are old enough. Before
-- its rows go, they are compared with its digest, and closings take their place.

-- The next range to delete, if all its events are older than p_age; else no row. Rolling windows look back 31 days, and so
-- does what they posted as rolled off: younger events are needed.
create function ledger_next_range(p_age interval, p_now timestamptz) returns setof checkpoints language plpgsql stable rows 1 as $$
begin
    if p_age < interval '62 days' then
        raise exception 'the ledger keeps 62 days at least';
    end if;
    return query select c.* from checkpoints c
    where c.checkpoint_id = (select min(k.checkpoint_id) from checkpoints k
                             where k.checkpoint_id > coalesce((select max(r.checkpoint_id) from closed_ranges r), 0))
      and not exists (select from journal j where 0 + j.number between c.first_number and c.last_number
                                              and j.at >= coalesce(p_now, clock_timestamp()) - p_age);
end $$;

-- Rolling balances of that range from which some of its charges have not fallen out, because nobody asked since.
create function ledger_not_rolled(r checkpoints) returns setof balances language sql stable as $$
    select b.* from (
        select m.tenant, m.scope_id, m.window_start, max(m.seq) as seq from moves m
        where 0 + m.number between r.first_number and r.last_number and rolling_length(m.window_start) is not null group by 1, 2, 3) m
    join balances b on b.tenant = m.tenant and b.scope_id = m.scope_id and b.window_start = m.window_start
    where b.rolled_to < m.seq
$$;

-- Takes out what the next ask would take out of at most p_most such balances; returns how many. They are locked until this
-- commits, so it has a transaction of its own.
create function ledger_roll_off_range(p_age interval, p_most integer, p_now timestamptz) returns bigint language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_rolled bigint := 0;
    b record;
begin
    for b in select n.tenant, array_agg(n.scope_id) as scopes, array_agg(n.window_start) as windows
             from (select n.* from ledger_next_range(p_age, p_now) r cross join lateral ledger_not_rolled(r) n
                   where n.rolls_at <= v_now limit p_most) n
             group by n.tenant order by n.tenant loop
        perform ledger_lock(b.tenant, b.scopes, b.windows);
        perform ledger_roll_off(b.tenant, b.scopes, b.windows, v_now);
        v_rolled := v_rolled + cardinality(b.scopes);
    end loop;
    return v_rolled;
end $$;

-- The closings of a range: those before it, with what its entries moved and what these holds had been charged.
-- Its lists are long, and the planner, which takes those without statistics for short ones, would compare each row with each.
create function ledger_closings(r checkpoints, p_tenants text[], p_holds bigint[]) returns setof closings
language sql stable set enable_nestloop = off as $$
    with moved as materialized (
        select m.tenant, m.scope_id, m.window_start, min(m.at) as first_at, max(m.at) as at, count(*) as entries, max(m.number) as number,
               sum(m.d_spent_tokens) as spent_tokens, sum(m.d_held_tokens) as held_tokens,
               sum(m.d_granted_tokens) as granted_tokens, sum(m.d_overrun_tokens) as overrun_tokens,
               sum(m.d_spent_nano) as spent_nano, sum(m.d_held_nano) as held_nano,
               sum(m.d_granted_nano) as granted_nano, sum(m.d_overrun_nano) as overrun_nano,
               sum(-m.d_spent_tokens) filter (where m.kind = 'rolled_off') as rolled_tokens,
               sum(-m.d_spent_nano) filter (where m.kind = 'rolled_off') as rolled_nano,
               count(*) filter (where m.kind = 'grant') as grants_made, count(*) filter (where m.kind = 'grant_ended') as grants_ended
        from moves m where 0 + m.number between r.first_number and r.last_number group by 1, 2, 3
    ), posted as materialized (
        select distinct on (p.tenant, p.scope_id, p.window_start) p.* from postings p
        where p.last_number between r.first_number and r.last_number order by p.tenant, p.scope_id, p.window_start, p.last_seq desc
    ), gone as materialized (
        select h.tenant, u.scope_id, u.window_start, sum(h.charged_tokens) as tokens, sum(h.charged_nano) as nano
        from unnest(p_tenants, p_holds) g (tenant, hold_id)
        cross join lateral (select * from holds h where h.tenant = g.tenant and h.hold_id = g.hold_id offset 0) h
        cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, window_start) group by 1, 2, 3
    ), named as (
        select tenant, scope_id, window_start from moved union select tenant, scope_id, window_start from posted
        union select tenant, scope_id, window_start from gone
    )
    select n.tenant, n.scope_id, n.window_start, coalesce(c.first_at, m.first_at), greatest(c.at, m.at),
           coalesce(c.seq, 0) + coalesce(m.entries, 0), coalesce(m.number, c.number), coalesce(p.last_seq, c.posted_seq, 0),
           coalesce(c.spent_tokens, 0) + coalesce(m.spent_tokens, 0), coalesce(c.held_tokens, 0) + coalesce(m.held_tokens, 0),
           coalesce(c.granted_tokens, 0) + coalesce(m.granted_tokens, 0), coalesce(c.overrun_tokens, 0) + coalesce(m.overrun_tokens, 0),
           coalesce(c.spent_nano, 0) + coalesce(m.spent_nano, 0), coalesce(c.held_nano, 0) + coalesce(m.held_nano, 0),
           coalesce(c.granted_nano, 0) + coalesce(m.granted_nano, 0), coalesce(c.overrun_nano, 0) + coalesce(m.overrun_nano, 0),
           case when p.tenant is null then c.limit_tokens else p.limit_tokens end,
           case when p.tenant is null then c.limit_nano else p.limit_nano end, coalesce(p.mode, c.mode, 'soft'),
           coalesce(c.rolled_tokens, 0) + coalesce(m.rolled_tokens, 0), coalesce(c.rolled_nano, 0) + coalesce(m.rolled_nano, 0),
           coalesce(c.gone_tokens, 0) + coalesce(g.tokens, 0), coalesce(c.gone_nano, 0) + coalesce(g.nano, 0),
           coalesce(c.grants_made, 0) + coalesce(m.grants_made, 0), coalesce(c.grants_ended, 0) + coalesce(m.grants_ended, 0)
    from named n
    left join moved m on m.tenant = n.tenant and m.scope_id = n.scope_id and m.window_start = n.window_start
    left join posted p on p.tenant = n.tenant and p.scope_id = n.scope_id and p.window_start = n.window_start
    left join gone g on g.tenant = n.tenant and g.scope_id = n.scope_id and g.window_start = n.window_start
    left join closings c on c.tenant = n.tenant and c.scope_id = n.scope_id and c.window_start = n.window_start
$$;

-- Whether the journal itself has the figures of this closing after that entry.
create function ledger_proves(c closings, r checkpoints) returns boolean language sql stable as $$
    select (c.number < r.first_number or exists (
                select from moves m where m.tenant = c.tenant and m.number = c.number
                                      and m.scope_id = c.scope_id and m.window_start = c.window_start and m.seq = c.seq))
       and exists (
           select from ledger_posting(c.tenant, c.scope_id, c.window_start, c.seq) p cross join lateral ledger_after(p, c.number) a
           where (a.spent_tokens, a.held_tokens, a.granted_tokens, a.overrun_tokens, a.spent_nano, a.held_nano, a.granted_nano, a.overrun_nano)
               = (c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano))
$$;

-- The events of these holds in a range, added to those that were carried before.
create function ledger_carried(r checkpoints, p_tenants text[], p_holds bigint[]) returns setof carried_events language sql stable as $$
    select x.tenant, x.hold_id, x.kind, x.attempt, sum(x.events)::bigint, sum(x.d_spent_tokens)::bigint, sum(x.d_held_tokens)::bigint,
           sum(x.d_overrun_tokens)::bigint, sum(x.d_spent_nano)::bigint, sum(x.d_held_nano)::bigint, sum(x.d_overrun_nano)::bigint,
           (select case when x.kind = 'hold' then ledger_seen(h) end from holds h where h.tenant = x.tenant and h.hold_id = x.hold_id)
    from (select j.tenant, j.hold_id, j.kind, coalesce(j.attempt, 0) as attempt, 1 as events, j.d_spent_tokens, j.d_held_tokens, j.d_overrun_tokens,
                 j.d_spent_nano, j.d_held_nano, j.d_overrun_nano
          from unnest(p_tenants, p_holds) h (tenant, hold_id) join journal j on j.tenant = h.tenant and j.hold_id = h.hold_id
          where j.number <= r.last_number
          union all
          select c.tenant, c.hold_id, c.kind, c.attempt, c.events, c.d_spent_tokens, c.d_held_tokens, c.d_overrun_tokens,
                 c.d_spent_nano, c.d_held_nano, c.d_overrun_nano
          from unnest(p_tenants, p_holds) h (tenant, hold_id) join carried_events c on c.tenant = h.tenant and c.hold_id = h.hold_id) x
    group by x.tenant, x.hold_id, x.kind, x.attempt
$$;

-- Deletes the rows of a range whose closings are written, and these holds. Scopes keep their place in the tree.
create function ledger_delete_range(r checkpoints, p_tenants text[], p_holds bigint[]) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
begin
    insert into scope_parents (tenant, scope_id, parent_id)
    select x.tenant, x.scope_id, x.parent_id
    from (select distinct on (h.tenant, u.scope_id) h.tenant, u.scope_id, h.scope_ids[u.place - 1] as parent_id
          from unnest(p_tenants, p_holds) g (tenant, hold_id)
          cross join lateral (select * from holds h where h.tenant = g.tenant and h.hold_id = g.hold_id offset 0) h
          cross join lateral unnest(h.scope_ids) with ordinality u (scope_id, place)
          cross join lateral (select * from scopes s where s.tenant = h.tenant and s.scope_id = u.scope_id offset 0) s
          where not is_label(s.kind) and strpos(s.id, '@') = 0 and (u.place > 1 or s.kind <> 'agent')
          order by h.tenant, u.scope_id, h.hold_id desc) x
    order by x.tenant, x.scope_id desc on conflict do nothing;
    delete from attempts a using unnest(p_tenants, p_holds) g (tenant, hold_id) where a.tenant = g.tenant and a.hold_id = g.hold_id;
    delete from holds h using unnest(p_tenants, p_holds) g (tenant, hold_id) where h.tenant = g.tenant and h.hold_id = g.hold_id;
    -- Keys of the same time, as their ids are lower, under which nothing was ever held: they have no events.
    delete from holds h using (
        select j.tenant, max(j.hold_id) as hold_id from journal j where 0 + j.number between r.first_number and r.last_number group by 1) l
    where h.tenant = l.tenant and h.hold_id <= l.hold_id and h.views is null
      and not exists (select from waiters w where w.tenant = h.tenant and w.hold_id = h.hold_id);
    delete from journal j where 0 + j.number between r.first_number and r.last_number;
    delete from postings p where p.last_number between r.first_number and r.last_number;
end $$;

-- Deletes the next range if it is due; several processes may call this at the same time: one does the work. Locks rows of holds
-- that have ended, and no balance. Outcomes: `closed`; `none`, nothing is due; `held`, a hold of the range is open; `rolling`:
-- see ledger_roll_off_range; `altered`, the range does not have its digest, or `unproven`, its closings are not what it has.
create function ledger_close_range(p_age interval, p_now timestamptz)
returns table (outcome text, first_number bigint, last_number bigint, events bigint)
language plpgsql set timezone = 'UTC' set datestyle = 'ISO' set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
    r checkpoints%rowtype;
    v_before closed_ranges%rowtype;
    v_record closed_ranges%rowtype;
    v_tenants text[];                                 -- of the holds with events in the range
    v_holds bigint[];
    v_open boolean;
    v_ends boolean[];                                 -- whether no other event of the hold remains
    v_gone_of text[];
    v_gone bigint[];
    v_on_of text[];
    v_on bigint[];
    v_closings closings[];
    v_carried carried_events[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser retention', 0)) then
        return;
    end if;
    select * into r from ledger_next_range(p_age, p_now);
    if not found then
        return query select 'none', null::bigint, null::bigint, null::bigint;
        return;
    end if;
    select * into v_before from closed_ranges x order by x.checkpoint_id desc limit 1;
    if r.first_number <> coalesce(v_before.last_number, 0) + 1 or r.digest <> ledger_digest(r.first_number, r.last_number, r.previous) then
        return query select 'altered', r.first_number, r.last_number, r.events;
        return;
    end if;

    -- Nobody reports to a hold while its row is locked, so no event of it comes meanwhile.
    select array_agg(h.tenant order by h.tenant, h.hold_id), array_agg(h.hold_id order by h.tenant, h.hold_id), bool_or(h.state = 'held')
    into v_tenants, v_holds, v_open
    from (select h.tenant, h.hold_id, h.state
          from (select distinct j.tenant, j.hold_id from journal j
                where 0 + j.number between r.first_number and r.last_number and j.hold_id is not null) x
          join holds h on h.tenant = x.tenant and h.hold_id = x.hold_id order by h.tenant, h.hold_id for update of h) h;
    if v_open then
        return query select 'held', r.first_number, r.last_number, r.events;
        return;
    elsif exists (select from ledger_not_rolled(r)) then
        return query select 'rolling', r.first_number, r.last_number, r.events;
        return;
    end if;
    select array_agg(x.tenant) filter (where x.ends), array_agg(x.hold_id) filter (where x.ends),
           array_agg(x.tenant) filter (where not x.ends), array_agg(x.hold_id) filter (where not x.ends)
    into v_gone_of, v_gone, v_on_of, v_on
    from (select h.tenant, h.hold_id, not exists (select from journal j where j.tenant = h.tenant and j.hold_id = h.hold_id
                                                                          and j.number > r.last_number) as ends
          from unnest(v_tenants, v_holds) h (tenant, hold_id)) x;

    v_closings := array(select c from ledger_closings(r, v_gone_of, v_gone) c);
    v_carried := array(select c from ledger_carried(r, v_on_of, v_on) c);
    if exists (select from unnest(v_closings) c where ledger_proves(c, r) is not true) then
        return query select 'unproven', r.first_number, r.last_number, r.events;
        return;
    end if;
    -- What the closings were before counts out, even if somebody changed them: then the total stays wrong.
    v_record.checkpoint_id := r.checkpoint_id;
    v_record.last_number := r.last_number;
    v_record.previous := coalesce(v_before.digest, '');
    v_record.closed_at := coalesce(p_now, clock_timestamp());
    select bit_xor(x.hash) into v_record.total
    from (select coalesce(v_before.total, repeat('0', 256)::bit(256))
          union all select closing_hash(c) from unnest(v_closings) n
                    join closings c on c.tenant = n.tenant and c.scope_id = n.scope_id and c.window_start = n.window_start
          union all select closing_hash(n) from unnest(v_closings) n
          union all select carried_hash(e) from unnest(v_tenants, v_holds) h (tenant, hold_id)
                    join carried_events e on e.tenant = h.tenant and e.hold_id = h.hold_id
          union all select carried_hash(n) from unnest(v_carried) n) x (hash);
    select greatest(v_before.last_at, max(j.at), '-infinity'), coalesce(v_before.presumed, 0) + count(*) filter (where j.kind = 'presumed'),
           coalesce(v_before.late, 0) + count(*) filter (where j.kind = 'late'),
           coalesce(v_before.expired, 0) + count(*) filter (where j.kind = 'expire')
    into v_record.last_at, v_record.presumed, v_record.late, v_record.expired
    from journal j where 0 + j.number between r.first_number and r.last_number;
    v_record.digest := closed_digest(v_record, r.digest, v_record.previous);
    insert into closed_ranges select v_record.*;

    insert into closings as c (tenant, scope_id, window_start, first_at, at, seq, number, posted_seq,
                               spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano,
                               limit_tokens, limit_nano, mode, rolled_tokens, rolled_nano, gone_tokens, gone_nano, grants_made, grants_ended)
    select n.* from unnest(v_closings) n on conflict (tenant, scope_id, window_start) do update set
        at = excluded.at, seq = excluded.seq, number = excluded.number, posted_seq = excluded.posted_seq,
        spent_tokens = excluded.spent_tokens, held_tokens = excluded.held_tokens,
        granted_tokens = excluded.granted_tokens, overrun_tokens = excluded.overrun_tokens,
        spent_nano = excluded.spent_nano, held_nano = excluded.held_nano,
        granted_nano = excluded.granted_nano, overrun_nano = excluded.overrun_nano,
        limit_tokens = excluded.limit_tokens, limit_nano = excluded.limit_nano, mode = excluded.mode,
        rolled_tokens = excluded.rolled_tokens, rolled_nano = excluded.rolled_nano,
        gone_tokens = excluded.gone_tokens, gone_nano = excluded.gone_nano,
        grants_made = excluded.grants_made, grants_ended = excluded.grants_ended;
    delete from carried_events e using unnest(v_tenants, v_holds) h (tenant, hold_id) where e.tenant = h.tenant and e.hold_id = h.hold_id;
    insert into carried_events (tenant, hold_id, kind, attempt, events, d_spent_tokens, d_held_tokens, d_overrun_tokens,
                                d_spent_nano, d_held_nano, d_overrun_nano, seen)
    select n.* from unnest(v_carried) n;
    perform ledger_delete_range(r, v_gone_of, v_gone);
    return query select 'closed', r.first_number, r.last_number, r.events;
end $$;
