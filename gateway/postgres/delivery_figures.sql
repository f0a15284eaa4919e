-- name: figures
-- Pending deliveries of all tenants that are going to be sent, webhooks that Purser disabled, and the cursor.
select count(*) as pending, count(*) filter (where d.error is not null) as failing,
       coalesce(extract(epoch from max(clock_timestamp() - d.created_at)), 0)::float8 as oldest_s,
       (select count(*) from webhooks where not enabled and disabled_reason is not null) as disabled,
       coalesce((select position from webhook_cursor), 0) as position, clock_timestamp() as read_at
from deliveries d join webhooks w on w.webhook_id = d.webhook_id
where d.state = 'pending' and (w.enabled or d.position is null);
