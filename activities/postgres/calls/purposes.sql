-- name: of
-- The purposes of calls. $1 tenant, $2 keys of holds, $3 their tasks, $4 their agents, $5 for calls of tools the reply
-- that makes them, else null, $6 most characters. The task file is empty once its session is deleted.
select asked.key, c.plan, t.session_id, left(t.body ->> 'input', $6) as input,
       left(a.value ->> 'instructions', $6) as instructions
from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) asked (key, task_id, agent_id, reply_seq)
join calls c on c.tenant = $1 and c.task_id = asked.task_id and c.agent_id = asked.agent_id
            and (c.key = asked.key or c.reply_seq = asked.reply_seq)
join tasks t on t.tenant = c.tenant and t.task_id = c.task_id
left join lateral (
    select one.value from jsonb_array_elements(t.body -> 'agents') one where one.value ->> 'id' = c.agent_id limit 1) a on true;
-- name: least
select key, least_tokens, least_nano from calls where tenant = $1 and key = any ($2);
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
