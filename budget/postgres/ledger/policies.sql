-- name: set_policies
select scope, before, after from ledger_set_policies($1, $2, $3, $4, $5, $6, $7, $8, $9);
-- name: budgets
-- Budgets of scopes, by name or in pages. $1 tenant, $2 scopes or null, $3 kind or null, $4 minimum ratio or null, $5 after
-- this scope_id, $6 page size, $7 defaults, $8 now, $9 the task whose request applies, or null: the task that a scope
-- belongs to.
select * from ledger_budgets($1, $9, $7, $8, case
    when $2::text[] is not null then array(
        select c.scope_id from unnest($2) n (name)
        cross join lateral (select * from scopes t where t.tenant = $1 and t.kind = kind_of(n.name) and t.id = id_of(n.name) offset 0) c)
    when $4::numeric is null then array(
        select s.scope_id from scopes s where s.tenant = $1 and s.scope_id > $5 and ($3::text is null or s.kind = $3)
        order by s.scope_id limit $6)
    else array(
        select s.scope_id from scopes s
        left join (select p.scope_id, min(p.limit_tokens) as tokens, min(p.limit_nano_usd) as nano
                   from policies p where p.tenant = $1 group by p.scope_id) p on p.scope_id = s.scope_id
        left join templated_policies t on t.tenant = $1 and t.scope_id = s.scope_id
        left join (select b.scope_id, max(b.spent_tokens + b.held_tokens) as tokens, max(b.spent_nano + b.held_nano) as nano
                   from balances b where b.tenant = $1 group by b.scope_id) b on b.scope_id = s.scope_id
        cross join lateral (select $7::jsonb -> s.kind as v offset 0) d
        where s.tenant = $1 and s.scope_id > $5 and ($3::text is null or s.kind = $3)
          and (coalesce(b.tokens, 0) >= $4 * least(p.tokens, t.limit_tokens, (d.v ->> 'limit_tokens')::bigint)
            or coalesce(b.nano, 0) >= $4 * least(p.nano, t.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint)))
    end) b
where $4 is null
   or (b.spent_tokens + b.held_tokens >= $4 * (b.limit_tokens + b.granted_tokens)) is true
   or (b.spent_nano + b.held_nano >= $4 * (b.limit_nano + b.granted_nano)) is true
order by b.scope_id limit $6;
-- name: window
-- The window of an unused scope: $1 window, $2 time zone, $3 now.
select calendar_start(w.start) as window_start, ledger_window_end($1, $2, w.start) as window_end
from (select ledger_window_start($1, $2, coalesce($3, clock_timestamp())) as start) w;
-- name: room_returns
-- When an ask that did not fit a scope fits it by itself: at the end of its window, or when enough has fallen out of a
-- rolling one; null: never, as where it exceeds the whole limit, less the reserve of last calls: grants end with the window.
-- What was asked of an earlier window ($9; null: of the current one) does not move to another.
-- $1 tenant, $2 kind, $3 id, $4 task, $5 tokens, $6 nano-dollars, $7 defaults, $8 now.
select case when calendar_start(w.start) <> $9 then null
            when rolling_length(w.start) is not null then ledger_room_returns(b, l.tokens, l.nano, $5, $6)
            -- Where the limit is 0 no tokens fit, not even an addition of zero.
            when greatest($5, 1) > l.tokens or ($6 > 0 and $6 > l.nano) then null
            else ledger_window_end(e.win, e.zone, w.start) end
from scopes s
cross join lateral ledger_policies(s.tenant, array[s.scope_id], $4, $7) e
cross join lateral (select e.limit_tokens - ledger_reserve(e.limit_tokens, e.mode, e.last_answer) as tokens,
                           e.limit_nano - ledger_reserve(e.limit_nano, e.mode, e.last_answer) as nano) l
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
-- What templates give scopes that have not been used, in their order: $1 tenant, $2 kinds, $3 ids.
select m.fields as template, m.sources
from unnest($2::text[], $3::text[]) with ordinality x (kind, id, ord)
cross join lateral merged_templates($1, x.kind, x.id) m
order by x.ord;
-- name: lock_documents
-- One document of a tenant is applied at a time.
select pg_advisory_xact_lock(hashtextextended('policies of ' || $1, 0));
-- name: add_scopes
-- In the order in which asks do. $2 scopes.
insert into scopes (tenant, kind, id) select $1, kind_of(n), id_of(n) from unnest($2::text[]) n order by 2, 3 on conflict do nothing;
-- name: lock_templates
select pg_advisory_xact_lock(template_lock($1));
-- name: lock_scopes
-- Locks scopes that are named ($2) or that a pattern ($3) matches, as approvals do before they lock balances; returns them.
select s.scope_id from scopes s
where s.tenant = $1 and ((s.kind, s.id) in (select kind_of(n), id_of(n) from unnest($2::text[]) n)
                         or exists (select from unnest($3::text[]) p where template_matches(p, s.kind, s.id)))
order by s.scope_id for no key update;
-- name: lock_balances
-- Locks the balances of scopes ($2) in the order in which calls do.
select from balances b where b.tenant = $1 and b.scope_id = any ($2) order by b.scope_id, b.window_start for update;
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
