-- name: brief
select t.session_id, t.input_seq, t.submitter, t.submitted_by, t.body,
       (select coalesce(json_object_agg(a.agent_id, a.reply_seq), '{}') from agents a
        where a.tenant = t.tenant and a.task_id = t.task_id and a.reply_seq is not null) as replies
from tasks t where t.tenant = $1 and t.task_id = $2;
-- name: running
update agents set status = 'running'
where tenant = $1 and task_id = $2 and agent_id = $3 and status <> 'running' and ended_at is null;
-- name: record_agent
update agents set status = $4 where tenant = $1 and task_id = $2 and agent_id = $3 and ended_at is null;
-- name: record_task
update tasks set status = $3 where tenant = $1 and task_id = $2 and ended_at is null;
-- name: close_agent
-- The reply of an agent that completed is the one of its last turn.
update agents a set status = $4, reason = $5, scope = $6, ended_at = clock_timestamp(),
    reply_seq = case when $4 = 'completed' then (
        select c.reply_seq from calls c where c.tenant = $1 and c.task_id = $2 and c.agent_id = $3 and c.reply_seq is not null
        order by c.turn desc limit 1) end
where tenant = $1 and task_id = $2 and agent_id = $3 and ended_at is null;
-- name: close_agents
update agents set status = 'cancelled', reason = 'cancelled', ended_at = clock_timestamp()
where tenant = $1 and task_id = $2 and ended_at is null;
-- name: close_task
update tasks set status = $3, ended_at = clock_timestamp()
where tenant = $1 and task_id = $2 and ended_at is null returning task_id;
