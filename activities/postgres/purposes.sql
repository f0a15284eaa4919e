-- name: of
-- The purposes of calls. $1 tenant, $2 keys of holds, $3 most characters. The task file is empty once its session is deleted.
select c.key, c.plan, c.least_tokens, c.least_nano, t.session_id, left(t.body ->> 'input', $3) as input,
       left(a.value ->> 'instructions', $3) as instructions
from calls c
join tasks t using (tenant, task_id)
left join lateral (
    select one.value from jsonb_array_elements(t.body -> 'agents') one where one.value ->> 'id' = c.agent_id limit 1) a on true
where c.tenant = $1 and c.key = any ($2);
