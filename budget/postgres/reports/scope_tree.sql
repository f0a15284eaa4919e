-- The tree of scopes. The parent of a scope is found once, from the path of its latest hold, on first use.

-- name: place
-- $1 tenant, $2 most scopes. A scope without a hold gets its parent from its id, if that names a task. Labels are at the
-- top, and further limits below their scope.
insert into scope_parents (tenant, scope_id, parent_id)
select $1, f.scope_id, case when strpos(f.id, '@') > 0 then base.scope_id
                             when not is_label(f.kind) then coalesce(h.scope_ids[array_position(h.scope_ids, f.scope_id) - 1], t.scope_id) end
from (select s.scope_id, s.kind, s.id from scopes s left join scope_parents p on p.tenant = s.tenant and p.scope_id = s.scope_id
      where s.tenant = $1 and p.scope_id is null order by s.scope_id desc limit $2) f
left join lateral (
    select m.hold_id from balance_moves m where m.tenant = $1 and m.scope_id = f.scope_id and m.hold_id is not null
    order by m.window_start desc, m.last_seq desc, m.seq desc limit 1) e on true
left join holds h on h.tenant = $1 and h.hold_id = e.hold_id
-- One look into the index for each agent: as a plain join, without statistics, this compares every scope with every task.
left join lateral (
    select t.scope_id from scopes t
    where f.kind = 'agent' and t.tenant = $1 and t.kind = 'task' and t.id = requesting_task('agent', f.id) limit 1) t on true
left join lateral (
    select b.scope_id from scopes b
    where strpos(f.id, '@') > 0 and b.tenant = $1 and b.kind = f.kind and b.id = split_part(f.id, '@', 1) limit 1) base on true
where h.hold_id is not null or t.scope_id is not null or base.scope_id is not null
on conflict do nothing;

-- name: children
-- $1 tenant, $2 parent's kind or null for the top, $3 its id, $4 limit.
select s.kind || ':' || s.id as scope, exists (select 1 from scope_parents c where c.tenant = s.tenant and c.parent_id = s.scope_id) as has_children
from scopes s left join scope_parents p on p.tenant = s.tenant and p.scope_id = s.scope_id
where s.tenant = $1
  and p.parent_id is not distinct from (select o.scope_id from scopes o where o.tenant = $1 and o.kind = $2 and o.id = $3)
order by kind_rank(s.kind), s.scope_id desc limit $4;

-- name: find
-- $1 tenant, $2 kind or null, $3 part of an id, $4 limit.
select s.kind || ':' || s.id as scope, false as has_children from scopes s
where s.tenant = $1 and ($2::text is null or s.kind = $2) and strpos(lower(s.id), lower($3)) > 0
order by kind_rank(s.kind), s.scope_id desc limit $4;

-- name: most_used
-- The highest share of a limit first, then what was spent without a limit, by the current window of each scope. Scopes of
-- tasks that have ended come last. $1 tenant, $2 kind or null, $3 part of an id, $4 limit, $5 whether ended ones are left
-- out, $6 defaults by kind, $7 now.
with clock as materialized (
    select coalesce($7, clock_timestamp()) as now
), usual as materialized (
    select d.key as kind, ledger_window_start(d.value ->> 'window', d.value ->> 'timezone', c.now) as start
    from clock c, jsonb_each($6::jsonb) d
), listed as materialized (
    select s.* from scopes s
    where s.tenant = $1 and ($2::text is null or s.kind = $2) and strpos(lower(s.id), lower($3)) > 0 and not ($5 and s.ended_at is not null)
), special as materialized (
    -- The scopes with a window of their own. No calendar window is longer than 32 days.
    select s.scope_id, w.start
    from clock c, listed s cross join lateral ledger_current_window($1, s.scope_id, s.kind, s.id, $6, c.now) w
    where (strpos(s.id, '@') > 0 or s.scope_id in (select o.scope_id from own_windows o where o.tenant = $1))
      and exists (select from balances b where b.tenant = $1 and b.scope_id = s.scope_id
                  and (calendar_start(b.window_start) is null or b.window_start > c.now - interval '32 days'))
)
select s.kind || ':' || s.id as scope, s.ended_at is not null as has_ended
from clock c, listed s
join usual u on u.kind = s.kind
left join special n on n.scope_id = s.scope_id
left join balances b on b.tenant = $1 and b.scope_id = s.scope_id and b.window_start = coalesce(n.start, u.start)
left join lateral ledger_falls_out(case when b.rolls_at <= c.now then b end, c.now) r on true
cross join lateral (
    select b.spent_tokens - coalesce(r.tokens, 0) as spent_tokens, b.spent_nano - coalesce(r.nano, 0) as spent_nano,
           b.limit_tokens + b.granted_tokens as room_tokens, b.limit_nano + b.granted_nano as room_nano offset 0) x
order by s.ended_at is not null,
         greatest(case when room_tokens = 0 then 1 else (x.spent_tokens + b.held_tokens)::float8 / room_tokens end,
                  case when room_nano = 0 then 1 else (x.spent_nano + b.held_nano)::float8 / room_nano end) desc nulls last,
         x.spent_nano desc nulls last, x.spent_tokens desc nulls last, s.scope_id desc limit $4;

-- name: templates
-- Templates of a tenant with the number of scopes that each matches.
select t.pattern, t.fields, (select count(*) from scopes s where s.tenant = t.tenant and template_matches(t.pattern, s.kind, s.id)) as matches
from policy_templates t where t.tenant = $1 order by t.pattern;

-- name: matching
-- The newest scopes that a pattern matches, and the number of all: $1 tenant, $2 pattern, $3 limit.
select s.kind || ':' || s.id as scope, count(*) over () as count from scopes s
where s.tenant = $1 and template_matches($2, s.kind, s.id) order by s.scope_id desc limit $3;

-- name: history
-- About $4 balances of a scope in its latest window, evenly spread over its entries, oldest first, including the last.
select distinct p.last_seq, p.at, p.spent_tokens, p.spent_nano, p.held_tokens, p.held_nano, p.granted_tokens, p.granted_nano,
       p.limit_tokens, p.limit_nano
from (select b.scope_id, b.window_start, b.seq from scopes s join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id
      where s.tenant = $1 and s.kind = $2 and s.id = $3 order by b.window_start desc limit 1) b
cross join lateral (select generate_series(b.seq, 1, -greatest(1, b.seq / $4)) as seq) n
cross join lateral (
    select t.* from postings t where t.tenant = $1 and t.scope_id = b.scope_id and t.window_start = b.window_start and t.last_seq >= n.seq
    order by t.last_seq limit 1) p
order by p.last_seq;
