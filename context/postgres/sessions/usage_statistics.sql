-- name: usage_statistics
-- Counts over all tenants, for the operator: newest sessions with a single user message, and newest model summaries
-- with a fidelity score.
with requests as (
    select (select count(*) from messages m
            where m.tenant = s.tenant and m.session_id = s.session_id and m.thread = '' and m.role = 'user') as sent
    from (select tenant, session_id from sessions order by created_at desc limit $1) s),
written as (select fidelity from summaries where method = 'model' order by created_at desc limit $1)
select (select count(*) from requests) as sessions,
       (select count(*) from requests where sent = 1) as one_message_sessions,
       (select count(*) from written) as summaries,
       (select count(fidelity) from written) as scored_summaries;
