-- What people who decide see first. The requests themselves are read by `approvals.sql`.

-- name: count
select count(*) from approvals where tenant = $1 and state = 'pending';

-- name: pending
-- Those that end first.
select approval_id from approvals where tenant = $1 and state = 'pending' order by deadline, approval_id limit $2;

-- name: decided
select approval_id from approvals where tenant = $1 and decided_at is not null
order by decided_at desc, approval_id limit $2;
