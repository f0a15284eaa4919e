-- Figures for metrics, over all tenants. No statement returns an id.

-- name: budgets
-- Balances by kind and mode. $1 defaults by kind, $2 idle time, $3 now. Balances are never deleted: those that no longer count are
-- dormant, and only their totals are read. Limits and modes are those that the gate applied last. A budget counts if its
-- balance is that of the current window, it has a limit, its policy is not in shadow, and one of these is true: something is
-- held; it has changed within the idle time and since its scope ended; its scope has not ended and is not expected to (a
-- tenant, a user, a calendar window). `offset 0` prevents expressions that are computed once per row from being computed once
-- per column, and keeps a lookup by key what it is.
with clock as materialized (
    select coalesce($3, clock_timestamp()) as now
), usual as materialized (
    -- Unless a policy sets a window or a time zone, all scopes of a kind share the default one.
    select d.key as kind, ledger_window_start(d.value ->> 'window', d.value ->> 'timezone', c.now) as start,
           coalesce((d.value ->> 'shadow')::boolean, false) as shadow
    from clock c, jsonb_each($1::jsonb) d
), awake as materialized (
    -- `recent` counts if its window is the current one; no calendar window is longer than 32 days.
    select s.kind, s.id, strpos(s.id, '@') > 0 as further, b as balance, b.*,
           (b.held_tokens > 0 or b.held_nano > 0
            or b.updated_at > greatest(c.now - $2::interval, s.ended_at)
            or s.ended_at is null and (b.window_start > '-infinity' or s.kind not in ('session', 'task', 'agent')))
           and (calendar_start(b.window_start) is null or b.window_start > c.now - interval '32 days') as recent
    from clock c, balances b
    cross join lateral (select * from scopes t where t.tenant = b.tenant and t.scope_id = b.scope_id offset 0) s
    where not b.dormant
), special as materialized (
    select s.tenant, s.scope_id, w.start, w.shadow
    from clock c, (select distinct a.tenant, a.scope_id, a.kind, a.id from awake a where a.recent) s
    join usual u on u.kind = s.kind
    cross join lateral ledger_current_window(s.tenant, s.scope_id, s.kind, s.id, $1, c.now) w
    where strpos(s.id, '@') > 0 or u.shadow
       or exists (select from own_windows o where o.tenant = s.tenant and o.scope_id = s.scope_id offset 0)
       or exists (select from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.shadow offset 0)
       or exists (select from templated_policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.shadow offset 0)
), used as (
    select b.kind, b.further, l.mode, l.tokens as limit_tokens, l.nano as limit_nano,
           b.spent_tokens - coalesce(o.tokens, 0) + b.held_tokens as tokens, b.spent_nano - coalesce(o.nano, 0) + b.held_nano as nano,
           l.tokens + b.granted_tokens as room_tokens, l.nano + b.granted_nano as room_nano
    from clock c, awake b
    join usual u on u.kind = b.kind
    left join special n on n.tenant = b.tenant and n.scope_id = b.scope_id
    left join lateral ledger_falls_out(case when b.rolls_at <= c.now then b.balance end, c.now) o on true
    cross join lateral ledger_shared_limits(b.balance, $1) l
    where b.recent and b.window_start = coalesce(n.start, u.start) and n.shadow is not true and (l.tokens is not null or l.nano is not null)
    offset 0
), banded as (
    -- In integers: 0.95 of a limit, rounded up, is the limit minus a twentieth of it, rounded down.
    select *, case when tokens >= room_tokens or nano >= room_nano then 3
                   when tokens >= room_tokens - room_tokens / 20 or nano >= room_nano - room_nano / 20 then 2
                   when tokens >= room_tokens - room_tokens / 5 or nano >= room_nano - room_nano / 5 then 1
                   else 0 end as band
    from used offset 0
), counted as (
    select kind, mode,
           count(*) filter (where band = 0) as under_80, count(*) filter (where band = 1) as from_80,
           count(*) filter (where band = 2) as from_95, count(*) filter (where band = 3) as from_100,
           -- A limit of 0 is fully used.
           max(greatest(case when room_tokens = 0 then 1 else tokens::float8 / room_tokens end,
                        case when room_nano = 0 then 1 else nano::float8 / room_nano end)) as highest_ratio,
           sum(limit_tokens) filter (where not further) as limit_tokens, sum(limit_nano) filter (where not further) as limit_nano
    from banded group by kind, mode
), summed as (
    -- Further limits count what their scopes count.
    select x.kind, x.mode, sum(x.charged_tokens) as charged_tokens, sum(x.charged_nano) as charged_nano,
           sum(x.held_tokens) as held_tokens, sum(x.held_nano) as held_nano,
           sum(x.granted_tokens) as granted_tokens, sum(x.granted_nano) as granted_nano,
           sum(x.overrun_tokens) as overrun_tokens, sum(x.overrun_nano) as overrun_nano
    from (select b.kind, b.mode, a.charged_tokens, a.charged_nano, b.held_tokens, b.held_nano, b.granted_tokens, b.granted_nano,
                 a.overrun_tokens, a.overrun_nano
          from awake b cross join lateral ledger_in_all(b.balance) a where not b.further
          union all
          select d.kind, d.mode, d.charged_tokens, d.charged_nano, 0, 0, d.granted_tokens, d.granted_nano, d.overrun_tokens, d.overrun_nano
          from dormant_totals d) x
    group by x.kind, x.mode
)
select kind, mode, coalesce(under_80, 0) as under_80, coalesce(from_80, 0) as from_80, coalesce(from_95, 0) as from_95,
       coalesce(from_100, 0) as from_100, highest_ratio,
       coalesce(limit_tokens, 0) as limit_tokens, coalesce(limit_nano, 0) as limit_nano,
       coalesce(charged_tokens, 0) as spent_tokens, coalesce(charged_nano, 0) as spent_nano,
       coalesce(held_tokens, 0) as held_tokens, coalesce(held_nano, 0) as held_nano,
       coalesce(granted_tokens, 0) as granted_tokens, coalesce(granted_nano, 0) as granted_nano,
       coalesce(overrun_tokens, 0) as overrun_tokens, coalesce(overrun_nano, 0) as overrun_nano
from counted full join summed using (kind, mode);

-- name: lock
select pg_try_advisory_xact_lock($1);

-- name: mark_dormant
-- Marks at most $3 balances that count for no budget until they move again, by the rules of `budgets`, nor for one that is
-- exhausted soon, which looks back a day. $1 idle time, $2 now. Waits for no call.
with still as materialized (
    select x.tenant, x.scope_id, x.window_start
    from (select coalesce($2, clock_timestamp()) as now) c, balances x
    cross join lateral (select * from scopes t where t.tenant = x.tenant and t.scope_id = x.scope_id offset 0) s
    where not x.dormant and x.held_tokens = 0 and x.held_nano = 0
      and (calendar_start(x.window_start) <= c.now - interval '32 days'
           or x.updated_at <= greatest(c.now - $1::interval, s.ended_at) and s.ended_at is not null
           or s.ended_at is null and x.window_start = '-infinity' and s.kind in ('session', 'task', 'agent')
              and x.updated_at <= c.now - greatest($1::interval, interval '24 hours'))
    limit $3 for update of x skip locked)
update balances b set dormant = true from still d
where b.tenant = d.tenant and b.scope_id = d.scope_id and b.window_start = d.window_start;

-- name: add_up_dormant
with gone as (
    delete from dormant_totals t
    using (select tenant, kind, mode from dormant_totals group by 1, 2, 3 having count(*) > 1) m
    where t.tenant = m.tenant and t.kind = m.kind and t.mode = m.mode
    returning t.*
)
insert into dormant_totals (tenant, kind, mode, charged_tokens, charged_nano, granted_tokens, granted_nano, overrun_tokens, overrun_nano)
select g.tenant, g.kind, g.mode, sum(g.charged_tokens), sum(g.charged_nano), sum(g.granted_tokens), sum(g.granted_nano),
       sum(g.overrun_tokens), sum(g.overrun_nano)
from gone g group by 1, 2, 3;

-- name: holds
-- $1 grace, $2 now.
select count(*) as open, count(*) filter (where h.expires_at < c.now - $1::interval) as overdue,
       extract(epoch from max(c.now - h.created_at))::float8 as oldest_s
from (select coalesce($2, clock_timestamp()) as now) c, holds h where h.state = 'held';

-- name: mark_shadow
-- Marks at most $1 shadow counts whose balance is dormant, adds their calls to the totals, and returns how many they are. Waits
-- for no call.
with still as materialized (
    select x.tenant, x.scope_id, x.window_start, x.outcome, x.dormant_calls
    from shadow_counts x
    cross join lateral (select from balances b where b.tenant = x.tenant and b.scope_id = x.scope_id
                                                 and b.window_start = x.window_start and b.dormant offset 0) d
    where not x.dormant limit $1 for update of x skip locked
), marked as (
    update shadow_counts c set dormant = true, dormant_calls = c.calls from still a
    where c.tenant = a.tenant and c.scope_id = a.scope_id and c.window_start = a.window_start and c.outcome = a.outcome
    returning c.tenant, c.scope_id, c.outcome, c.calls - a.dormant_calls as calls
), added as (
    insert into shadow_totals as t (tenant, kind, outcome, calls)
    select m.tenant, s.kind, m.outcome, sum(m.calls)
    from marked m join scopes s on s.tenant = m.tenant and s.scope_id = m.scope_id group by 1, 2, 3
    on conflict (tenant, kind, outcome) do update set calls = t.calls + excluded.calls
)
select count(*) from marked;

-- name: shadow_calls
-- Calls that policies in shadow would have held up, by kind and outcome.
select x.kind, x.outcome, sum(x.calls)::bigint as calls
from (select t.kind, t.outcome, t.calls from shadow_totals t
      union all
      select s.kind, c.outcome, c.calls - c.dormant_calls
      from shadow_counts c
      cross join lateral (select * from scopes t where t.tenant = c.tenant and t.scope_id = c.scope_id offset 0) s
      where not c.dormant) x
group by 1, 2;

-- name: faults
-- Expired holds, presumed attempts and late reports, deleted ones included: counters never fall.
select k.kind, sum(k.count)::bigint as count
from (select j.kind, count(*) as count from journal j where j.kind in ('presumed', 'late', 'expire') group by j.kind
      union all
      (select x.kind, x.count from closed_ranges r cross join lateral (values ('presumed', r.presumed), ('late', r.late), ('expire', r.expired))
          x (kind, count) order by r.checkpoint_id desc limit 3)) k
where k.count > 0 group by k.kind;

-- name: waiting
-- Asks that wait for open holds. $1 time without asking after which a waiter does not count, $2 now.
select count(distinct (w.tenant, w.hold_id)) as asks, extract(epoch from max(c.now - w.since))::float8 as oldest_s
from (select coalesce($2, clock_timestamp()) as now) c, waiters w where w.last_asked > c.now - $1::interval;

-- name: pending_approvals
-- $1 now.
select count(*) as pending, extract(epoch from max(c.now - a.created_at))::float8 as oldest_s,
       extract(epoch from min(a.deadline - c.now))::float8 as deadline_s
from (select coalesce($1, clock_timestamp()) as now) c, approvals a where a.state = 'pending';

-- name: count_ended
-- Adds at most $1 requests that have ended to the totals, and returns how many they are. $2 bounds of waits, in seconds.
with uncounted as materialized (
    select x.tenant, x.approval_id from approvals x where x.state <> 'pending' and not x.counted
    limit $1 for update of x skip locked
), ended as (
    update approvals a set counted = true from uncounted e
    where a.tenant = e.tenant and a.approval_id = e.approval_id
    returning a.*
), added as (
    insert into approval_totals as t (tenant, state, up_to_s, requests, waited_s)
    select e.tenant, e.state, w.up_to_s, count(*), sum(w.seconds) from ended e cross join lateral waited(e, $2) w group by 1, 2, 3
    on conflict (tenant, state, up_to_s) do update set requests = t.requests + excluded.requests, waited_s = t.waited_s + excluded.waited_s
)
select count(*) from ended;

-- name: ended_approvals
-- How long requests waited, by outcome and the upper bound of their waits. $1 bounds, in seconds.
select x.state, x.up_to_s, sum(x.requests)::bigint as requests, sum(x.waited_s) as waited_s
from (select t.state, t.up_to_s, t.requests, t.waited_s from approval_totals t
      union all
      select a.state, w.up_to_s, 1, w.seconds from approvals a cross join lateral waited(a, $1) w
      where a.state <> 'pending' and not a.counted) x
group by 1, 2;

-- name: outbox
-- Signals that have not reached their workflow. $1 now.
select count(*) as pending, extract(epoch from max(coalesce($1, clock_timestamp()) - o.created_at))::float8 as oldest_s
from outbox o where o.sent_at is null;

-- name: audit
-- The last audit. $1 now.
select differences, seconds, extract(epoch from coalesce($1, clock_timestamp()) - ended_at)::float8 as age_s
from audit_result where ended_at is not null;

-- name: drift
-- Balances that differ from their last posting, or from the closing that took its place.
select count(*) from balances b
left join lateral (
    select t.last_seq, t.spent_tokens, t.held_tokens, t.granted_tokens, t.overrun_tokens, t.spent_nano, t.held_nano, t.granted_nano, t.overrun_nano
    from postings t where t.tenant = b.tenant and t.scope_id = b.scope_id and t.window_start = b.window_start and t.last_seq = b.seq
    union all
    select c.seq, c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano
    from closings c where c.tenant = b.tenant and c.scope_id = b.scope_id and c.window_start = b.window_start and c.posted_seq = b.seq) p on true
where (b.spent_tokens, b.held_tokens, b.granted_tokens, b.overrun_tokens, b.spent_nano, b.held_nano, b.granted_nano, b.overrun_nano)
      is distinct from (coalesce(p.spent_tokens, 0), coalesce(p.held_tokens, 0), coalesce(p.granted_tokens, 0), coalesce(p.overrun_tokens, 0),
                        coalesce(p.spent_nano, 0), coalesce(p.held_nano, 0), coalesce(p.granted_nano, 0), coalesce(p.overrun_nano, 0))
   or (p.last_seq is null and b.seq > 0)
   or exists (select 1 from postings x
              where x.tenant = b.tenant and x.scope_id = b.scope_id and x.window_start = b.window_start and x.last_seq > b.seq);
