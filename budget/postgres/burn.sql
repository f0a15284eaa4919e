-- name: lock
select pg_try_advisory_xact_lock($1);

-- name: last_look
select max(sampled_at) as at, coalesce($1::timestamptz, now()) as now from balance_sampling;

-- name: sample
-- Samples balances that have changed since their last sample, at most so often ($3) and so many ($4). A balance that was
-- quiet until the last look ($2) gets a sample of that time too, and one that is new a sample of its first entry.
insert into balance_samples (scope_id, window_start, at, spent_tokens, spent_nano)
select x.scope_id, x.window_start, y.* from (
    select b.scope_id, b.window_start, b.spent_tokens, b.spent_nano, l.at as last_at, l.spent_tokens as last_tokens, l.spent_nano as last_nano
    from balances b
    left join lateral (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
                       where s.scope_id = b.scope_id and s.window_start = b.window_start order by s.at desc limit 1) l on true
    where b.updated_at > coalesce($2::timestamptz, '-infinity') - 2 * $3::interval
      and (l.at is null or (l.at <= $1::timestamptz - $3::interval and (l.spent_tokens, l.spent_nano) <> (b.spent_tokens, b.spent_nano)))
    limit $4) x
cross join lateral (
    select $1::timestamptz, x.spent_tokens, x.spent_nano
    union all select $2::timestamptz, x.last_tokens, x.last_nano where x.last_at < $2::timestamptz - $3::interval
    union all select e.at, 0, 0 from entries e
              where x.last_at is null and e.scope_id = x.scope_id and e.window_start = x.window_start and e.seq = 1) y
on conflict do nothing;

-- name: looked
insert into balance_sampling (sampled_at) values ($1) on conflict (one) do update set sampled_at = excluded.sampled_at;

-- name: prune
-- Deletes samples that have a newer one which is old ($1) too. Each balance keeps one, so that one that was quiet for
-- long still has its figure of before. Looks back one day.
delete from balance_samples s using (
    select o.scope_id, o.window_start, o.at from balance_samples o
    join (select scope_id, window_start, max(at) as at from balance_samples
          where at <= $1::timestamptz and at > $1::timestamptz - interval '24 hours' group by 1, 2) n
      on o.scope_id = n.scope_id and o.window_start = n.window_start and o.at < n.at
    limit $2) d
where s.scope_id = d.scope_id and s.window_start = d.window_start and s.at = d.at;

-- name: points
-- Of each scope ($2) in its window ($3): the first entry, and the samples on both sides of an hour ago and a day ago.
select n.name as scope, p.at, p.spent_tokens, p.spent_nano
from unnest($2::text[], $3::timestamptz[]) n (name, window_start)
join scopes c on c.tenant = $1 and c.kind = split_part(n.name, ':', 1) and c.id = substr(n.name, strpos(n.name, ':') + 1)
cross join lateral (
    select e.at, 0::bigint as spent_tokens, 0::bigint as spent_nano from entries e
    where e.scope_id = c.scope_id and e.window_start = n.window_start and e.seq = 1
    union
    select s.at, s.spent_tokens, s.spent_nano from unnest(array[interval '1 hour', interval '24 hours']) a (ago)
    cross join lateral (
        (select t.at, t.spent_tokens, t.spent_nano from balance_samples t
         where t.scope_id = c.scope_id and t.window_start = n.window_start and t.at <= $4::timestamptz - a.ago order by t.at desc limit 1)
        union all
        (select t.at, t.spent_tokens, t.spent_nano from balance_samples t
         where t.scope_id = c.scope_id and t.window_start = n.window_start and t.at > $4::timestamptz - a.ago and t.at < $4 order by t.at limit 1)) s) p
order by 1, p.at, p.spent_tokens, p.spent_nano;

-- name: now
select coalesce($1::timestamptz, now());

-- name: exhausting
-- How many scopes run out within an hour and a day, by kind and mode. $1 defaults by kind, $2 now.
with clock as materialized (
    select coalesce($2::timestamptz, now()) as now
), live as materialized (
    select b.scope_id, b.window_start, b.mode, b.spent_tokens, b.spent_nano,
           b.limit_tokens + b.granted_tokens - b.spent_tokens - b.held_tokens as room_tokens,
           b.limit_nano + b.granted_nano - b.spent_nano - b.held_nano as room_nano
    from balances b, clock c
    where b.updated_at > c.now - interval '24 hours' and (b.limit_tokens is not null or b.limit_nano is not null)
), paced as materialized (
    select l.scope_id, l.window_start, l.mode, c.now, r.lasts
    from live l cross join clock c
    join lateral (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
                  where s.scope_id = l.scope_id and s.window_start = l.window_start order by s.at limit 1) f on f.at <= c.now - interval '60 seconds'
    left join lateral ledger_spent_at(l.scope_id, l.window_start, c.now - interval '1 hour', c.now, l.spent_tokens, l.spent_nano) h on true
    -- Where more is left than was ever spent, a day at its own rate is not enough.
    left join lateral ledger_spent_at(l.scope_id, l.window_start,
        case when l.room_tokens <= l.spent_tokens or l.room_nano <= l.spent_nano then c.now - interval '24 hours' end,
        c.now, l.spent_tokens, l.spent_nano) d on true
    cross join lateral (values
        (l.room_tokens, l.spent_tokens - coalesce(h.tokens, f.spent_tokens), least(interval '1 hour', c.now - f.at)),
        (l.room_tokens, l.spent_tokens - coalesce(d.tokens, f.spent_tokens), least(interval '24 hours', c.now - f.at)),
        (l.room_nano, l.spent_nano - coalesce(h.nano, f.spent_nano), least(interval '1 hour', c.now - f.at)),
        (l.room_nano, l.spent_nano - coalesce(d.nano, f.spent_nano), least(interval '24 hours', c.now - f.at))) v (room, burnt, over)
    cross join lateral (select div(v.room * extract(epoch from v.over) * 1000000, nullif(greatest(v.burnt, 0), 0)) as lasts) r
    where v.room > 0 and r.lasts <= 86400000000
), soon as (
    select scope_id, window_start, mode, now, min(lasts) as lasts from paced group by 1, 2, 3, 4
)
select s.kind, x.mode, count(*) filter (where x.lasts <= 3600000000) as within_hour, count(*) as within_day
from soon x
join scopes s on s.scope_id = x.scope_id
left join lateral (
    select p.task from policies p where p.scope_id = s.scope_id and p.task <> ''
      and p.task = case s.kind when 'task' then s.id when 'agent' then split_part(s.id, '/', 1) else p.task end
    order by p.updated_at desc limit 1) request on true
cross join lateral ledger_policies(array[s.scope_id], coalesce(request.task, ''), $1) e
cross join lateral (select ledger_window_start(e.win, e.zone, x.now) as start) w
where x.window_start = w.start
  and (e.win = 'lifetime' or x.lasts < extract(epoch from case e.win
           when 'hour' then w.start + interval '1 hour'
           else ledger_window_start(e.win, e.zone, w.start + case e.win when 'day' then interval '36 hours' else interval '32 days' end) end - x.now) * 1000000)
group by 1, 2;
