-- name: find
select * from calls where tenant = $1 and key = $2;
-- name: of_task
-- Calls of a task, newest first. $3 agent and $4 turn, if any; $5 time and $6 key of the last call of the previous page.
select * from calls
where tenant = $1 and task_id = $2 and ($3::text is null or agent_id = $3) and ($4::integer is null or turn = $4)
  and ($5::timestamptz is null or (created_at, key) < ($5, $6))
order by created_at desc, key desc limit $7;
-- name: last_report
select plan, usage from calls where tenant = $1 and task_id = $2 and agent_id = $3 and model = $4 and usage is not null
order by turn desc limit 1;
-- name: lock
select reply_seq, usage from calls where tenant = $1 and key = $2 for update;
-- name: add
-- Its agent, which asks for a turn, is running. No row: the call is stored, or its task has ended.
with running as (
    update agents set status = 'running'
    where tenant = $1 and task_id = $3 and agent_id = $4 and status <> 'running' and ended_at is null
)
insert into calls (tenant, key, task_id, agent_id, turn, model, plan, output_cap, tokens, nano, least_tokens, least_nano,
                   priced, learned_output, last, ladder)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
where not exists (select from tasks where tenant = $1 and task_id = $3 and ended_at is not null)
on conflict do nothing;
-- name: held
update calls set hold_id = $3, delay_ms = $4, slowed_by = $5, slowed_ratio = $6, would = $7, request_cap = $8
where tenant = $1 and key = $2;
-- name: refused
update calls set refusal = $3 where tenant = $1 and key = $2;
-- name: failed
insert into call_failures (tenant, key, attempt, reason) values ($1, $2, $3, $4) on conflict do nothing;
-- name: replied
update calls set reply_seq = $3, usage = $4, output_capped = $5 where tenant = $1 and key = $2;
-- name: rejected
update calls set rejected = $3 where tenant = $1 and key = $2;
