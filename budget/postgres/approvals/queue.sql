-- Ids of requests in queue order. `approvals.sql` reads the requests themselves.

-- name: count
select count(*) from approvals where tenant = $1 and state = 'pending';

-- name: pending
-- Earliest deadline first.
select approval_id from approvals where tenant = $1 and state = 'pending' order by deadline, approval_id limit $2;

-- name: decided
select approval_id from approvals where tenant = $1 and decided_at is not null
order by decided_at desc, approval_id limit $2;
