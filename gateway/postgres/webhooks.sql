-- name: lock_tenant
select pg_advisory_xact_lock(hashtextextended('webhooks ' || $1, 0));
-- name: count
select count(*) from webhooks where tenant = $1;
-- name: create
insert into webhooks (webhook_id, tenant, url, kinds, least_threshold, description, enabled, secret, created_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning *;
-- name: list
select * from webhooks where tenant = $1 order by created_at, webhook_id;
-- name: get
select * from webhooks where tenant = $1 and webhook_id = $2;
-- name: lock
select * from webhooks where tenant = $1 and webhook_id = $2 for update;
-- name: change
update webhooks set url = $3, kinds = $4, least_threshold = $5, description = $6, enabled = $7,
    disabled_reason = case when $8 then null else disabled_reason end
where tenant = $1 and webhook_id = $2 returning *;
-- name: rotate
-- Secrets that still sign go on, since receivers may know none of the later ones: the $5 newest, separated by spaces.
update webhooks set secret = $3, previous_until = clock_timestamp() + $4,
    previous_secret = array_to_string((string_to_array(
        concat_ws(' ', secret, case when previous_until > clock_timestamp() then previous_secret end), ' '))[:$5], ' ')
where tenant = $1 and webhook_id = $2 returning *;
-- name: delete
delete from webhooks where tenant = $1 and webhook_id = $2 returning *;
-- name: secrets
select webhook_id, secret, previous_secret, previous_until <= clock_timestamp() as expired
from webhooks order by webhook_id for update;
-- name: renew_secrets
update webhooks set secret = $2, previous_secret = $3 where webhook_id = $1;
