-- name: figures
-- Pending deliveries of all tenants, and webhooks that were disabled because of failures.
select count(*) as pending, count(*) filter (where error is not null) as failing,
       coalesce(extract(epoch from max(clock_timestamp() - created_at)), 0)::float8 as oldest_s,
       (select count(*) from webhooks where not enabled and disabled_reason is not null) as disabled
from deliveries where state = 'pending';
