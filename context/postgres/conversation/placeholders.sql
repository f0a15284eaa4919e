-- name: add_key
insert into redaction_keys (tenant, session_id, key)
select tenant, session_id, $3 from sessions where tenant = $1 and session_id = $2
on conflict do nothing;

-- name: key
select key from redaction_keys where tenant = $1 and session_id = $2;

-- name: known
select label, number, digest from placeholders where tenant = $1 and session_id = $2;

-- name: add
-- In key order, so that concurrent inserts wait for each other without a deadlock.
insert into placeholders (tenant, session_id, label, number, digest)
select $1, $2, new.label, new.number, new.digest
from unnest($3::text[], $4::integer[], $5::bytea[]) as new (label, number, digest)
order by label, number
on conflict do nothing;

-- name: count_stored
select count(*) from placeholders join unnest($3::text[], $4::integer[], $5::bytea[]) as wanted (label, number, digest)
using (label, number, digest) where tenant = $1 and session_id = $2;
