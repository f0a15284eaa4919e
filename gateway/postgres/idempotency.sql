-- name: claim
-- Waits for another transaction that claims the same key; returns no row if that one was first. An expired answer is
-- replaced.
insert into answers as a (tenant, key_id, key_digest, digest) values ($1, $2, $3, $4)
on conflict (tenant, key_id, key_digest) do update set digest = excluded.digest, answer = null, created_at = now()
where a.created_at < now() - $5::interval
returning true;
-- name: find
select digest, answer from answers
where tenant = $1 and key_id = $2 and key_digest = $3 and created_at >= now() - $4::interval;
-- name: store
update answers set answer = $4 where tenant = $1 and key_id = $2 and key_digest = $3;
-- name: sweep
delete from answers a using (select tenant, key_id, key_digest from answers where created_at < now() - $1::interval limit $2) o
where a.tenant = o.tenant and a.key_id = o.key_id and a.key_digest = o.key_digest;
