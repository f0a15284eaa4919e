-- name: task_record
select t.session_id, t.user_id, t.input_seq, t.submitter, t.submitted_by, t.vouched, t.tags, t.body,
       (select coalesce(json_object_agg(a.agent_id, a.reply_seq), '{}') from agents a
        where a.tenant = t.tenant and a.task_id = t.task_id and a.reply_seq is not null) as replies
from tasks t where t.tenant = $1 and t.task_id = $2;
-- name: outcome
-- How a task ended, a row for each agent; none if it has not ended.
select t.status, t.reason, a.agent_id, a.status as agent_status, a.reason as agent_reason, a.scope,
       (select count(c.reply_seq) from calls c
        where c.tenant = a.tenant and c.task_id = a.task_id and c.agent_id = a.agent_id) as turns
from tasks t join agents a using (tenant, task_id)
where t.tenant = $1 and t.task_id = $2 and t.ended_at is not null order by a.position;
-- name: fell_short
update agents set shortfall = $4 where tenant = $1 and task_id = $2 and agent_id = $3 and ended_at is null;
-- name: record_agent
update agents set status = $4 where tenant = $1 and task_id = $2 and agent_id = $3 and ended_at is null;
-- name: record_task
update tasks set status = $3 where tenant = $1 and task_id = $2 and ended_at is null;
-- name: close_agent
-- The reply of a completed agent is that of its last turn, if it has a text; at its last turn a model may only call tools.
update agents a set status = $4, reason = $5, scope = $6, ended_at = clock_timestamp(),
    reply_seq = case when $4 = 'completed' then (
        select m.seq from (
            select t.session_id, c.reply_seq from calls c join tasks t using (tenant, task_id)
            where c.tenant = $1 and c.task_id = $2 and c.agent_id = $3 and c.reply_seq is not null
            order by c.turn desc limit 1
        ) last cross join lateral session_message($1, last.session_id, last.reply_seq) as m
        where m.body ->> 'content' ~ '\S') end
where tenant = $1 and task_id = $2 and agent_id = $3 and ended_at is null;
-- name: close_task
-- Agents that have not ended end with their task. No row: it had ended already.
with ended as (
    update tasks set status = $3, reason = $4, ended_at = clock_timestamp()
    where tenant = $1 and task_id = $2 and ended_at is null returning task_id
), rest as (
    update agents set status = 'cancelled', reason = coalesce(nullif($4, ''), 'cancelled'), ended_at = clock_timestamp()
    where tenant = $1 and task_id = $2 and ended_at is null and exists (select from ended)
)
select task_id from ended;
-- name: unchecked
-- Running tasks not checked for $1, at most $2, marked as checked: the caller checks them.
with due as materialized (
    select tenant, task_id from tasks
    where ended_at is null and coalesce(checked_at, submitted_at) < clock_timestamp() - $1::interval
    order by coalesce(checked_at, submitted_at) limit $2 for update skip locked)
update tasks t set checked_at = clock_timestamp() from due d
where t.tenant = d.tenant and t.task_id = d.task_id returning t.task_id, t.tenant;
-- name: lost
-- For how long Temporal has not known the task's workflow.
update tasks set lost_at = coalesce(lost_at, clock_timestamp()) where tenant = $1 and task_id = $2
returning clock_timestamp() - lost_at;
-- name: found
update tasks set lost_at = null where tenant = $1 and task_id = $2 and lost_at is not null;
