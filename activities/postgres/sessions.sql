-- name: running
select task_id from tasks where tenant = $1 and session_id = $2 and ended_at is null order by number limit 1;

-- name: forget_tasks
-- The digest remains, so that the same file under the same id is still not a new task.
update tasks set body = '{}' where tenant = $1 and session_id = $2;

-- name: forget_replies
update agents a set reply_seq = null from tasks t
where t.tenant = $1 and t.session_id = $2 and a.tenant = $1 and a.task_id = t.task_id;
