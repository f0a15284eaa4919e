-- name: practice
-- Counts over all tenants, for the operator: how many of the newest sessions have a single message of a user.
with newest as (
    select (select count(*) from messages m
            where m.tenant = s.tenant and m.session_id = s.session_id and m.thread = '' and m.role = 'user') as requests
    from (select tenant, session_id from sessions order by created_at desc limit $1) s)
select count(*) as sessions, count(*) filter (where requests = 1) as one_message_sessions from newest;
