-- Reminders and escalations: each once per request, before its deadline.

-- name: due
-- $1 at most, $2 now or null.
select a.tenant, a.approval_id
from approvals a cross join lateral (select a.deadline - coalesce($2, clock_timestamp()) as left) l
where a.state = 'pending' and l.left > interval '0'
  and (a.reminded_at is null and l.left <= (a.rules ->> 'remind_s')::int * interval '1 second'
       or a.escalated_at is null and l.left <= (a.rules ->> 'escalate_s')::int * interval '1 second')
order by a.deadline limit $1;

-- name: mark
-- Under the lock of the scope; returns what is due now.
update approvals a set reminded_at = coalesce(a.reminded_at, d.reminded_at), escalated_at = coalesce(a.escalated_at, d.escalated_at)
from (select approval_id, reminded_at is null and reminds as remind, escalated_at is null and escalates as escalate,
             case when reminds then $3::timestamptz end as reminded_at, case when escalates then $3::timestamptz end as escalated_at
      from (select *, coalesce(deadline - $3 <= (rules ->> 'remind_s')::int * interval '1 second', false) as reminds,
                   coalesce(deadline - $3 <= (rules ->> 'escalate_s')::int * interval '1 second', false) as escalates
            from approvals where tenant = $1 and approval_id = $2 and state = 'pending' and deadline > $3) x) d
where a.tenant = $1 and a.approval_id = d.approval_id and (d.remind or d.escalate)
returning d.remind, d.escalate;
