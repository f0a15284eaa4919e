-- name: create
insert into keys (key_id, tenant, name, role, digest, created_by)
values ($1, $2, $3, $4, $5, $6)
on conflict (tenant, name) where revoked_at is null do nothing
returning key_id, tenant, name, role, created_by, created_at, revoked_by, revoked_at;
-- name: find
select key_id, tenant, name, role from keys where digest = $1 and revoked_at is null;
-- name: list
select key_id, tenant, name, role, created_by, created_at, revoked_by, revoked_at
from keys where tenant = $1 order by created_at, key_id;
-- name: revoke
update keys set revoked_at = coalesce(revoked_at, now()), revoked_by = coalesce(revoked_by, $3)
where tenant = $1 and key_id = $2
returning key_id, tenant, name, role, created_by, created_at, revoked_by, revoked_at;
-- name: revoke_name
update keys set revoked_at = now(), revoked_by = $3 where tenant = $1 and name = $2 and revoked_at is null;
