-- name: number
select number_events($1);

-- name: newest
-- From visible rows: the sequence itself is ahead of an uncommitted transaction that assigns positions.
select greatest((select max(position) from events), (select max(position) from forgotten_events), 0);

-- name: newest_forgotten
select coalesce(max(position), 0) from forgotten_events;

-- name: after
-- Events of all tenants.
select position, at, tenant, kind, scope, calendar_start(window_start) as window_start, threshold, data from events
where position > $1 order by position limit $2;

-- name: page
-- Events of one tenant ($1) after $2 and up to $3; of the kinds $4 and the scopes $5 (null: all). A scope includes its
-- further limits, a task its agents.
select position, at, tenant, kind, scope, calendar_start(window_start) as window_start, threshold, data from events
where tenant = $1 and position > $2 and position <= $3 and ($4::text[] is null or kind = any ($4))
  and ($5::text[] is null or scope = any ($5) or split_part(scope, '@', 1) = any ($5)
       or scope like 'agent:%' and 'task:' || requesting_task('agent', id_of(split_part(scope, '@', 1))) = any ($5))
order by position limit $6;

-- name: of
-- Events of the tenants $3 and the kinds $4 after $1 and up to $2.
select position, at, tenant, kind, scope, calendar_start(window_start) as window_start, threshold, data from events
where tenant = any ($3) and position > $1 and position <= $2 and kind = any ($4) order by position limit $5;

-- name: forgotten
select coalesce((select position from forgotten_events where tenant = $1), 0);

-- name: forget
-- Deletes events older than $1 among the $2 oldest, and stores the highest deleted position of each tenant.
with oldest as materialized (
    select tenant, event_id, at from events where position is not null order by position limit $2),
gone as (
    delete from events e using oldest o
    where e.tenant = o.tenant and e.event_id = o.event_id and o.at < clock_timestamp() - $1::interval
    returning e.tenant, e.position
), noted as (
    insert into forgotten_events as f (tenant, position) select tenant, max(position) from gone group by tenant
    on conflict (tenant) do update set position = greatest(f.position, excluded.position)
)
select count(*) from gone;
