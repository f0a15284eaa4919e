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
select s.scope_id, s.kind || ':' || s.id as scope, to_jsonb(stored) as stored, to_jsonb(template) as template, to_jsonb(request) as request,
       calendar_start(w.start) as window_start, ledger_window_end(e.win, e.zone, w.start) as window_end,
       coalesce(n.spent_tokens, 0) as spent_tokens, coalesce(n.spent_nano, 0) as spent_nano,
       coalesce(b.held_tokens, 0) as held_tokens, coalesce(b.held_nano, 0) as held_nano,
       coalesce(b.granted_tokens, 0) - o.tokens + coalesce(v.tokens, 0) as granted_tokens,
       coalesce(b.granted_nano, 0) - o.nano + coalesce(v.nano, 0) as granted_nano,
       coalesce(b.overrun_tokens, 0) - coalesce(r.overrun_tokens, 0) as overrun_tokens,
       coalesce(b.overrun_nano, 0) - coalesce(r.overrun_nano, 0) as overrun_nano,
       (select jsonb_object_agg(c.outcome, c.calls) from shadow_counts c
        where c.tenant = s.tenant and c.scope_id = s.scope_id and c.window_start = w.start) as would
from scopes s
left join policies stored on stored.tenant = s.tenant and stored.scope_id = s.scope_id and stored.task = ''
left join templated_policies template on template.tenant = s.tenant and template.scope_id = s.scope_id
left join lateral (
    select p.* from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.task <> ''
      and p.task = coalesce($9, requesting_task(s.kind, s.id))
    order by p.updated_at desc limit 1) request on true
cross join lateral ledger_policies(s.tenant, array[s.scope_id], coalesce(request.task, ''), $7) e
cross join lateral (select ledger_window_start(e.win, e.zone, coalesce($8, clock_timestamp())) as start) w
left join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id and b.window_start = w.start
left join lateral (
    select o.* from ledger_falls_out(b, coalesce($8, clock_timestamp())) o where b.rolls_at <= coalesce($8, clock_timestamp())) r on true
cross join lateral (select b.spent_tokens - coalesce(r.tokens, 0) as spent_tokens, b.spent_nano - coalesce(r.nano, 0) as spent_nano) n
cross join lateral (
    select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano from grants g
    where g.tenant = s.tenant and g.scope_id = s.scope_id and g.window_start = w.start
      and g.ended_at is null and g.until <= coalesce($8, clock_timestamp())) o
-- What the first ask of the window will roll over.
left join lateral (
    select l.* from ledger_left_over(s.tenant, s.scope_id, e.win, e.zone, w.start, e.limit_tokens, e.limit_nano, e.rollover) l
    where e.rollover is not null and b.rolled_over_at is null and calendar_start(w.start) is not null) v on true
where s.tenant = $1 and s.scope_id > $5
  and ($2::text[] is null or s.scope_id = any (array(
          select c.scope_id from unnest($2) n (name)
          join scopes c on c.tenant = $1 and c.kind = kind_of(n.name) and c.id = id_of(n.name))))
  and ($3::text is null or s.kind = $3)
  and ($4::numeric is null
       or (coalesce(n.spent_tokens + b.held_tokens, 0) >= $4 * (e.limit_tokens + coalesce(b.granted_tokens, 0) - o.tokens)) is true
       or (coalesce(n.spent_nano + b.held_nano, 0) >= $4 * (e.limit_nano + coalesce(b.granted_nano, 0) - o.nano)) is true)
order by s.scope_id limit $6;
-- name: window
-- The window of an unused scope: $1 window, $2 time zone, $3 now.
select calendar_start(w.start) as window_start, ledger_window_end($1, $2, w.start) as window_end
from (select ledger_window_start($1, $2, coalesce($3, clock_timestamp())) as start) w;
-- name: room_returns
-- When an ask that did not fit a scope fits it by itself: at the end of its window, or when enough has fallen out of a
-- rolling one. $1 tenant, $2 kind, $3 id, $4 task, $5 tokens, $6 nano-dollars, $7 defaults, $8 now.
select case when rolling_length(w.start) is null then ledger_window_end(e.win, e.zone, w.start)
            else ledger_room_returns(b, e.limit_tokens, e.limit_nano, $5, $6) end
from scopes s
cross join lateral ledger_policies(s.tenant, array[s.scope_id], $4, $7) e
cross join lateral (select ledger_window_start(e.win, e.zone, coalesce($8, clock_timestamp())) as start) w
left join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id and b.window_start = w.start
where s.tenant = $1 and s.kind = $2 and s.id = $3;
-- name: have_ladders
-- A template may match scopes that have not been used yet. $1 tenant.
select exists (select from policies where tenant = $1 and ladder is not null)
    or exists (select from policy_templates where tenant = $1 and fields ? 'ladder');
-- name: further
-- The further limits of a scope that have a policy. $1 tenant, $2 scope.
select name from ledger_expand($1, array[$2], '{}') where strpos(name, '@') > 0 order by ord;
-- name: templates_of
-- What templates give a scope that has not been used: $1 tenant, $2 kind, $3 id.
select fields as template, sources from merged_templates($1, $2, $3);
-- name: lock_templates
select pg_advisory_xact_lock(template_lock($1));
-- name: set_template
select ledger_set_template($1, $2, $3, $4, $5, $6);
-- name: every_policy
-- All stored policies and templates of a tenant, by name.
select s.kind || ':' || s.id as name, f.fields
from policies p
join scopes s on s.tenant = p.tenant and s.scope_id = p.scope_id
cross join lateral (
    select jsonb_strip_nulls(to_jsonb(p) - array['tenant', 'scope_id', 'task', 'sources', 'updated_by', 'updated_at']) as fields) f
where p.tenant = $1 and p.task = '' and f.fields <> '{}'
union all
select t.pattern, t.fields from policy_templates t where t.tenant = $1
order by name;
