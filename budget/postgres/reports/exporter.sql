-- Figures for metrics, over all tenants. No statement returns an id.

-- name: budgets
-- Balances by kind and mode, in one scan. $1 defaults by kind, $2 idle time, $3 now. `offset 0` prevents expressions
-- that are computed once per row from being computed once per column. Limits and modes are those that the gate applied
-- last. A budget counts if its balance is that of the current window, it has a limit, and one of these is true:
-- something is held; it has changed within the idle time and since its scope ended; its scope has not ended and is not
-- expected to (a tenant, a user, a calendar window).
with clock as materialized (
    select coalesce($3, clock_timestamp()) as now
), usual as materialized (
    -- Unless a policy sets a window or a time zone, all scopes of a kind share the default one.
    select d.key as kind, ledger_window_start(d.value ->> 'window', d.value ->> 'timezone', c.now) as start
    from clock c, jsonb_each($1::jsonb) d
), special as materialized (
    select s.tenant, s.scope_id, ledger_window_start(e.win, e.zone, c.now) as start
    from clock c, (select p.tenant, p.scope_id from policies p where p."window" is not null or p.timezone is not null
                  union select t.tenant, t.scope_id from templated_policies t where t."window" is not null or t.timezone is not null
                  union select o.tenant, o.scope_id from scopes o where strpos(o.id, '@') > 0) n
    join scopes s on s.tenant = n.tenant and s.scope_id = n.scope_id
    left join lateral (
        select p.task from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.task <> ''
          and p.task = requesting_task(s.kind, s.id)
        order by p.updated_at desc limit 1) request on true
    cross join lateral ledger_policies(s.tenant, array[s.scope_id], coalesce(request.task, ''), $1) e
), used as (
    select s.kind, strpos(s.id, '@') > 0 as further, l.mode, y.spent_tokens, y.spent_nano, b.held_tokens, b.held_nano, b.granted_tokens,
           b.granted_nano,
           b.overrun_tokens, b.overrun_nano,
           y.spent_tokens + b.held_tokens as tokens, y.spent_nano + b.held_nano as nano,
           case when x.counts then l.tokens end as limit_tokens, case when x.counts then l.nano end as limit_nano,
           case when x.counts then l.tokens + b.granted_tokens end as room_tokens,
           case when x.counts then l.nano + b.granted_nano end as room_nano
    from clock c, balances b
    join scopes s on s.tenant = b.tenant and s.scope_id = b.scope_id
    join usual u on u.kind = s.kind
    left join special n on n.tenant = b.tenant and n.scope_id = b.scope_id
    cross join lateral (select b.window_start = coalesce(n.start, u.start)
                               and (b.held_tokens > 0 or b.held_nano > 0
                                    or b.updated_at > greatest(c.now - $2::interval, s.ended_at)
                                    or s.ended_at is null
                                       and (b.window_start > '-infinity' or s.kind not in ('session', 'task', 'agent'))) as counts offset 0) x
    cross join lateral ledger_shared_limits(b, $1) l
    left join lateral ledger_falls_out(case when b.rolls_at <= c.now then b end, c.now) r on true
    cross join lateral (select b.spent_tokens - coalesce(r.tokens, 0) as spent_tokens,
                               b.spent_nano - coalesce(r.nano, 0) as spent_nano offset 0) y
    offset 0
), banded as (
    -- In integers: 0.95 of a limit, rounded up, is the limit minus a twentieth of it, rounded down.
    select *, case when room_tokens is null and room_nano is null then null
                   when tokens >= room_tokens or nano >= room_nano then 3
                   when tokens >= room_tokens - room_tokens / 20 or nano >= room_nano - room_nano / 20 then 2
                   when tokens >= room_tokens - room_tokens / 5 or nano >= room_nano - room_nano / 5 then 1
                   else 0 end as band
    from used offset 0
)
select kind, mode,
       count(*) filter (where band = 0) as under_80, count(*) filter (where band = 1) as from_80,
       count(*) filter (where band = 2) as from_95, count(*) filter (where band = 3) as from_100,
       -- A limit of 0 is fully used.
       max(greatest(case when room_tokens = 0 then 1 else tokens::float8 / room_tokens end,
                    case when room_nano = 0 then 1 else nano::float8 / room_nano end)) as highest_ratio,
       coalesce(sum(limit_tokens) filter (where not further), 0) as limit_tokens,
       coalesce(sum(limit_nano) filter (where not further), 0) as limit_nano,
       -- Further limits count what their scopes count.
       coalesce(sum(spent_tokens) filter (where not further), 0) as spent_tokens,
       coalesce(sum(spent_nano) filter (where not further), 0) as spent_nano,
       coalesce(sum(held_tokens) filter (where not further), 0) as held_tokens, coalesce(sum(held_nano) filter (where not further), 0) as held_nano,
       coalesce(sum(granted_tokens) filter (where not further), 0) as granted_tokens,
       coalesce(sum(granted_nano) filter (where not further), 0) as granted_nano,
       coalesce(sum(overrun_tokens) filter (where not further), 0) as overrun_tokens,
       coalesce(sum(overrun_nano) filter (where not further), 0) as overrun_nano
from banded group by kind, mode;

-- name: holds
-- $1 grace, $2 now.
select count(*) as open, count(*) filter (where h.expires_at < c.now - $1::interval) as overdue,
       extract(epoch from max(c.now - h.created_at))::float8 as oldest_s
from (select coalesce($2, clock_timestamp()) as now) c, holds h where h.state = 'held';

-- name: shadow_calls
-- Calls that policies in shadow would have held up, by kind and outcome.
select s.kind, c.outcome, sum(c.calls)::bigint as calls
from shadow_counts c join scopes s on s.tenant = c.tenant and s.scope_id = c.scope_id group by 1, 2;

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

-- name: ended_approvals
-- How long requests waited, by outcome: the number that waited at most each of $1 seconds, and the total.
select state, array(select count(*) filter (where y.s <= x.bound) from unnest($1::float8[]) x (bound), unnest(array_agg(w.s)) y (s)
                    group by x.bound order by x.bound) as counts,
       count(*) as count, sum(w.s) as sum_s
from approvals a cross join lateral (select extract(epoch from a.decided_at - a.created_at)::float8 as s) w
where state <> 'pending' group by state;

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
