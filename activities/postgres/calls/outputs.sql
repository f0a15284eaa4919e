-- name: seen
select outputs from reply_outputs where tenant = $1 and agent_id = $2 and model = $3;
-- name: add
insert into reply_outputs as o (tenant, agent_id, model, outputs) values ($1, $2, $3, array[$4::bigint])
on conflict (tenant, agent_id, model) do update set outputs = (excluded.outputs || o.outputs)[1:$5];
