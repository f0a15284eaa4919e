-- name: open
select count(*) as holds, coalesce(sum(tokens), 0)::bigint as tokens, coalesce(sum(nano), 0)::bigint as nano_usd,
       min(created_at) as oldest, count(*) filter (where expires_at < now()) as overdue
from hold_facts where state = 'held' and tenant = $1;

-- name: oldest
select hold_id, path, model, attempts, tokens, nano as nano_usd, created_at, expires_at
from hold_facts where state = 'held' and tenant = $1 order by created_at limit $2;

-- name: faults
-- Counts holds: several attempts of one may be presumed.
select kind, count(distinct hold_id) as holds from hold_faults where tenant = $1 and at >= $2 group by kind;

-- name: outbox
select count(*) as waiting, min(created_at) as oldest, coalesce(max(tries), 0) as tries from unsent_messages
where tenant = $1;

-- name: attempts
select attempt, state, tokens, nano as nano_usd, overrun_tokens, late, usage, started_at, reported_at
from attempt_facts where tenant = $1 and hold_id = $2 order by attempt limit $3;

-- name: deliveries
select count(*) as waiting, min(created_at) as oldest, coalesce(max(tries), 0) as tries
from deliveries where state = 'pending' and tenant = $1;
