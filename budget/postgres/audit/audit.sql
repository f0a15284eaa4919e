-- name: balances
-- Balances that differ from the sum of their entries, or from the rows of their holds and grants.
with summed as (
    select tenant, scope_id, window_start, sum(case kind when 'closing' then seq else 1 end) as entries, max(seq) as seq,
           sum(d_spent_tokens) as spent_tokens, sum(d_held_tokens) as held_tokens, sum(d_granted_tokens) as granted_tokens,
               sum(d_overrun_tokens) as overrun_tokens,
           sum(d_spent_nano) as spent_nano, sum(d_held_nano) as held_nano, sum(d_granted_nano) as granted_nano, sum(d_overrun_nano) as overrun_nano
    from counted_moves group by 1, 2, 3
), holding as (
    select x.tenant, x.scope_id, x.window_start, sum(x.held_tokens) as held_tokens, sum(x.held_nano) as held_nano,
           sum(x.spent_tokens) as spent_tokens, sum(x.spent_nano) as spent_nano
    from (select h.tenant, u.scope_id, u.window_start, h.tokens as held_tokens, h.nano as held_nano,
                 h.charged_tokens as spent_tokens, h.charged_nano as spent_nano
          from holds h cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, window_start)
          union all
          select c.tenant, c.scope_id, c.window_start, 0, 0, c.gone_tokens, c.gone_nano from closings c) x
    group by 1, 2, 3
), granting as (
    select tenant, scope_id, window_start, sum(tokens) as granted_tokens, sum(nano) as granted_nano
    from grants where ended_at is null group by 1, 2, 3
)
select s.tenant, s.kind || ':' || s.id as scope, b.window_start::text as window_start, x.name, x.balance, x.entries, x.rows
from balances b
join scopes s on s.tenant = b.tenant and s.scope_id = b.scope_id
left join summed e on e.tenant = b.tenant and e.scope_id = b.scope_id and e.window_start = b.window_start
left join holding h on h.tenant = b.tenant and h.scope_id = b.scope_id and h.window_start = b.window_start
left join granting g on g.tenant = b.tenant and g.scope_id = b.scope_id and g.window_start = b.window_start
cross join lateral (values
    ('entries', b.seq, coalesce(e.entries, 0), coalesce(e.seq, 0)),
    ('spent_tokens', b.spent_tokens, coalesce(e.spent_tokens, 0), coalesce(h.spent_tokens, 0) - b.rolled_tokens),
    ('spent_nano_usd', b.spent_nano, coalesce(e.spent_nano, 0), coalesce(h.spent_nano, 0) - b.rolled_nano),
    ('held_tokens', b.held_tokens, coalesce(e.held_tokens, 0), coalesce(h.held_tokens, 0)),
    ('held_nano_usd', b.held_nano, coalesce(e.held_nano, 0), coalesce(h.held_nano, 0)),
    ('granted_tokens', b.granted_tokens, coalesce(e.granted_tokens, 0), coalesce(g.granted_tokens, 0)),
    ('granted_nano_usd', b.granted_nano, coalesce(e.granted_nano, 0), coalesce(g.granted_nano, 0)),
    ('overrun_tokens', b.overrun_tokens, coalesce(e.overrun_tokens, 0), b.overrun_tokens),
    ('overrun_nano_usd', b.overrun_nano, coalesce(e.overrun_nano, 0), b.overrun_nano)
) x (name, balance, entries, rows)
where x.balance is distinct from x.entries or x.balance is distinct from x.rows;

-- name: rolling
-- What was posted as rolled off is, at each such entry, the sum of the charges that were at least the length of the
-- window old, and a balance names the last of them. Of what was posted while some of these were younger than charges that
-- are deleted now, only the sum is known: it is part of all that follow.
with ordered as materialized (
    select e.tenant, e.scope_id, e.window_start, e.seq, max(e.at) over w as at,
           sum(case when e.kind = 'closing' then c.spent_tokens + c.rolled_tokens
                    when e.kind in ('settle', 'overrun', 'presumed') then e.d_spent_tokens
               else 0 end) over w as tokens,
           sum(case when e.kind = 'closing' then c.spent_nano + c.rolled_nano
                    when e.kind in ('settle', 'overrun', 'presumed') then e.d_spent_nano
               else 0 end) over w as nano,
           sum(case e.kind when 'closing' then c.rolled_tokens when 'rolled_off' then -e.d_spent_tokens else 0 end) over w as rolled_tokens,
           sum(case e.kind when 'closing' then c.rolled_nano when 'rolled_off' then -e.d_spent_nano else 0 end) over w as rolled_nano,
           e.kind = 'rolled_off' as rolls, coalesce(c.seq, 0) as closed,
           max(e.at) filter (where e.kind = 'rolled_off') over w as rolled_at
    from counted_moves e
    left join closings c on c.tenant = e.tenant and c.scope_id = e.scope_id and c.window_start = e.window_start
    where rolling_length(e.window_start) is not null
    window w as (partition by e.tenant, e.scope_id, e.window_start order by e.seq)
), late as materialized (
    select e.tenant, e.scope_id, e.window_start, e.seq, e.d_spent_tokens as tokens, e.d_spent_nano as nano, ledger_first_charge(e) as first
    from moves e where rolling_length(e.window_start) is not null and e.kind in ('late', 'correction')
), fronts as (
    select m.*, coalesce(max(m.seq) filter (where m.mark = 0) over w, 0) as front
    from (select o.tenant, o.scope_id, o.window_start, o.seq, o.at, o.tokens, o.nano, o.rolled_tokens, o.rolled_nano, o.closed, 0 as mark
          from ordered o
          union all
          -- An ask rolls off by its own time, which may be before that of an entry that came between.
          select o.tenant, o.scope_id, o.window_start, o.seq, o.rolled_at - rolling_length(o.window_start), o.tokens, o.nano,
                 o.rolled_tokens, o.rolled_nano, o.closed, 1
          from ordered o where o.rolls) m
    window w as (partition by m.tenant, m.scope_id, m.window_start order by m.at, m.mark)
), claims as (
    select f.tenant, f.scope_id, f.window_start, f.seq, f.front, f.rolled_tokens, f.rolled_nano from fronts f
    where f.mark = 1 and f.front >= f.closed
    union all
    select b.tenant, b.scope_id, b.window_start, b.rolled_seq, b.rolled_to, b.rolled_tokens, b.rolled_nano
    from balances b where rolling_length(b.window_start) is not null
)
select c.tenant, s.kind || ':' || s.id as scope, c.seq, c.front, c.rolled_tokens, x.tokens, c.rolled_nano, x.nano
from claims c
join scopes s on s.tenant = c.tenant and s.scope_id = c.scope_id
left join ordered o on o.tenant = c.tenant and o.scope_id = c.scope_id and o.window_start = c.window_start and o.seq = c.front
cross join lateral (
    select coalesce(o.tokens, 0) + coalesce(sum(l.tokens), 0) as tokens, coalesce(o.nano, 0) + coalesce(sum(l.nano), 0) as nano
    from late l where l.tenant = c.tenant and l.scope_id = c.scope_id and l.window_start = c.window_start and l.first <= c.front
      and l.seq <= c.seq) x
where (c.rolled_tokens, c.rolled_nano) <> (x.tokens, x.nano)
union all
-- A balance looks again about when the first posting that has not fallen out may. Its time may be before that of whoever looked
-- last, by a wait for a lock or a clock that was set, so this allows for one more length: a charge that stays only tightens the limit.
select b.tenant, s.kind || ':' || s.id, b.rolled_seq, b.rolled_to, b.rolled_tokens, null, b.rolled_nano, null
from balances b
join scopes s on s.tenant = b.tenant and s.scope_id = b.scope_id
cross join lateral (select rolling_length(b.window_start) as length) w
left join lateral (select p.at from postings p
                   where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
                   order by p.last_seq limit 1) p on true
where w.length is not null
  and (b.rolled_seq not between b.rolled_to and b.seq or b.rolls_at is null or b.rolls_at > p.at + w.length * 2);

-- name: entries_without_balance
select distinct e.tenant, e.scope_id, e.window_start::text as window_start from counted_moves e
left join balances b on b.tenant = e.tenant and b.scope_id = e.scope_id and b.window_start = e.window_start where b.scope_id is null;

-- name: chain
-- The entries of a balance are numbered without gaps in the order of their events, each belongs to a posting, and the balance
-- after a posting is what its entries and all before them moved. Of deleted entries the closing is one; its posting may remain.
with moved as materialized (
    select m.tenant, m.scope_id, m.window_start, m.seq, m.number, m.entry_id, m.kind, m.at,
           lag(m.seq, 1, 0::bigint) over w as p_seq, lag(m.number, 1, 0::bigint) over w as p_number,
           sum(m.d_spent_tokens) over w as spent_tokens, sum(m.d_held_tokens) over w as held_tokens,
           sum(m.d_granted_tokens) over w as granted_tokens, sum(m.d_overrun_tokens) over w as overrun_tokens,
           sum(m.d_spent_nano) over w as spent_nano, sum(m.d_held_nano) over w as held_nano,
           sum(m.d_granted_nano) over w as granted_nano, sum(m.d_overrun_nano) over w as overrun_nano
    from counted_moves m window w as (partition by m.tenant, m.scope_id, m.window_start order by m.seq, m.number)
)
select m.tenant, m.scope_id, m.entry_id, m.seq, m.kind
from moved m
left join lateral ledger_posting(m.tenant, m.scope_id, m.window_start, m.seq) p on true
where m.number <= m.p_number
   or (m.kind <> 'closing' and (
          m.seq <> m.p_seq + 1
       or (m.seq >= p.first_seq and m.number between p.first_number and p.last_number and m.at = p.at
           and p.late = (m.kind in ('late', 'correction'))) is not true))
   or (m.seq = p.last_seq
       and (p.spent_tokens, p.held_tokens, p.granted_tokens, p.overrun_tokens, p.spent_nano, p.held_nano, p.granted_nano, p.overrun_nano)
        <> (m.spent_tokens, m.held_tokens, m.granted_tokens, m.overrun_tokens, m.spent_nano, m.held_nano, m.granted_nano, m.overrun_nano))
union all
select p.tenant, p.scope_id, null, p.last_seq, null
from (select t.*, lag(t.last_seq) over (partition by t.tenant, t.scope_id, t.window_start order by t.last_seq) as p_last from postings t) p
left join closings c on c.tenant = p.tenant and c.scope_id = p.scope_id and c.window_start = p.window_start
left join moved m on m.tenant = p.tenant and m.scope_id = p.scope_id and m.window_start = p.window_start and m.seq = p.last_seq
where p.first_seq <> coalesce(p.p_last, c.posted_seq, 0) + 1 or m.seq is null;

-- name: overspend
-- Invariant 1: what the gate admits in hard or approval mode fits at that moment; later excess has a kind that states
-- the cause.
with moved as materialized (
    select m.*, sum(m.d_spent_tokens + m.d_held_tokens) over w as tokens, sum(m.d_granted_tokens) over w as granted_tokens,
           sum(m.d_spent_nano + m.d_held_nano) over w as nano, sum(m.d_granted_nano) over w as granted_nano
    from counted_moves m window w as (partition by m.tenant, m.scope_id, m.window_start order by m.seq)
)
select m.tenant, m.scope_id, m.entry_id, m.kind, a.mode
from moved m
cross join lateral ledger_posting(m.tenant, m.scope_id, m.window_start, m.seq) p
cross join lateral ledger_limits(m.gate_tokens, m.gate_nano, m.gate_mode, p) a
where m.kind not in ('overrun', 'presumed', 'late', 'correction', 'rolled_off', 'closing')
  and (m.d_spent_tokens + m.d_held_tokens > 0 or m.d_spent_nano + m.d_held_nano > 0) and a.mode <> 'soft'
  and (((m.tokens > a.limit_tokens + m.granted_tokens) is true and m.d_spent_tokens + m.d_held_tokens > 0)
    or ((m.nano > a.limit_nano + m.granted_nano) is true and m.d_spent_nano + m.d_held_nano > 0));

-- name: paths
-- An event of a hold changes all scopes of its path, each once. These are its path, of which one may be its task, then labels, then
-- further limits of both.
select h.tenant, h.hold_id, e.kind, e.attempt from holds h join journal e on e.tenant = h.tenant and e.hold_id = h.hold_id
where (e.scope_ids, e.window_starts) is distinct from (h.scope_ids, h.window_starts) or cardinality(e.seqs) <> cardinality(e.scope_ids)
union all
select h.tenant, h.hold_id, null, null
from holds h
cross join lateral unnest(h.scope_ids) with ordinality u (scope_id, place)
left join scopes s on s.tenant = h.tenant and s.scope_id = u.scope_id
where case when u.place > cardinality(h.path)
           then (s.kind || ':' || s.id = any (h.labels) or (strpos(s.id, '@') > 0
                 and s.kind || ':' || split_part(s.id, '@', 1) = any (h.path || h.labels))) is not true
           else s.kind || ':' || s.id is distinct from h.path[u.place] end
group by 1, 2
union all
select h.tenant, h.hold_id, null, null from holds h
where cardinality(h.scope_ids) < cardinality(h.path)
   or h.task <> coalesce((select id_of(x.name) from unnest(h.path) x (name) where kind_of(x.name) = 'task' limit 1), '');

-- name: charges
-- The entries of a hold on each scope add up to what it holds and was charged, and no entry belongs to a missing hold.
with moved as (
    select x.tenant, x.hold_id, x.scope_id, x.window_start, sum(x.d_held_tokens) as tokens, sum(x.d_held_nano) as nano,
           sum(x.d_spent_tokens) as charged_tokens, sum(x.d_spent_nano) as charged_nano, sum(x.d_overrun_tokens) as overrun_tokens,
               sum(x.d_overrun_nano) as overrun_nano
    from (select m.tenant, m.hold_id, m.scope_id, m.window_start, m.d_held_tokens, m.d_held_nano, m.d_spent_tokens, m.d_spent_nano,
                 m.d_overrun_tokens, m.d_overrun_nano
          from moves m where m.kind not in ('grant', 'grant_ended', 'limit_raised', 'limit_lowered', 'mode_changed', 'rolled_off')
          union all
          select c.tenant, c.hold_id, u.scope_id, u.window_start, c.d_held_tokens, c.d_held_nano, c.d_spent_tokens, c.d_spent_nano,
                 c.d_overrun_tokens, c.d_overrun_nano
          from carried_events c left join holds h on h.tenant = c.tenant and h.hold_id = c.hold_id
          left join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, window_start) on true) x
    group by 1, 2, 3, 4
), expected as (
    select h.tenant, h.hold_id, u.scope_id, u.window_start, h.tokens, h.nano, h.charged_tokens, h.charged_nano, a.overrun_tokens, a.overrun_nano
    from holds h cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, window_start)
    cross join lateral (select coalesce(sum(x.overrun_tokens), 0) as overrun_tokens, coalesce(sum(x.overrun_nano), 0) as overrun_nano
                        from attempts x where x.tenant = h.tenant and x.hold_id = h.hold_id) a
)
select tenant, hold_id, scope_id, m.tokens as moved_held, t.tokens as held, m.charged_tokens as moved_spent, t.charged_tokens as charged
from moved m full join expected t using (tenant, hold_id, scope_id, window_start)
where (m.tokens, m.nano, m.charged_tokens, m.charged_nano, m.overrun_tokens, m.overrun_nano)
      is distinct from (t.tokens::numeric, t.nano::numeric, t.charged_tokens::numeric, t.charged_nano::numeric, t.overrun_tokens, t.overrun_nano);

-- name: holds
-- Every hold ends exactly once, and its charges are those of its attempts.
select h.tenant, h.hold_id, h.state, c.tokens as attempts_tokens, h.charged_tokens
from holds h
left join lateral (select coalesce(sum(a.tokens), 0) as tokens, coalesce(sum(a.nano), 0) as nano, count(*) as started,
                          count(*) filter (where a.state = 'started') as silent
           from attempts a where a.tenant = h.tenant and a.hold_id = h.hold_id) c on true
left join lateral (select coalesce(sum(e.events) filter (where e.kind = 'release'), 0) as released,
                          coalesce(sum(e.events) filter (where e.kind = 'expire'), 0) as expired,
                          coalesce(sum(e.events) filter (where e.kind = 'hold'), 0) as held
           from hold_moves e where e.tenant = h.tenant and e.hold_id = h.hold_id) n on true
where c.tokens <> h.charged_tokens or c.nano <> h.charged_nano or c.started <> h.attempts
   or c.silent > case when h.state = 'held' then 1 else 0 end
   or (h.views is not null and (
          n.held <> 1
       or n.released <> case when h.state = 'released' then 1 else 0 end
       or n.expired <> case when h.state = 'expired' then 1 else 0 end))
   or (h.views is null and (n.held + n.released + n.expired > 0 or h.state in ('held', 'settled', 'expired')))
   or (h.state in ('settled', 'released', 'expired')) <> (h.ended_at is not null);

-- name: grants
-- Every grant has an entry for its beginning and its end, and an approved request granted the sum of its grants. Of deleted
-- entries the number is known, by balance. A grant of a request ends when one of those who approved wanted, at the latest when
-- the last one did; a balance names the first end, and when something rolled over into it.
select g.tenant, 'grant ' || g.grant_id as found from grants g
left join (select e.tenant, e.scope_ids, e.ref, count(*) filter (where e.kind = 'grant') as made,
                  count(*) filter (where e.kind = 'grant_ended') as ended
           from journal e where e.kind in ('grant', 'grant_ended') group by 1, 2, 3) n
    on n.tenant = g.tenant and n.scope_ids = array[g.scope_id] and n.ref = g.grant_id::text
left join closings c on c.tenant = g.tenant and c.scope_id = g.scope_id and c.window_start = g.window_start
where coalesce(n.made, 0) not between case when c.grants_made > 0 then 0 else 1 end and 1
   or coalesce(n.ended, 0) not between case when g.ended_at is null or c.grants_ended > 0 then 0 else 1 end
                               and case when g.ended_at is null then 0 else 1 end
union all
select c.tenant, 'grants of ' || c.scope_id
from closings c
cross join lateral (select count(*) as made, count(g.ended_at) as ended from grants g
                    where g.tenant = c.tenant and g.scope_id = c.scope_id and g.window_start = c.window_start) g
cross join lateral (select count(*) filter (where e.kind = 'grant') as made, count(*) filter (where e.kind = 'grant_ended') as ended
                    from balance_moves e where e.tenant = c.tenant and e.scope_id = c.scope_id and e.window_start = c.window_start) n
where (g.made, g.ended) <> (n.made + c.grants_made, n.ended + c.grants_ended)
union all
select a.tenant, 'approval ' || a.approval_id from approvals a
left join lateral (select coalesce(sum(g.tokens), 0) as tokens, coalesce(sum(g.nano), 0) as nano
    from grants g where g.tenant = a.tenant and g.approval_id = a.approval_id) g on true
where case when a.task = '' then a.granted_tokens else 0 end <> g.tokens or case when a.task = '' then a.granted_nano else 0 end <> g.nano
union all
select g.tenant, 'grant ' || g.grant_id from grants g
left join approvals a on a.tenant = g.tenant and a.approval_id = g.approval_id
left join decisions d on d.tenant = g.tenant and d.decision_id = g.decision_id
where case when g.approval_id is null then g.rolled_over and g.until is not null
      else (a.state, a.scope_id, a.window_start, d.approval_id) is distinct from ('approved', g.scope_id, g.window_start, g.approval_id)
        or not exists (
          select from decisions x
          where x.tenant = d.tenant and x.approval_id = d.approval_id and x.choice = 'approve' and (x.until > d.until) is not true
            and g.until is not distinct from least(x.until, g.created_at + rolling_length(g.window_start))) end
union all
select b.tenant, 'grants of ' || b.scope_id from balances b
left join (select g.tenant, g.scope_id, g.window_start, min(g.until) filter (where g.ended_at is null) as until,
                  min(g.created_at) filter (where g.rolled_over) as rolled_over_at
           from grants g group by 1, 2, 3) g
    on g.tenant = b.tenant and g.scope_id = b.scope_id and g.window_start = b.window_start
where b.grants_end_at is distinct from g.until or b.rolled_over_at is distinct from coalesce(g.rolled_over_at, b.rolled_over_at)
   or (b.rolled_over_at is null and calendar_start(b.window_start) is not null
       and (b.spent_tokens, b.held_tokens, b.spent_nano, b.held_nano) <> (0, 0, 0, 0));

-- name: limits
-- A balance has the limits and the mode of its last posting, a posting without a gate those of the previous posting, and the
-- entry of a hold those that the gate applied.
select b.tenant, 'balance' as row, b.scope_id, b.window_start::text as window_start, b.seq, b.limit_tokens, b.limit_nano, b.mode
from balances b
left join lateral (
    select t.limit_tokens, t.limit_nano, t.mode from postings t
    where t.tenant = b.tenant and t.scope_id = b.scope_id and t.window_start = b.window_start and t.last_seq = b.seq
    union all
    select c.limit_tokens, c.limit_nano, c.mode from closings c
    where c.tenant = b.tenant and c.scope_id = b.scope_id and c.window_start = b.window_start and c.posted_seq = b.seq) p on true
where (b.limit_tokens, b.limit_nano, b.mode) is distinct from (p.limit_tokens, p.limit_nano, coalesce(p.mode, 'soft'))
union all
select p.tenant, 'posting ' || p.last_number, p.scope_id, p.window_start::text, p.last_seq, p.limit_tokens, p.limit_nano, p.mode from (
    select t.*, lag(t.limit_tokens) over w as p_tokens, lag(t.limit_nano) over w as p_nano, lag(t.mode) over w as p_mode
    from postings t window w as (partition by t.tenant, t.scope_id, t.window_start order by t.last_seq)
) p
left join closings c on p.p_mode is null and c.tenant = p.tenant and c.scope_id = p.scope_id and c.window_start = p.window_start
where (p.limit_tokens, p.limit_nano, p.mode)
      is distinct from (coalesce(p.p_tokens, c.limit_tokens), coalesce(p.p_nano, c.limit_nano), coalesce(p.p_mode, c.mode, 'soft'))
  and not exists (select from journal e where e.tenant = p.tenant and e.number = p.last_number
                    and e.kind in ('hold', 'top_up', 'limit_raised', 'limit_lowered', 'mode_changed'))
union all
select e.tenant, 'entry ' || e.entry_id, e.scope_id, e.window_start::text, e.seq, a.limit_tokens, a.limit_nano, a.mode
from moves e join holds h on h.tenant = e.tenant and h.hold_id = e.hold_id and e.kind = 'hold'
cross join lateral ledger_posting(e.tenant, e.scope_id, e.window_start, e.seq) p
cross join lateral ledger_limits(e.gate_tokens, e.gate_nano, e.gate_mode, p) a
cross join lateral (select h.views -> (array_position(h.scope_ids, e.scope_id) - 1) as v) x
where (a.limit_tokens, a.limit_nano, a.mode)
      is distinct from ((x.v -> 'limit' ->> 0)::bigint, (x.v -> 'limit' ->> 1)::bigint, x.v ->> 'mode');

-- name: attempts
-- An attempt has a hold, its state matches its entries, and the classes of its usage add up to its charge.
select a.tenant, a.hold_id, a.attempt, a.state, a.tokens
from attempts a
left join lateral (select count(*) filter (where e.kind = 'settle') as settled, count(*) filter (where e.kind = 'late') as late,
                          count(*) filter (where e.kind = 'presumed') as presumed
                   from hold_moves e where e.tenant = a.tenant and e.hold_id = a.hold_id and e.attempt = a.attempt) n on true
where a.state <> case when n.settled + n.late > 0 then 'reported' when n.presumed > 0 then 'presumed' else 'started' end
   or (a.state = 'reported') <> (a.digest is not null) or (a.state = 'reported') <> (a.usage is not null)
   or (a.state = 'reported') <> (a.reported_at is not null) or a.late <> (n.late > 0)
   or not exists (select from holds h where h.tenant = a.tenant and h.hold_id = a.hold_id)
   or (a.state = 'reported' and a.tokens <> (
          select coalesce(sum((a.usage ->> c.name)::bigint), 0)
          from unnest(array['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'unsplit']) c (name)));

-- name: reports
-- All reports, to be compared with their digests.
select tenant, hold_id, attempt, usage, nano, digest from attempts where state = 'reported';

-- name: policies
-- A stored policy matches its last recorded change, and what was last recorded is stored. A policy without fields is none.
with stored as (
    select s.tenant, s.kind || ':' || s.id as scope, p.updated_by as by,
           jsonb_strip_nulls(to_jsonb(p) - array['tenant', 'scope_id', 'task', 'sources', 'updated_by', 'updated_at']) as fields
    from policies p join scopes s on s.tenant = p.tenant and s.scope_id = p.scope_id where p.task = ''
), recorded as (
    select distinct on (c.tenant, c.target) c.tenant, c.target as scope, c.by, c.after
    from changes c where c.action = 'policy.set' order by c.tenant, c.target, c.change_id desc
)
select tenant, scope, coalesce(p.by, r.by) as by from stored p full join recorded r using (tenant, scope)
where coalesce(r.after, '{}') <> coalesce(p.fields, '{}');

-- name: templates
-- A template matches its last recorded change, what was last recorded is stored, and what is merged for a scope is what the
-- templates give it.
with recorded as (
    select distinct on (c.tenant, c.target) c.tenant, c.target as pattern, c.by, c.after
    from changes c where c.action = 'template.set' order by c.tenant, c.target, c.change_id desc
)
select tenant, pattern as name, coalesce(t.updated_by, r.by) as by from policy_templates t full join recorded r using (tenant, pattern)
where r.after is distinct from t.fields
union all
select s.tenant, s.kind || ':' || s.id, null
from scopes s
cross join lateral merged_templates(s.tenant, s.kind, s.id) m
left join lateral (
    select to_jsonb(p) - array['tenant', 'scope_id', 'sources'] as fields
    from jsonb_populate_record(null::templated_policies, m.fields) p where m.fields is not null) given on true
left join templated_policies f on f.tenant = s.tenant and f.scope_id = s.scope_id
where (m.sources, given.fields) is distinct from (f.sources, to_jsonb(f) - array['tenant', 'scope_id', 'sources']);

-- name: checkpoints
-- Closed ranges of the journal match their digests, and the ranges are contiguous. Deleted ones are compared with the record of
-- deleted ranges.
select c.checkpoint_id, c.first_number, c.last_number, c.events, found.events as events_now
from (select k.*, lag(k.last_number, 1, 0::bigint) over w as p_last, lag(k.digest, 1, ''::bytea) over w as p_digest
      from checkpoints k window w as (order by k.checkpoint_id)) c
left join closed_ranges r on r.checkpoint_id = c.checkpoint_id
cross join lateral (select count(*) as events from journal e where 0 + e.number between c.first_number and c.last_number) found
where c.first_number <> c.p_last + 1 or c.previous <> c.p_digest
   or (r.checkpoint_id is null and (found.events <> c.events or c.digest <> ledger_digest(c.first_number, c.last_number, c.previous)));

-- name: closings
-- Deleted ranges are the first ones of checkpoints, in order, nothing of them is left, and the closings are those that the last
-- of them made.
select r.checkpoint_id, r.last_number
from (select k.*, lag(k.digest, 1, ''::bytea) over w as p_digest, row_number() over w as place, lead(k.checkpoint_id) over w is null as is_last
      from closed_ranges k window w as (order by k.checkpoint_id)) r
left join (select k.*, row_number() over (order by k.checkpoint_id) as place from checkpoints k) c on c.checkpoint_id = r.checkpoint_id
where c.checkpoint_id is null or c.place <> r.place or c.last_number <> r.last_number or r.previous <> r.p_digest
   or r.digest <> (select closed_digest(x, c.digest, r.previous) from closed_ranges x where x.checkpoint_id = r.checkpoint_id)
   or (r.is_last and r.total <> closings_total())
   or (r.is_last and exists (select from journal e where 0 + e.number <= r.last_number))
   or (r.is_last and exists (select from postings p where p.last_number <= r.last_number))
union all
select null, null where not exists (select from closed_ranges) and closings_total() <> repeat('0', 256)::bit(256);

-- name: counts
select (select count(*) from scopes) as scopes, (select count(*) from balances) as balances, (select count(*) from holds) as holds,
       (select count(*) from attempts) as attempts, (select count(*) from moves) as entries, (select count(*) from grants) as grants,
       (select count(*) from policies) as policies,
       (select count(*) from policy_templates) as templates, (select count(*) from checkpoints) as checkpoints,
       (select count(*) from closings) as closings;
