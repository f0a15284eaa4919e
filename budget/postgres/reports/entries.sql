-- name: plans
-- The best plan depends on the filters that are set: no generic plan is used.
set local plan_cache_mode = force_custom_plan;

-- name: list
-- Entries of a tenant, newest first. $2 scope, $3 kind, $4 hold, $5 task, $6 since, $7 until, $8 before this entry, $9
-- page size.
select e.*, calendar_start(e.window_start) as began, s.kind || ':' || s.id as scope, h.key, h.path, h.model, h.task
from entries e
join scopes s on s.tenant = e.tenant and s.scope_id = e.scope_id
left join holds h on h.tenant = e.tenant and h.hold_id = e.hold_id
where e.tenant = $1
  and ($2::text is null or e.scope_id = (select x.scope_id from scopes x
          where x.tenant = $1 and x.kind = kind_of($2) and x.id = id_of($2)))
  and ($3::text is null or e.kind = $3)
  and ($4::bigint is null or e.hold_id = $4)
  and ($5::text is null or e.hold_id = any (array(
          select t.hold_id from entries t join scopes x on x.tenant = t.tenant and x.scope_id = t.scope_id
          where t.tenant = $1 and x.kind = 'task' and x.id = $5 and t.kind = 'hold')))
  and ($6::timestamptz is null or e.at >= $6) and ($7::timestamptz is null or e.at < $7)
  and ($8::bigint is null or e.entry_id < $8)
order by e.entry_id desc limit $9;
