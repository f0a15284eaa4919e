-- name: claim
-- Lets one process start an audit that is due. $1 time between audits, $2 time for which the claim is valid, $3 now.
-- An end in the future is that of a wrong clock.
insert into audit_result as r (claimed_until) select coalesce($3, clock_timestamp()) + $2::interval
on conflict (one) do update set claimed_until = excluded.claimed_until
where coalesce(r.claimed_until, '-infinity') < coalesce($3, clock_timestamp())
  and (coalesce(r.ended_at, '-infinity') <= coalesce($3, clock_timestamp()) - $1::interval
       or r.ended_at > coalesce($3, clock_timestamp()))
returning true;

-- name: renew
-- $1 time for which the claim is valid.
update audit_result set claimed_until = clock_timestamp() + $1::interval where claimed_until is not null;

-- name: store
insert into audit_result (ended_at, seconds, by, checked, differences, examples) values ($1, $2, $3, $4, $5, $6)
on conflict (one) do update set claimed_until = null, ended_at = excluded.ended_at, seconds = excluded.seconds, by = excluded.by,
    checked = excluded.checked, differences = excluded.differences, examples = excluded.examples;

-- name: last
select ended_at, seconds, by, checked, differences, examples from audit_result where ended_at is not null;
