-- Rolling windows: a limit on what was charged within a time that ends now, such as 5 hours.

-- The entry of the first charge of the attempt that a late report or a correction belongs to; its own without one, and 0 if
-- that charge was deleted.
create function ledger_first_charge(e moves) returns bigint language sql stable as $$
    select case when exists (select from carried_events c
                             where c.tenant = e.tenant and c.hold_id = e.hold_id and c.attempt = e.attempt
                               and c.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')) then 0
           else coalesce(min(x.seq), e.seq) end
    from moves x
    where x.tenant = e.tenant and x.hold_id = e.hold_id and x.attempt = e.attempt and x.scope_id = e.scope_id and x.window_start = e.window_start
      and x.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')
$$;

-- What falls out of a rolling window at a time: the charges that are at least its length old and were not posted as
-- rolled off. An entry is as old as the latest one up to it, because times may be out of order by the wait for a lock. A
-- late report or a correction falls out with the first charge of its attempt. `rolled_to`: the last entry that is out;
-- `next_at`: when the next ones can be, at most once in a sixtieth of the length. Nothing is read before `rolls_at`.
-- Strict, so that it is not inlined: beginning its plan takes longer than all else that a reader of other windows does.
create function ledger_falls_out(b balances, p_now timestamptz)
returns table (tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, rolled_to bigint, next_at timestamptz)
language sql stable strict rows 1 as $$
    with stays as materialized (
        select p.first_seq, p.at from postings p
        where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
          and p.at > p_now - rolling_length(b.window_start)
          and b.rolls_at <= p_now
        order by p.last_seq limit 1
    ), front as materialized (
        select coalesce((select s.first_seq - 1 from stays s), b.seq) as seq where b.rolls_at <= p_now
    ), out as (
        select e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
        from front f join balance_moves e on e.tenant = b.tenant and e.scope_id = b.scope_id and e.window_start = b.window_start
                                         and e.last_seq > b.rolled_to and e.last_seq <= f.seq
        where e.kind in ('settle', 'overrun', 'presumed')
        union all
        select e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
        from front f
        join postings p on p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.late and p.last_seq > b.rolled_to
        join moves e on e.tenant = p.tenant and e.number = p.last_number and e.scope_id = p.scope_id and e.window_start = p.window_start
        cross join lateral (select ledger_first_charge(e) as seq) c
        where c.seq <= f.seq and (c.seq > b.rolled_to or e.seq > b.rolled_seq)
    )
    select coalesce(sum(o.d_spent_tokens), 0)::bigint, coalesce(sum(o.d_spent_nano), 0)::bigint,
           coalesce(sum(o.d_overrun_tokens), 0)::bigint, coalesce(sum(o.d_overrun_nano), 0)::bigint, (select f.seq from front f),
           coalesce((select greatest(s.at + rolling_length(b.window_start), p_now + rolling_length(b.window_start) / 60) from stays s),
                    p_now + rolling_length(b.window_start))
    from out o
$$;

-- Posts what has fallen out of locked balances.
create function ledger_roll_off(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz) returns void language plpgsql as $$
declare
    b balances%rowtype;
    o record;
begin
    for b in select x.* from balances x join unnest(p_scopes, p_windows) u (s, w) on x.tenant = p_tenant and x.scope_id = u.s and x.window_start = u.w
             where x.rolls_at <= p_now order by x.scope_id, x.window_start loop
        select * into o from ledger_falls_out(b, p_now);
        if (o.tokens, o.nano, o.overrun_tokens, o.overrun_nano) <> (0, 0, 0, 0) then
            perform ledger_post(p_tenant, 'rolled_off', array[b.scope_id], array[b.window_start], p_now,
                                p_spent => row(-o.tokens, -o.nano)::amount, p_overrun => row(-o.overrun_tokens, -o.overrun_nano)::amount);
        end if;
        -- A threshold below which the balance has fallen fires again.
        update balances x set rolled_to = o.rolled_to, rolled_seq = x.seq, rolls_at = o.next_at,
               rolled_tokens = x.rolled_tokens + o.tokens, rolled_nano = x.rolled_nano + o.nano,
               warned_at = array(select t from unnest(x.warned_at) t
                                 where (x.spent_tokens + x.held_tokens >= t * (x.limit_tokens + x.granted_tokens)) is true
                                    or (x.spent_nano + x.held_nano >= t * (x.limit_nano + x.granted_nano)) is true)
        where x.tenant = p_tenant and x.scope_id = b.scope_id and x.window_start = b.window_start;
    end loop;
end $$;

-- When an ask fits a rolling window at the latest, if nothing else is charged until then; null: never, or not soon
-- enough to count the postings until then.
create function ledger_room_returns(b balances, p_limit_tokens bigint, p_limit_nano bigint, p_tokens bigint, p_nano bigint)
returns timestamptz language sql stable as $$
    select e.at + rolling_length(b.window_start) * 61 / 60
    from (select b.spent_tokens + b.held_tokens + p_tokens - p_limit_tokens - b.granted_tokens as tokens,
                 case when p_nano > 0 then b.spent_nano + b.held_nano + p_nano - p_limit_nano - b.granted_nano end as nano) short
    cross join lateral (
        select x.at, sum(x.d_spent_tokens) over w as tokens, sum(x.d_spent_nano) over w as nano
        from (select y.* from (select p.* from postings p
                               where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
                               order by p.last_seq limit 20000) p
              cross join lateral (select * from moves m where m.tenant = p.tenant and m.number between p.first_number and p.last_number
                                                          and m.scope_id = p.scope_id and m.window_start = p.window_start offset 0) y
              where y.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')) x
        window w as (order by x.seq)) e
    where e.tokens >= coalesce(short.tokens, 0) and e.nano >= coalesce(short.nano, 0)
    order by e.at limit 1
$$;
