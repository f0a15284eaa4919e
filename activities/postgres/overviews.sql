-- name: list
-- $3: whether an agent waits for approval, where that matters; a task that does is no running one.
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
    select sum(b.spent_tokens) as tokens, sum(b.spent_nano) as nano_usd
    from scopes s join balances b using (scope_id)
    where s.tenant = p.tenant and s.kind = 'task' and s.id = p.task_id) b on true
order by p.number desc;

-- name: counts
select status, count(*) as tasks from tasks where tenant = $1 group by status;

-- name: asking
select count(distinct a.task_id) from agents a join tasks t using (tenant, task_id)
where a.tenant = $1 and a.status = 'waiting_approval' and t.status = 'running';

-- name: costs
-- Every hold of the task, whoever paid: turns, compressions, holds of tools.
select case when starts_with(h.payer, 'agent:' || $2 || '/') then substr(h.payer, length('agent:' || $2 || '/') + 1)
       else '' end as agent_id,
       coalesce(h.model, '') as model, count(*) as holds, sum(h.charged_tokens)::bigint as tokens,
       sum(h.charged_nano)::bigint as nano_usd
from scopes s
join entries e on e.scope_id = s.scope_id and e.kind = 'hold'
join lateral (select *, path[cardinality(path)] as payer from holds where hold_id = e.hold_id) h on true
where s.tenant = $1 and s.kind = 'task' and s.id = $2
group by 1, 2 order by 1, 2;

-- name: approvals
select distinct a.approval_id, a.state, a.created_at, a.decided_at, s.kind || ':' || s.id as scope, a.asked_tokens,
       a.asked_nano, a.granted_tokens, a.granted_nano
from approval_waiters w join approvals a using (approval_id) join scopes s using (scope_id)
where w.tenant = $1 and w.task_id = $2 order by a.created_at desc limit $3;

-- name: agents
-- What the task file says of its agents; nothing is left of it once the session is deleted.
select a.value ->> 'id' as agent_id, a.value ->> 'model' as model,
       array(select jsonb_array_elements_text(a.value -> 'depends_on')) as depends_on
from tasks t, jsonb_array_elements(t.body -> 'agents') with ordinality a
where t.tenant = $1 and t.task_id = $2 order by a.ordinality;
