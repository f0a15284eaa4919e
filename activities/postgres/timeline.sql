-- name: admissions
-- The calls of the newest $4 turns before the turn that began at $3; all calls of a turn together.
with turns as (
    select agent_id, turn, min(created_at) as began from calls
    where tenant = $1 and task_id = $2
    group by agent_id, turn
    having $3::timestamptz is null or min(created_at) < $3
    order by began desc, agent_id, turn
    limit $4
)
select c.key, c.agent_id, c.turn, c.model, c.created_at as asked_at, c.tokens as asked_tokens, c.delay_ms,
       c.slowed_by, c.slowed_ratio, c.would, c.paced_ms, c.rejected, c.refusal, c.ladder,
       c.output_capped as capped, c.last, h.hold_id, h.state, e.at as held_at, coalesce(e.tokens, 0) as held_tokens,
       coalesce(h.charged_tokens, 0) as charged_tokens, coalesce(h.charged_nano, 0) as charged_nano, h.ended_at,
       t.began
from turns t
join calls c on c.tenant = $1 and c.task_id = $2 and c.agent_id = t.agent_id and c.turn = t.turn
left join hold_facts h on h.tenant = c.tenant and h.key = c.key
left join lateral (
    select at, tokens from hold_events where tenant = h.tenant and hold_id = h.hold_id and kind = 'hold') e on true;

-- name: attempts
select a.hold_id, a.attempt, a.state, a.tokens, a.nano as nano_usd, a.started_at, a.reported_at, a.late,
       f.reason as failure, f.at as failed_at
from attempt_facts a
left join call_failures f on f.tenant = a.tenant and f.key = a.key and f.attempt = a.attempt
where a.tenant = $1 and a.hold_id = any($2::bigint[]);

-- name: agents
-- An agent is ready once the task is submitted and the last of its dependencies has ended.
select a.agent_id, a.status, a.reason, a.scope, a.ended_at,
       greatest(t.submitted_at, (
           select max(d.ended_at) from agents d
           where d.tenant = a.tenant and d.task_id = a.task_id and d.agent_id in (
               select jsonb_array_elements_text(one.value -> 'depends_on')
               from jsonb_array_elements(t.body -> 'agents') one where one.value ->> 'id' = a.agent_id))) as ready_at
from agents a join tasks t using (tenant, task_id)
where a.tenant = $1 and a.task_id = $2;

-- name: approval_waits
-- A wait ends with the decision or when the agent leaves, whichever comes first.
select key, approval_id, state, since, least(decided_at, left_at) as until, tokens, approver
from approval_calls
where tenant = $1 and task_id = $2 and key = any($3::text[]);

-- name: compressions
-- Summaries whose hold belongs to the task, those of its agents' own threads, and those of the session without a hold
-- that were made while the task ran.
select s.thread, s.version, s.created_at as ended_at, h.created_at as began_at, s.tokens_before, s.tokens_after, s.method,
       s.trigger,
       coalesce(substr(h.payer, length('agent:' || t.task_id || '/') + 1),
                substr(nullif(s.thread, ''), length(t.task_id || '/') + 1), '') as agent_id
from tasks t
join summary_facts s on s.tenant = t.tenant and s.session_id = t.session_id
left join hold_facts h on h.tenant = s.tenant and h.key = s.key and h.task <> ''
where t.tenant = $1 and t.task_id = $2
  and s.created_at >= t.submitted_at and (t.ended_at is null or s.created_at <= t.ended_at + interval '10 minutes')
  and case when h.hold_id is not null then h.task = t.task_id
           when s.thread <> '' then starts_with(s.thread, t.task_id || '/')
           else t.ended_at is null or s.created_at <= t.ended_at end
  and ($3::timestamptz is null or s.created_at >= $3) and ($4::timestamptz is null or s.created_at < $4)
order by s.created_at desc limit $5;
