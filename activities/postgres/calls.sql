-- name: find
select * from calls where tenant = $1 and key = $2;
-- name: lock
select reply_seq, usage from calls where tenant = $1 and key = $2 for update;
-- name: add
insert into calls (tenant, key, task_id, agent_id, turn, model, plan, output_cap, tokens, nano, least_tokens, least_nano,
                   priced)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict do nothing;
-- name: held
update calls set hold_id = $3, delay_ms = $4, slowed_by = $5, slowed_ratio = $6 where tenant = $1 and key = $2;
-- name: failed
insert into call_failures (tenant, key, attempt, reason) values ($1, $2, $3, $4) on conflict do nothing;
-- name: replied
update calls set reply_seq = $3, usage = $4, output_capped = $5 where tenant = $1 and key = $2;
-- name: rejected
update calls set rejected = $3 where tenant = $1 and key = $2;
