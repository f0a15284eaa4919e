-- name: get
select user_id, next_seq - 1 as last_seq, created_at from sessions where tenant = $1 and session_id = $2;

-- name: lock
select user_id, next_seq - 1 as last_seq, created_at from sessions where tenant = $1 and session_id = $2 for update;

-- name: ensure
insert into sessions (tenant, session_id) values ($1, $2) on conflict do nothing;

-- name: deleted
select deleted_by, reason, deleted_at from deleted_sessions where tenant = $1 and session_id = $2;

-- name: user
select user_id from sessions where tenant = $1 and session_id = $2;
