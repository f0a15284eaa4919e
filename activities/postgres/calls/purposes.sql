-- name: of
-- The purposes of calls. $1 tenant, $2 keys of holds, $3 most characters. The task file is empty once its session is deleted.
select c.key, c.plan, c.least_tokens, c.least_nano, t.session_id, left(t.body ->> 'input', $3) as input,
       left(a.value ->> 'instructions', $3) as instructions
from calls c
join tasks t using (tenant, task_id)
left join lateral (
    select one.value from jsonb_array_elements(t.body -> 'agents') one where one.value ->> 'id' = c.agent_id limit 1) a on true
where c.tenant = $1 and c.key = any ($2);
-- name: progress
-- The agents of tasks: whether they ended, the turns that they have left, and what each answered turn cost. An agent
-- without tools answers in one turn.
select a.ended_at is not null as ended,
       case when jsonb_array_length(coalesce(e.value -> 'tools', '[]')) = 0 then 1
            else coalesce((e.value ->> 'max_turns')::integer, $3) end - cardinality(c.tokens) as turns_left, c.tokens, c.nano
from agents a
join tasks t using (tenant, task_id)
left join lateral (
    select one.value from jsonb_array_elements(t.body -> 'agents') one where one.value ->> 'id' = a.agent_id limit 1) e on true
cross join lateral (
    select coalesce(array_agg(h.charged_tokens order by x.turn), '{}') as tokens,
           coalesce(array_agg(h.charged_nano order by x.turn), '{}') as nano
    from calls x join hold_facts h on h.tenant = x.tenant and h.key = x.key
    where x.tenant = a.tenant and x.task_id = a.task_id and x.agent_id = a.agent_id and x.reply_seq is not null) c
where a.tenant = $1 and a.task_id = any ($2);
