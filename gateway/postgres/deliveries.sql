-- name: enabled
select * from webhooks where enabled;

-- name: cursor
select position from webhook_cursor;

-- name: add
-- One delivery for each webhook and event, even if several processes create it.
insert into deliveries (webhook_id, tenant, position, message_id, payload)
select n.webhook_id, w.tenant, n.position, n.message_id, n.payload
from unnest($1::text[], $2::bigint[], $3::text[], $4::jsonb[]) n (webhook_id, position, message_id, payload)
join webhooks w on w.webhook_id = n.webhook_id
on conflict (webhook_id, position) do nothing;

-- name: advance
insert into webhook_cursor (position) values ($1)
on conflict (only_row) do update set position = greatest(webhook_cursor.position, excluded.position);

-- name: test
insert into deliveries (webhook_id, tenant, message_id, payload)
select webhook_id, tenant, $3, $4 from webhooks where tenant = $1 and webhook_id = $2 returning *;

-- name: end_disabled
-- Due deliveries of disabled webhooks, except tests.
update deliveries d set state = 'failed', error = 'disabled', ended_at = clock_timestamp()
from webhooks w
where w.webhook_id = d.webhook_id and not w.enabled and d.position is not null
  and d.state = 'pending' and d.next_at <= clock_timestamp();

-- name: claim
-- The next due delivery of each webhook for which this process has none in progress ($2), with at most $3 of one tenant in
-- progress. Tenants with the fewest come first. Due again after a lease ($4), in case the process dies. Tests are sent to
-- disabled webhooks too.
with busy as (select tenant, count(*) as sending from webhooks where webhook_id = any ($2::text[]) group by tenant),
due as (
    select x.delivery_id, x.next_at,
           coalesce(b.sending, 0) + row_number() over (partition by h.tenant order by x.next_at, x.delivery_id) as place
    from webhooks h left join busy b on b.tenant = h.tenant
    cross join lateral (
        select y.delivery_id, y.next_at from deliveries y
        where y.webhook_id = h.webhook_id and y.state = 'pending' and y.next_at <= clock_timestamp()
          and (h.enabled or y.position is null)
        order by y.next_at, y.delivery_id limit 1) x
    where h.webhook_id <> all ($2::text[])),
-- Another process may claim the same ones at the same time: what it holds is skipped, what it has claimed is no longer due.
claimed as materialized (
    select y.delivery_id from deliveries y join due on due.delivery_id = y.delivery_id
    where due.place <= $3 and y.state = 'pending' and y.next_at <= clock_timestamp()
    order by due.place, due.next_at, y.delivery_id limit $1 for update of y skip locked)
update deliveries d set tries = d.tries + 1, next_at = clock_timestamp() + $4::interval
from claimed c, webhooks w
where d.delivery_id = c.delivery_id and w.webhook_id = d.webhook_id
returning d.delivery_id, d.webhook_id, d.tenant, d.message_id, d.payload, d.tries, w.url, w.secret,
          case when w.previous_until > clock_timestamp() then w.previous_secret end as previous_secret;

-- name: delivered
update deliveries set state = 'delivered', status = $2, error = null, duration_ms = $3, ended_at = clock_timestamp()
where delivery_id = $1 and state = 'pending';

-- name: failed
-- Attempted again after $5, or never if $5 is null.
update deliveries set status = $2, duration_ms = $3, error = $4,
    state = case when $5::interval is null then 'failed' else 'pending' end,
    next_at = clock_timestamp() + coalesce($5, '0'), ended_at = case when $5 is null then clock_timestamp() end
where delivery_id = $1 and state = 'pending';

-- name: disable
update webhooks set enabled = false, disabled_reason = $2 where webhook_id = $1 and enabled returning *;

-- name: list
select * from deliveries where tenant = $1 and webhook_id = $2 and ($3::bigint is null or delivery_id < $3)
order by delivery_id desc limit $4;

-- name: redeliver
-- Sends the same message again; a pending delivery only becomes due.
update deliveries set state = 'pending', tries = 0, next_at = clock_timestamp(), ended_at = null
where tenant = $1 and webhook_id = $2 and delivery_id = $3 returning *;

-- name: forget
-- Considers the $2 oldest finished deliveries.
with oldest as materialized (
    select delivery_id, created_at from deliveries where state <> 'pending' order by delivery_id limit $2)
delete from deliveries d using oldest o where d.delivery_id = o.delivery_id and o.created_at < clock_timestamp() - $1::interval;
