-- name: insert_task
insert into tasks (tenant, task_id, session_id, body, digest, submitter, input_seq, submitted_by, user_id, vouched, tags)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
-- name: claim
-- Serializes submissions of one id: the second one sees what the first one stored.
select pg_advisory_xact_lock(hashtextextended('task ' || $1 || '/' || $2, 0));
-- name: find
select digest from tasks where tenant = $1 and task_id = $2;
-- name: insert_agents
insert into agents (tenant, task_id, agent_id, position)
select $1, $2, a.id, a.position from unnest($3::text[]) with ordinality a (id, position);
-- name: body
select body from tasks where tenant = $1 and task_id = $2;
-- name: task
select * from task_states where tenant = $1 and task_id = $2;
-- name: agents
-- Usage counts every hold whose path ends in the agent's own scope: its turns, its compressions, its tools' holds.
-- A refused agent may have made its last call after the call that was refused.
select a.agent_id, a.status, a.reason, a.scope, a.shortfall, a.reply_seq, c.turns, c.delay_ms, c.output_capped, c.requested,
       c.refusal, p.approvals, f.attempt as failed_attempt, f.reason as failure, f.at as failed_at, u.*
from agents a
left join lateral (
    select f.attempt, f.reason, f.at
    from (select key, reply_seq, rejected from calls
          where tenant = a.tenant and task_id = a.task_id and agent_id = a.agent_id order by created_at desc limit 1) newest
    join call_failures f on f.tenant = a.tenant and f.key = newest.key
    where a.ended_at is null and newest.reply_seq is null and newest.rejected is null
    order by f.attempt desc limit 1) f on true
cross join lateral (
    select count(reply_seq) as turns, coalesce(sum(delay_ms), 0)::bigint as delay_ms,
           coalesce(bool_or(output_capped), false) as output_capped,
           (array_agg(tokens order by a.status = 'refused' and last, created_at desc))[1] as requested,
           (array_agg(refusal order by a.status = 'refused' and last, created_at desc))[1] as refusal
    from calls where tenant = a.tenant and task_id = a.task_id and agent_id = a.agent_id) c
cross join lateral (
    select count(distinct approval_id) as approvals
    from approval_calls where tenant = a.tenant and task_id = a.task_id and agent_id = a.agent_id) p
cross join lateral (
    select count(distinct h.hold_id) as holds, coalesce(sum(t.nano), 0)::bigint as nano_usd,
           coalesce(sum(t.overrun_tokens), 0)::bigint as overrun,
           coalesce(sum((t.usage ->> 'input')::bigint), 0)::bigint as input,
           coalesce(sum((t.usage ->> 'cache_read')::bigint), 0)::bigint as cache_read,
           coalesce(sum((t.usage ->> 'cache_write_5m')::bigint), 0)::bigint as cache_write_5m,
           coalesce(sum((t.usage ->> 'cache_write_1h')::bigint), 0)::bigint as cache_write_1h,
           coalesce(sum((t.usage ->> 'output')::bigint), 0)::bigint as output,
           sum((t.usage ->> 'reasoning')::bigint)::bigint as reasoning,
           coalesce(sum((t.usage ->> 'unsplit')::bigint), 0)::bigint as unsplit,
           coalesce(sum(t.tokens) filter (where t.state = 'presumed'), 0)::bigint as presumed,
           coalesce(bool_or(t.state = 'presumed' or (t.usage ->> 'estimated')::boolean), false) as estimated
    from scope_entries s
    join hold_facts h on h.tenant = s.tenant and h.hold_id = s.hold_id and h.payer = 'agent:' || s.id
    left join attempt_facts t on t.tenant = h.tenant and t.hold_id = h.hold_id
    where s.tenant = a.tenant and s.kind = 'agent' and s.id = a.task_id || '/' || a.agent_id and s.entry = 'hold') u
where a.tenant = $1 and a.task_id = $2
order by a.position;
-- name: list
select number, task_id, session_id, state, user_id, submitter, submitted_by, tags, submitted_at, ended_at, reason from task_states
where tenant = $1 and ($2::text is null or state = $2) and ($3::bigint is null or number < $3)
order by number desc limit $4;
