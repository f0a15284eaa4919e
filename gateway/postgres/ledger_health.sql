-- name: open
select count(*) as holds, coalesce(sum(tokens), 0)::bigint as tokens, coalesce(sum(nano), 0)::bigint as nano_usd,
       min(created_at) as oldest, count(*) filter (where expires_at < now()) as overdue
from holds where state = 'held' and tenant = $1;

-- name: oldest
select hold_id, path, model, attempts, tokens, nano as nano_usd, created_at, expires_at
from holds where state = 'held' and tenant = $1 order by created_at limit $2;

-- name: faults
-- Holds, not entries: each scope of a path has an entry of its own.
select e.kind, count(distinct e.hold_id) as holds
from entries e join holds h using (hold_id)
where e.kind in ('presumed', 'late', 'expire') and e.at >= $2 and h.tenant = $1
group by e.kind;

-- name: outbox
select count(*) as waiting, min(created_at) as oldest, coalesce(max(tries), 0) as tries from outbox
where sent_at is null and starts_with(workflow_id, 'task-' || $1 || '/');

-- name: version
select version();

-- name: attempts
select a.attempt, a.state, a.tokens, a.nano as nano_usd, a.overrun_tokens, a.overrun_nano, a.late, a.usage, a.started_at,
       a.reported_at
from attempts a join holds h using (hold_id) where h.tenant = $1 and h.hold_id = $2 order by a.attempt limit $3;

-- name: deliveries
select count(*) as waiting, min(created_at) as oldest, coalesce(max(tries), 0) as tries
from deliveries where state = 'pending' and tenant = $1;
