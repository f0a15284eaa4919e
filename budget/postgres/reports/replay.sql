-- The ledger's history in its order, for replays.

-- name: first
-- The event with which a replay begins; null: there is none. $1 tenant, $2 since.
select min(number) from journal where tenant = $1 and at >= $2;

-- name: page
-- Events in their order. Those of holds count; others count if they are grants; what rolled over is decided anew. A hold
-- comes with what its attempts reported, each of its events with when it was asked for and what it held before. One whose
-- first event is deleted holds nothing. $1 tenant, $2 after this event, $3 up to this one, $4 page size.
with page as materialized (
    select * from journal where tenant = $1 and number > $2 and number <= $3 order by number limit $4
)
select e.number, e.kind, e.at, e.hold_id, coalesce(h.path, array[s.kind || ':' || s.id]) as path, coalesce(h.labels, '{}') as labels,
       coalesce(h.task, '') as task, e.d_spent_tokens, e.d_spent_nano, e.d_granted_tokens, e.d_granted_nano,
       case when b.at is null then 0 else e.d_held_tokens end as d_held_tokens,
       case when b.at is null then 0 else e.d_held_nano end as d_held_nano,
       coalesce(b.at, h.created_at, e.at) as asked_at, coalesce(b.tokens, 0) as had_tokens, coalesce(b.nano, 0) as had_nano,
       not (e.kind = 'hold' and exists (select from attempts a where a.tenant = $1 and a.hold_id = e.hold_id and a.usage ? 'unpriced')) as priced,
       h.model, r.usages, r.charged_nano,
       h.hold_id is not null or (e.kind in ('grant', 'grant_ended') and g.rolled_over is not true) as counts
from page e
left join grants g on g.tenant = $1 and g.grant_id = case when e.kind = 'grant' then e.ref::bigint end
join scopes s on s.tenant = $1 and s.scope_id = e.scope_ids[1]
left join holds h on h.tenant = $1 and h.hold_id = e.hold_id and h.hold_id = any (array(select p.hold_id from page p))
left join lateral (
    select min(j.at) filter (where j.kind = 'hold') as at, sum(j.d_held_tokens) filter (where j.number < e.number)::bigint as tokens,
           sum(j.d_held_nano) filter (where j.number < e.number)::bigint as nano
    from journal j where j.tenant = $1 and j.hold_id = e.hold_id having bool_or(j.kind = 'hold')) b on true
left join lateral (
    select jsonb_agg(a.usage) as usages, sum(a.nano)::bigint as charged_nano from attempts a
    where e.kind = 'hold' and a.tenant = $1 and a.hold_id = e.hold_id and a.state = 'reported') r on true
order by e.number;

-- name: last
select max(number) from journal where tenant = $1;

-- name: learn
-- What the proposed templates give each scope, and what tasks requested for it. $1 tenant, $2 scopes, $3 templates by
-- pattern.
select n.name as scope, m.fields, m.sources, r.requests
from unnest($2::text[]) n (name)
cross join lateral merge_templates($3, kind_of(n.name), id_of(n.name)) m
left join scopes s on s.tenant = $1 and s.kind = kind_of(n.name) and s.id = id_of(n.name)
left join lateral (
    select jsonb_object_agg(p.task, to_jsonb(p)) as requests from policies p
    where p.tenant = $1 and p.scope_id = s.scope_id and p.task <> '') r on true;

-- name: last_used
-- When scopes $2 were last asked for before times $3 and before event $4. Further limits are asked for with their scope.
select n.ord, max(e.at) as at
from unnest($2::text[], $3::timestamptz[]) with ordinality n (name, start, ord)
join scopes s on s.tenant = $1 and s.kind = kind_of(n.name) and s.id = split_part(id_of(n.name), '@', 1)
cross join lateral (
    select m.at from balance_moves m where m.tenant = $1 and m.scope_id = s.scope_id and m.number < $4 and m.kind = 'hold' and m.at < n.start
    union all
    select c.at from closings c where c.tenant = $1 and c.scope_id = s.scope_id and c.at < n.start) e
group by n.ord;

-- name: begin
-- Figures of balances before event $5: of scopes $2 in windows from $3 to $6 (null: open), those of length $4 in sixtieths
-- of it. A charge counts in the calendar window of its hold, and in a rolling one at its own time; holds and grants that have
-- not ended count in rolling ones, too. A further limit has the charges of its scope, and grants of its own. Deleted entries
-- count if all of their balance are in the window. What rolled over is not part of what was granted.
select n.ord, max(e.at) as at, sum(e.spent_tokens)::bigint as spent_tokens, sum(e.spent_nano)::bigint as spent_nano,
       sum(e.held_tokens)::bigint as held_tokens, sum(e.held_nano)::bigint as held_nano,
       sum(e.granted_tokens)::bigint as granted_tokens, sum(e.granted_nano)::bigint as granted_nano,
       r.tokens as carried_tokens, r.nano as carried_nano
from unnest($2::text[], $3::timestamptz[], $4::interval[], $6::timestamptz[]) with ordinality n (name, start, length, until, ord)
cross join lateral (
    select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano
    from scopes o join grants g on g.tenant = o.tenant and g.scope_id = o.scope_id
    where o.tenant = $1 and o.kind = kind_of(n.name) and o.id = id_of(n.name) and g.window_start = n.start and g.rolled_over
      and g.ended_at is null) r
join scopes s on s.tenant = $1 and s.kind = kind_of(n.name) and s.id in (id_of(n.name), split_part(id_of(n.name), '@', 1))
cross join lateral (
    select greatest(m.at, n.start) as at, m.kind in ('grant', 'grant_ended') as grants,
           case when t.at >= n.start then m.d_spent_tokens else 0 end as spent_tokens,
           case when t.at >= n.start then m.d_spent_nano else 0 end as spent_nano,
           case when b.at is null then 0 else m.d_held_tokens end as held_tokens,
           case when b.at is null then 0 else m.d_held_nano end as held_nano, m.d_granted_tokens as granted_tokens, m.d_granted_nano as granted_nano
    from balance_moves m
    left join lateral (
        select j.at from journal j where j.tenant = $1 and j.hold_id = m.hold_id and j.kind = 'hold' offset 0) b on true
    left join holds h on h.tenant = $1 and h.hold_id = m.hold_id
    cross join lateral (select case when n.length is null then coalesce(b.at, h.created_at, m.at) else m.at end as at) t
    left join grants g on g.tenant = $1 and g.grant_id = case when m.kind = 'grant' then m.ref::bigint end
    where m.tenant = $1 and m.scope_id = s.scope_id and m.number < $5 and m.kind <> 'rolled_off'
      and (t.at >= n.start or n.length is not null) and (t.at >= n.until) is not true
      and g.rolled_over is not true
    union all
    select c.at, x.*
    from closings c
    cross join lateral (select coalesce(sum(g.tokens), 0) as tokens, coalesce(sum(g.nano), 0) as nano from grants g
                        where g.tenant = $1 and g.scope_id = c.scope_id and g.window_start = c.window_start and g.rolled_over
                          and g.created_at <= c.at) r
    cross join lateral (values
        (false, c.spent_tokens + c.rolled_tokens, c.spent_nano + c.rolled_nano, 0, 0, 0, 0),
        (true, 0, 0, 0, 0, c.granted_tokens - r.tokens, c.granted_nano - r.nano)) x
    where c.tenant = $1 and c.scope_id = s.scope_id and c.first_at >= n.start and (c.at >= n.until) is not true) e
where s.id = case when e.grants then id_of(n.name) else split_part(id_of(n.name), '@', 1) end
group by n.ord, r.tokens, r.nano, date_bin(n.length / 60, e.at, n.start)
order by max(e.at);
