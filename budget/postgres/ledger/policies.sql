-- name: set_policy
select ledger_set_policy($1, $2, $3, $4, $5, $6, $7, $8, $9);
-- name: lock_scope
-- Lock order, as everywhere: the scope, then its balances.
with made as (insert into scopes (tenant, kind, id) values ($1, $2, $3) on conflict do nothing)
select scope_id from scopes where tenant = $1 and kind = $2 and id = $3 for no key update;
-- name: stored
-- The fields that a scope's stored policy sets; null: no policy is stored.
select jsonb_strip_nulls(to_jsonb(p) - array['tenant', 'scope_id', 'task', 'sources', 'updated_by', 'updated_at'])
from policies p join scopes s on s.tenant = p.tenant and s.scope_id = p.scope_id and p.task = ''
where p.tenant = $1 and s.kind = $2 and s.id = $3;
-- name: budgets
-- Scopes of a tenant with the rows that their policy resolves from and their balance in the current window.
-- $1 tenant, $2 scopes or null, $3 kind or null, $4 minimum ratio or null, $5 after this scope_id, $6 page size, $7
-- defaults, $8 now, $9 the task whose request applies, or null: the task that a scope belongs to. What a task requests
-- for a scope that others share applies only to its own calls.
select s.scope_id, s.kind || ':' || s.id as scope, to_jsonb(stored) as stored, to_jsonb(request) as request,
       nullif(w.start, '-infinity') as window_start, ledger_window_end(e.win, e.zone, w.start) as window_end,
       coalesce(b.spent_tokens, 0) as spent_tokens, coalesce(b.spent_nano, 0) as spent_nano,
       coalesce(b.held_tokens, 0) as held_tokens, coalesce(b.held_nano, 0) as held_nano,
       coalesce(b.granted_tokens, 0) - o.tokens as granted_tokens, coalesce(b.granted_nano, 0) - o.nano as granted_nano,
       coalesce(b.overrun_tokens, 0) as overrun_tokens, coalesce(b.overrun_nano, 0) as overrun_nano
from scopes s
left join policies stored on stored.tenant = s.tenant and stored.scope_id = s.scope_id and stored.task = ''
left join lateral (
    select p.* from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.task <> ''
      and p.task = coalesce($9, requesting_task(s.kind, s.id))
    order by p.updated_at desc limit 1) request on true
cross join lateral ledger_policies(s.tenant, array[s.scope_id], coalesce(request.task, ''), $7) e
cross join lateral (select ledger_window_start(e.win, e.zone, coalesce($8, clock_timestamp())) as start) w
left join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id and b.window_start = w.start
cross join lateral (
    select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano from grants g
    where g.tenant = s.tenant and g.scope_id = s.scope_id and g.window_start = w.start
      and g.ended_at is null and g.until <= coalesce($8, clock_timestamp())) o
where s.tenant = $1 and s.scope_id > $5
  and ($2::text[] is null or s.scope_id = any (array(
          select c.scope_id from unnest($2) n (name)
          join scopes c on c.tenant = $1 and c.kind = kind_of(n.name) and c.id = id_of(n.name))))
  and ($3::text is null or s.kind = $3)
  and ($4::numeric is null
       or (coalesce(b.spent_tokens + b.held_tokens, 0) >= $4 * (e.limit_tokens + coalesce(b.granted_tokens, 0) - o.tokens)) is true
       or (coalesce(b.spent_nano + b.held_nano, 0) >= $4 * (e.limit_nano + coalesce(b.granted_nano, 0) - o.nano)) is true)
order by s.scope_id limit $6;
-- name: window
-- The window of an unused scope: $1 window, $2 time zone, $3 now.
select nullif(w.start, '-infinity') as window_start, ledger_window_end($1, $2, w.start) as window_end
from (select ledger_window_start($1, $2, coalesce($3, clock_timestamp())) as start) w;
