-- name: lock
select pg_try_advisory_xact_lock($1);

-- name: last_sampling
select max(sampled_at) as at, coalesce($1::timestamptz, now()) as now from balance_sampling;

-- name: sample
-- Samples balances that have changed since their last sample, at intervals of at least $3 and at most $4 balances. A
-- balance that had been idle until the last sampling ($2) gets a sample at that time too, and a new one a sample at its
-- first entry, where nothing was spent: at the same moment ($1) that one counts, so that the first charge does too.
insert into balance_samples (tenant, scope_id, window_start, at, spent_tokens, spent_nano)
select x.tenant, x.scope_id, x.window_start, y.* from (
    select b.tenant, b.scope_id, b.window_start, b.spent_tokens, b.spent_nano, l.at as last_at,
           l.spent_tokens as last_tokens, l.spent_nano as last_nano
    from balances b
    left join lateral (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
                       where s.tenant = b.tenant and s.scope_id = b.scope_id and s.window_start = b.window_start order by s.at desc limit 1) l on true
    where not b.dormant and b.updated_at > coalesce($2::timestamptz, '-infinity') - 2 * $3::interval
      and (l.at is null or (l.at <= $1::timestamptz - $3::interval and (l.spent_tokens, l.spent_nano) <> (b.spent_tokens, b.spent_nano)))
    limit $4) x
cross join lateral (
    select $1::timestamptz, x.spent_tokens, x.spent_nano
    where x.last_at is not null or ledger_began(x.tenant, x.scope_id, x.window_start) is distinct from $1
    union all select $2::timestamptz, x.last_tokens, x.last_nano where x.last_at < $2::timestamptz - $3::interval
    union all select p.at, 0, 0 from (select ledger_began(x.tenant, x.scope_id, x.window_start) as at) p
              where x.last_at is null and p.at is not null) y
on conflict do nothing;

-- name: set_last_sampling
insert into balance_sampling (sampled_at) values ($1) on conflict (one) do update set sampled_at = excluded.sampled_at;

-- name: prune
-- Deletes samples that have a newer one which is older than $1 too. One sample per balance remains, so that a balance
-- that was idle for long still has its earlier figure. Considers the last day only.
delete from balance_samples s using (
    select o.tenant, o.scope_id, o.window_start, o.at from balance_samples o
    join (select tenant, scope_id, window_start, max(at) as at from balance_samples
          where at <= $1::timestamptz and at > $1::timestamptz - interval '24 hours' group by 1, 2, 3) n
      on o.tenant = n.tenant and o.scope_id = n.scope_id and o.window_start = n.window_start and o.at < n.at
    limit $2) d
where s.tenant = d.tenant and s.scope_id = d.scope_id and s.window_start = d.window_start and s.at = d.at;

-- name: points
-- For each scope ($2) in its window ($3): the first entry, and the samples before and after one hour ago and one day
-- ago. $4 now.
select n.name as scope, p.at, p.spent_tokens, p.spent_nano, t.now
from (select coalesce($4::timestamptz, now()) as now) t
cross join unnest($2::text[], $3::timestamptz[]) n (name, window_start)
cross join lateral (select * from scopes s where s.tenant = $1 and s.kind = kind_of(n.name) and s.id = id_of(n.name) offset 0) c
cross join lateral (
    (select b.at, 0::bigint as spent_tokens, 0::bigint as spent_nano
     from (select ledger_began(c.tenant, c.scope_id, n.window_start) as at) b where b.at is not null)
    union
    select s.at, s.spent_tokens, s.spent_nano from unnest(array[interval '1 hour', interval '24 hours']) a (ago)
    cross join lateral (
        (select b.at, b.spent_tokens, b.spent_nano from balance_samples b
         where b.tenant = c.tenant and b.scope_id = c.scope_id and b.window_start = n.window_start
           and b.at <= t.now - a.ago order by b.at desc limit 1)
        union all
        (select b.at, b.spent_tokens, b.spent_nano from balance_samples b
         where b.tenant = c.tenant and b.scope_id = c.scope_id and b.window_start = n.window_start
           and b.at > t.now - a.ago and b.at < t.now order by b.at limit 1)) s) p
order by 1, p.at, p.spent_tokens, p.spent_nano;

-- name: exhausting
-- Number of scopes that are exhausted within an hour and a day, by kind and mode. $1 defaults by kind, $2 now.
select x.kind, x.mode, count(*) filter (where x.lasts <= 3600000000) as within_hour, count(*) as within_day
from ledger_exhausting(null, $1, $2) x group by 1, 2;

-- name: soon
-- The scopes of a tenant that are exhausted soonest. $1 tenant, $2 within, $3 kind or null, $4 part of the id, $5
-- limit, $6 defaults, $7 now.
select x.kind, x.id from ledger_exhausting($1, $6, $7) x
where x.lasts <= extract(epoch from $2::interval) * 1000000 and ($3::text is null or x.kind = $3)
  and strpos(lower(x.id), lower($4)) > 0
order by x.lasts, x.kind, x.id limit $5;
