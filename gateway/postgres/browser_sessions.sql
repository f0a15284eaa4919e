-- name: add_link
insert into sign_in_links (digest, key_id, expires_at) values ($1, $2, now() + $3) returning expires_at;
-- name: use_link
-- Of two concurrent uses, one waits for the row lock and then finds the link used.
update sign_in_links l set used_at = now() from keys k
where l.digest = $1 and l.used_at is null and l.expires_at > now() and k.key_id = l.key_id and k.revoked_at is null
returning k.key_id, k.tenant, k.name, k.role, k.rate_limit_per_s, k.tags, k.path,
          case when k.expires_at <= now() then k.expires_at end as ended_at;
-- name: open
-- A session ends with its key at the latest.
insert into browser_sessions (session_id, digest, key_id, expires_at)
select $1, $2, k.key_id, least(now() + $4, k.expires_at) from keys k where k.key_id = $3 returning expires_at;
-- name: find
select s.session_id, k.key_id, k.tenant, k.name, k.role, k.rate_limit_per_s, k.tags, k.path,
       case when k.expires_at <= now() then k.expires_at end as ended_at
from browser_sessions s join keys k on k.key_id = s.key_id
where s.digest = $1 and s.ended_at is null and s.expires_at > now() and k.revoked_at is null;
-- name: end
update browser_sessions set ended_at = now() where session_id = $1 and key_id = $2 and ended_at is null returning session_id;
-- name: forget
-- The change log retains a record of deleted sessions.
with links as (delete from sign_in_links where expires_at < now() - interval '1 day')
delete from browser_sessions where expires_at < now() - interval '1 day';
