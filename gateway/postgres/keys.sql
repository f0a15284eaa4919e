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
-- name: set_path
update keys set path = $3 where tenant = $1 and key_id = $2
returning key_id, tenant, name, role, created_by, created_at, expires_at, rate_limit_per_s, tags, path, revoked_by, revoked_at;
-- name: named
select key_id from keys where tenant = $1 and name = $2 and revoked_at is null and ($3 or expires_at <= now());
