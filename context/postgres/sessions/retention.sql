-- name: policy
select days, version, changed_by, changed_at from retention where tenant = $1 order by version desc limit 1;

-- name: lock_policy
select pg_advisory_xact_lock(hashtextextended('retention ' || $1, 0));

-- name: set_policy
insert into retention (tenant, version, days, changed_by) values ($1, $2, $3, $4)
returning days, version, changed_by, changed_at;

-- name: due
-- Sessions of all tenants whose last append exceeds their tenant's retention, after ($1, $2) in order.
select s.tenant, s.session_id
from (select distinct on (tenant) tenant, days from retention order by tenant, version desc) as r
join sessions s on s.tenant = r.tenant and s.active_on < (now() at time zone 'utc')::date - r.days
where (s.tenant, s.session_id) > ($1, $2)
order by s.tenant, s.session_id limit $3;

-- name: is_due
select exists (
    select from sessions s
    where s.tenant = $1 and s.session_id = $2 and s.active_on < (now() at time zone 'utc')::date - (
        select days from retention where tenant = $1 order by version desc limit 1));

-- name: compressing
select thread, expires_at from compressions
where tenant = $1 and session_id = $2 and expires_at > clock_timestamp() limit 1;

-- name: delete
-- Rows that reference the session are deleted by cascade.
with counted as (
    select count(*) as messages, coalesce(sum((tokens ->> $5)::bigint), 0) as tokens
    from messages where tenant = $1 and session_id = $2
), claims as (
    delete from compressions where tenant = $1 and session_id = $2
), gone as (
    delete from sessions where tenant = $1 and session_id = $2 returning user_id, created_at, active_on
)
insert into deleted_sessions (tenant, session_id, user_id, messages, tokens, summaries, pins, created_at, active_on,
                              deleted_by, reason)
select $1, $2, gone.user_id, counted.messages, counted.tokens,
       (select count(*) from summaries where tenant = $1 and session_id = $2),
       (select count(*) from pins where tenant = $1 and session_id = $2 and ended_at is null),
       gone.created_at, gone.active_on, $3, $4
from gone, counted
returning *;

-- name: tombstone
select * from deleted_sessions where tenant = $1 and session_id = $2;
