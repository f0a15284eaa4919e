-- name: create
insert into keys (key_id, tenant, name, role, digest, created_by, expires_at, rate_limit_per_s, tags, path)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (tenant, name) where revoked_at is null do nothing
returning key_id, tenant, name, role, created_by, created_at, expires_at, rate_limit_per_s, tags, path, revoked_by, revoked_at;
-- name: find
select key_id, tenant, name, role, rate_limit_per_s, tags, path, case when expires_at <= now() then expires_at end as ended_at,
    extract(epoch from expires_at - now())::double precision as lasts_s
from keys where digest = $1 and revoked_at is null;
-- name: signer
select name, role, digest from keys
where tenant = $1 and key_id = $2 and revoked_at is null and (expires_at is null or expires_at > now());
-- name: list
select key_id, tenant, name, role, created_by, created_at, expires_at, rate_limit_per_s, tags, path, revoked_by, revoked_at
from keys where tenant = $1 order by created_at, key_id;
-- name: lock
select key_id, tenant, name, role, created_by, created_at, expires_at, rate_limit_per_s, tags, path, revoked_by, revoked_at
from keys where tenant = $1 and key_id = $2 for update;
-- name: revoke
update keys set revoked_at = now(), revoked_by = $3 where tenant = $1 and key_id = $2
returning key_id, tenant, name, role, created_by, created_at, expires_at, rate_limit_per_s, tags, path, revoked_by, revoked_at;
-- name: change
-- Null leaves a field as it is; only $6 removes the end.
update keys set role = coalesce($3, role), path = coalesce($4, path),
    expires_at = case when $6 then null else coalesce($5, expires_at) end
where tenant = $1 and key_id = $2
returning key_id, tenant, name, role, created_by, created_at, expires_at, rate_limit_per_s, tags, path, revoked_by, revoked_at;
-- name: tenants
-- All that have keys or have called, each found by a step in an index, however many keys and calls there are.
with recursive named as (
    select least((select min(tenant) from keys), (select min(tenant) from hold_facts)) as tenant
    union all
    select least((select min(tenant) from keys where tenant > n.tenant), (select min(tenant) from hold_facts where tenant > n.tenant))
    from named n where n.tenant is not null
)
select n.tenant, k.live_keys, k.admin_keys,
    (select h.created_at from hold_facts h where h.tenant = n.tenant order by h.hold_id desc limit 1) as last_call_at
from named n
cross join lateral (
    select count(*) as live_keys, count(*) filter (where role = 'admin') as admin_keys from keys
    where tenant = n.tenant and revoked_at is null and (expires_at is null or expires_at > now())) k
where n.tenant is not null order by n.tenant;
-- name: named
select key_id from keys where tenant = $1 and name = $2 and revoked_at is null and ($3 or expires_at <= now()) for update;
