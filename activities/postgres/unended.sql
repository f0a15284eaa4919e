-- name: files
select tenant, task_id, body::text as body from tasks
where status in ('running', 'paused') and body <> '{}' order by number desc limit $1;
