-- Everything about the approvals of one scope happens under the lock of its row in scopes, one after the other.
-- Order of locks: scope, then balances. A waiter counts while its hold is in state 'none', which takes no lock to see.

-- name: lock_scope
select scope_id, coalesce($4, clock_timestamp()) as now from scopes
where tenant = $1 and kind = $2 and id = $3 for no key update;

-- name: drawn
-- The scopes on which an ask draws: its path, and what else has a policy.
select array_agg(x.name order by x.ord) from ledger_expand($1, $2, $3) x;

-- name: lock_request
select coalesce($3, clock_timestamp()) as now from approvals a join scopes s on s.tenant = a.tenant and s.scope_id = a.scope_id
where a.tenant = $1 and a.approval_id = $2 for no key update of s;

-- name: try_lock_request
select coalesce($3, clock_timestamp()) as now from approvals a join scopes s on s.tenant = a.tenant and s.scope_id = a.scope_id
where a.tenant = $1 and a.approval_id = $2 for no key update of s skip locked;

-- name: latest
-- The latest request of a scope ($3) for which a key waits, or waited until it closed.
select a.approval_id, a.state, a.deadline from approval_waiters w join approvals a on a.tenant = w.tenant and a.approval_id = w.approval_id
where w.tenant = $1 and w.key = $2 and a.scope_id = $3 and w.left_at is not distinct from a.decided_at
order by a.created_at desc limit 1;

-- name: join
-- Joins the pending request of a scope in its current window, or opens one ($1) under the stored rules, else those of
-- $5.
-- If the ask fits the limits that all tasks share, only the task's own limit is short: no other task joins the request.
with budget as (
    select p.scope_id, w.start as window_start, coalesce(s.approval, $5) as rules,
           case when (t.spent_tokens + t.held_tokens + $10 > p.shared_tokens + t.granted_tokens) is true
                  or ($11::bigint > 0 and t.spent_nano + t.held_nano + $11 > p.shared_nano + t.granted_nano) is true
                  or (p.limit_tokens, p.limit_nano) is not distinct from (p.shared_tokens, p.shared_nano)
                then '' else $7 end as task
    from ledger_policies($2, array[$3::bigint], $7, $4) p
    join stored_policies s on s.tenant = $2 and s.scope_id = p.scope_id
    cross join lateral (select ledger_window_start(p.win, p.zone, $12) as start) w
    left join balances t on t.tenant = $2 and t.scope_id = p.scope_id and t.window_start = w.start
), opened as (
    insert into approvals (tenant, approval_id, scope_id, window_start, task, state, asked_tokens, asked_nano, rules, created_at, deadline)
    select $2, $1, b.scope_id, b.window_start, b.task, 'pending', 0, 0, b.rules, $12, $12 + (b.rules ->> 'deadline_s')::int * interval '1 second'
    from budget b on conflict (tenant, scope_id, window_start, task) where state = 'pending' do nothing returning approval_id
), request as (
    select approval_id from opened union all
    select a.approval_id from approvals a join budget b on b.scope_id = a.scope_id and b.window_start = a.window_start and b.task = a.task
    where a.tenant = $2 and a.state = 'pending'
)
insert into approval_waiters (tenant, approval_id, key, task_id, agent_id, submitter, submitted_by, vouched, workflow_id, tokens, nano, since, path)
select $2, r.approval_id, $6, $7, $8, $9, $14, $15, $13, $10, $11, $12, $16 from request r
on conflict (tenant, approval_id, key) do update set left_at = null, since = excluded.since, workflow_id = excluded.workflow_id
returning approval_id;

-- name: requests
-- Requests as an approver sees them, newest first. Only those of the page are completed, each by lookups of its own.
-- $1 tenant, $2 ids or null, $3 state or null, $4 older than this id or null, $5 at most, $6 defaults, $7 now,
-- $8 whether to list who waits; who has decided is judged by that list, so then it is there anyway.
select a.approval_id, s.kind || ':' || s.id as scope, calendar_start(a.window_start) as window_start, a.task, a.state, a.rules,
       a.asked_tokens, a.asked_nano, a.granted_tokens as given_tokens, a.granted_nano as given_nano,
       a.created_at, a.deadline, a.decided_at, a.reminded_at, a.escalated_at, p.limit_tokens, p.limit_nano,
       coalesce(p.reserve_tokens, 0) as reserve_tokens, coalesce(p.reserve_nano, 0) as reserve_nano,
       coalesce(b.spent_tokens, 0) - coalesce(r.tokens, 0) as spent_tokens, coalesce(b.spent_nano, 0) - coalesce(r.nano, 0) as spent_nano,
       coalesce(b.held_tokens, 0) as held_tokens, coalesce(b.held_nano, 0) as held_nano,
       coalesce(b.granted_tokens, 0) - o.tokens as granted_tokens, coalesce(b.granted_nano, 0) - o.nano as granted_nano,
       coalesce(p.current, false) as current, w.tokens as waiting_tokens, w.nano as waiting_nano,
       coalesce(l.waiters, '[]') as waiters, d.decisions
from (
    select * from approvals p
    where p.tenant = $1 and ($2::text[] is null or p.approval_id = any ($2)) and ($3::text is null or p.state = $3)
      and ($4::text is null or (p.created_at, p.approval_id) < (select c.created_at, c.approval_id from approvals c
                                                                where c.tenant = $1 and c.approval_id = $4))
    order by p.created_at desc, p.approval_id desc limit $5) a
cross join lateral (select * from scopes t where t.tenant = $1 and t.scope_id = a.scope_id offset 0) s
cross join (select coalesce($7, clock_timestamp()) as at) n
left join lateral (select t as of_window, t.* from balances t
                   where t.tenant = $1 and t.scope_id = a.scope_id and t.window_start = a.window_start offset 0) b on true
left join lateral ledger_falls_out(case when b.rolls_at <= n.at then b.of_window end, n.at) r on true
cross join lateral (
    select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano from grants g
    where g.tenant = a.tenant and g.scope_id = a.scope_id and g.window_start = a.window_start and g.ended_at is null and g.until <= n.at) o
cross join lateral (
    select coalesce(jsonb_agg(to_jsonb(x) - array['tenant', 'approval_id', 'digest', 'answer'] order by x.at), '[]') as decisions
    from decisions x where x.tenant = a.tenant and x.approval_id = a.approval_id) d
-- Tasks that requested nothing of the scope share its policy.
cross join lateral (select array_agg(t.task) as tasks from policies t
                    where t.tenant = a.tenant and t.scope_id = a.scope_id and t.task <> '') q
cross join lateral (
    select sum(x.tokens) as tokens, sum(x.nano) as nano,
           array_agg(distinct case when x.task_id = any (q.tasks) then x.task_id else '' end) as tasks
    from approval_waiters x
    join holds h on h.tenant = x.tenant and h.key = x.key
    where x.tenant = a.tenant and x.approval_id = a.approval_id and x.left_at is not distinct from a.decided_at
      and (a.decided_at is not null or h.state = 'none')) w
-- A soft shared limit stops only tasks that requested another mode, each at its own limit. Where no task is in mode
-- approval any more no one is asked.
cross join lateral (
    select min(case when a.task = '' and p.shared_mode <> 'soft' then p.shared_tokens else p.limit_tokens end)
               filter (where p.mode <> 'soft') as limit_tokens,
           min(case when a.task = '' and p.shared_mode <> 'soft' then p.shared_nano else p.limit_nano end)
               filter (where p.mode <> 'soft') as limit_nano,
           max(ledger_reserve(p.limit_tokens, p.mode, p.last_answer)) as reserve_tokens,
           max(ledger_reserve(p.limit_nano, p.mode, p.last_answer)) as reserve_nano,
           bool_or(p.mode = 'approval' and ledger_window_start(p.win, p.zone, n.at) = a.window_start) as current
    from unnest(w.tasks) t cross join lateral ledger_policies(a.tenant, array[a.scope_id], t, $6) p) p
cross join lateral (
    select jsonb_agg(jsonb_build_object(
        'key', x.key, 'task_id', x.task_id, 'agent_id', x.agent_id, 'submitter', x.submitter, 'submitted_by', x.submitted_by,
        'vouched', x.vouched, 'ask', jsonb_build_array(x.tokens, x.nano), 'since', x.since, 'path', to_jsonb(x.path))
        order by x.since, x.key) as waiters
    from approval_waiters x
    join holds h on h.tenant = x.tenant and h.key = x.key
    where ($8 or d.decisions <> '[]') and x.tenant = a.tenant and x.approval_id = a.approval_id
      and x.left_at is not distinct from a.decided_at and (a.decided_at is not null or h.state = 'none')) l
order by a.created_at desc, a.approval_id desc;

-- name: due
-- The requests whose deadlines passed first.
select tenant, approval_id from approvals where state = 'pending' and deadline <= coalesce($2, clock_timestamp())
order by deadline, approval_id limit $1;

-- name: pending
-- The next requests by deadline, after the one with deadline $3 and id $4. The first condition is the one that an index has.
select tenant, approval_id, deadline, coalesce($2, clock_timestamp()) as now from approvals
where state = 'pending' and deadline >= $3 and (deadline, approval_id) > ($3, $4) order by deadline, approval_id limit $1;

-- name: find_decision
select digest, answer from decisions where tenant = $1 and decision_id = $2;

-- name: granted_alone
-- What a person has granted on the scope of a request in its window without a second one, as far as it is in force.
-- What raised the limit that a task requested for itself is no grant of the scope.
select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano
from approvals a join grants g on g.tenant = a.tenant and g.scope_id = a.scope_id and g.window_start = a.window_start
where a.tenant = $1 and a.approval_id = $2 and a.task = '' and g.approval_id is not null and g.granted_by = $3
  and g.ended_at is null and (g.until is null or g.until > coalesce($4, now()))
  and not exists (select from decisions d where d.tenant = g.tenant and d.approval_id = g.approval_id
                  and d.choice = 'approve' and d.approver <> g.granted_by);

-- name: tightened
-- Whether a grant without a decision would undo what an admin tightened: the limit was lowered while the request ($2) waited,
-- or freezes, on whichever scopes, stop every call that waits. $1 tenant, $3 defaults. An entry of a lowered limit has one scope.
select not exists (
    select from approval_waiters w
    join holds h on h.tenant = w.tenant and h.key = w.key and h.state = 'none'
    where w.tenant = a.tenant and w.approval_id = a.approval_id and w.left_at is null
      and not exists (
          select from ledger_policies(a.tenant, array(
              select s.scope_id from unnest(w.path) x (name)
              cross join lateral (select * from scopes t
                                  where t.tenant = a.tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s),
              w.task_id, $3) p
          where p.frozen)
) or exists (
    select from journal j
    where j.tenant = a.tenant and j.kind = 'limit_lowered' and j.scope_ids[1] = a.scope_id and j.window_starts[1] = a.window_start
      and j.at > a.created_at)
from approvals a where a.tenant = $1 and a.approval_id = $2;

-- name: insert_decision
-- Returns no row if the id is bound to a decision on another scope, which the lock held here does not cover.
insert into decisions select d.* from jsonb_populate_record(null::decisions, $2) d where d.tenant = $1
on conflict do nothing returning decision_id;

-- name: ask
update approvals set asked_tokens = $3, asked_nano = $4 where tenant = $1 and approval_id = $2;

-- name: leave
update approval_waiters set left_at = $4 where tenant = $1 and approval_id = $2 and key = $3 and left_at is null;

-- name: waiting
select w.approval_id from approval_waiters w join approvals a on a.tenant = w.tenant and a.approval_id = w.approval_id
where w.tenant = $1 and w.key = $2 and ($3 or w.workflow_id is null) and w.left_at is null and a.state = 'pending'
order by w.approval_id;

-- name: waiting_of_task
select distinct w.key from approval_waiters w join approvals a on a.tenant = w.tenant and a.approval_id = w.approval_id
where w.tenant = $1 and w.task_id = $2 and ($3::text is null or w.agent_id = $3) and w.left_at is null and a.state = 'pending';

-- name: close
with closed as (
    update approvals set state = $3, granted_tokens = $4, granted_nano = $5, decided_at = $6 where tenant = $1 and approval_id = $2
), gone as (
    update approval_waiters set left_at = $6 where tenant = $1 and approval_id = $2 and left_at is null returning workflow_id
)
select distinct workflow_id from gone where workflow_id is not null;

-- name: grant
select ledger_grant(a.tenant, a.scope_id, a.window_start, $3, $4, $5, a.approval_id, $6, $7, $8)
from approvals a where a.tenant = $1 and a.approval_id = $2;

-- name: grant_task
-- Raises the limit that a task requested for itself; for other tasks the scope stays as it was.
update policies p set limit_tokens = p.limit_tokens + $3, limit_nano_usd = p.limit_nano_usd + $4, updated_by = $5, updated_at = $6
from approvals a where a.tenant = $1 and a.approval_id = $2 and p.tenant = a.tenant and p.scope_id = a.scope_id and p.task = a.task;

-- name: put_event
-- $4 cause, $5 actor or null, $6 how many people still have to approve, $7 the decision or null.
select put_event(a.tenant, 'approval', s.kind || ':' || s.id, p_at => $3, p_window_start => a.window_start, p_data => jsonb_build_object(
    'approval_id', a.approval_id, 'state', a.state, 'cause', $4::text, 'asked', event_amount(a.asked_tokens, a.asked_nano),
    'given', event_amount(a.granted_tokens, a.granted_nano), 'deadline', a.deadline, 'by', $5::text, 'decisions_needed', $6::integer,
    'decision', $7::jsonb, 'waiting', (
        select coalesce(jsonb_agg(jsonb_build_object('task_id', w.task_id, 'agent_id', w.agent_id)), '[]')
        from (select distinct x.task_id, x.agent_id from approval_waiters x
              where x.tenant = a.tenant and x.approval_id = a.approval_id and x.left_at is null and x.task_id <> ''
              order by 1, 2 limit 5) w)))
from approvals a join scopes s on s.tenant = a.tenant and s.scope_id = a.scope_id where a.tenant = $1 and a.approval_id = $2;
