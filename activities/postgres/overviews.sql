-- name: list
-- $3: only tasks of which an agent waits for approval, or only others; null: all. A waiting task does not count as running.
with page as (
    select t.number, t.tenant, t.task_id, t.session_id, t.submitter, t.status, t.submitted_at, t.ended_at, w.asking
    from tasks t
    cross join lateral (select t.status = 'running' and exists (
        select from agents a where a.tenant = t.tenant and a.task_id = t.task_id and a.status = 'waiting_approval'
    ) as asking) w
    where t.tenant = $1
      and ($2::text is null or t.status = $2)
      and ($3::boolean is null or w.asking = $3)
      and ($4::bigint is null or t.number < $4)
      and ($5::text is null or strpos(lower(t.task_id), $5) > 0 or strpos(lower(t.session_id), $5) > 0
           or strpos(lower(t.submitter), $5) > 0)
    order by t.number desc limit $6
)
select p.number, p.task_id, p.session_id, p.submitter, p.submitted_at, p.ended_at,
       case when p.asking then 'waiting_approval' else p.status end as state,
       a.agents, a.agents_ended, coalesce(b.tokens, 0)::bigint as tokens, coalesce(b.nano_usd, 0)::bigint as nano_usd
from page p
cross join lateral (
    select count(*) as agents, count(ended_at) as agents_ended from agents
    where tenant = p.tenant and task_id = p.task_id) a
left join lateral (
    select sum(tokens) as tokens, sum(nano) as nano_usd
    from scope_spending where tenant = p.tenant and kind = 'task' and id = p.task_id) b on true
order by p.number desc;

-- name: counts
select status, count(*) as tasks from tasks where tenant = $1 group by status;

-- name: asking
select count(distinct a.task_id) from agents a join tasks t using (tenant, task_id)
where a.tenant = $1 and a.status = 'waiting_approval' and t.status = 'running';

-- name: costs
-- Every hold of the task, whichever scope paid: turns, compressions, holds of tools.
select case when starts_with(h.payer, 'agent:' || $2 || '/') then substr(h.payer, length('agent:' || $2 || '/') + 1)
       else '' end as agent_id,
       coalesce(h.model, '') as model, count(*) as holds, sum(h.charged_tokens)::bigint as tokens,
       sum(h.charged_nano)::bigint as nano_usd
from scope_entries s join hold_facts h on h.tenant = s.tenant and h.hold_id = s.hold_id
where s.tenant = $1 and s.kind = 'task' and s.id = $2 and s.entry = 'hold'
group by 1, 2 order by 1, 2;

-- name: approvals
select distinct approval_id, state, created_at, decided_at, scope, asked_tokens, asked_nano, granted_tokens, granted_nano
from approval_calls
where tenant = $1 and task_id = $2 order by created_at desc limit $3;

-- name: agents
-- The agents that the task file declares; the file is empty once the session is deleted.
select a.value ->> 'id' as agent_id, a.value ->> 'model' as model,
       array(select jsonb_array_elements_text(a.value -> 'depends_on')) as depends_on
from tasks t, jsonb_array_elements(t.body -> 'agents') with ordinality a
where t.tenant = $1 and t.task_id = $2 order by a.ordinality;
