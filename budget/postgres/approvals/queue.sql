-- Ids of requests in queue order. `approvals.sql` reads the requests themselves.

-- name: count
select count(*) from approvals where tenant = $1 and state = 'pending';

-- name: pending
-- Earliest deadline first.
select approval_id from approvals where tenant = $1 and state = 'pending' order by deadline, approval_id limit $2;

-- name: decided
select approval_id from approvals where tenant = $1 and decided_at is not null
order by decided_at desc, approval_id limit $2;

-- name: related
-- Other pending requests whose calls draw on the scope $3 too.
select distinct a.approval_id, a.deadline from approvals a
join approval_waiters w on w.tenant = a.tenant and w.approval_id = a.approval_id and w.left_at is null
where a.tenant = $1 and a.state = 'pending' and a.approval_id <> $2 and $3 = any (w.path)
order by a.deadline, a.approval_id limit $4;
