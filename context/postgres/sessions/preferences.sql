-- name: of_user
select fields, version, changed_by, changed_at from user_settings
where tenant = $1 and user_id = $2 order by version desc limit 1;

-- name: of_session
select fields, version, changed_by, changed_at from session_settings
where tenant = $1 and session_id = $2 order by version desc limit 1;

-- name: lock_user
-- Serializes changes of a user's settings, so that versions are consecutive.
select pg_advisory_xact_lock(hashtextextended('settings ' || $1 || ' ' || $2, 0));

-- name: add_to_user
insert into user_settings (tenant, user_id, version, fields, changed_by) values ($1, $2, $3, $4, $5)
returning fields, version, changed_by, changed_at;

-- name: add_to_session
insert into session_settings (tenant, session_id, version, fields, changed_by) values ($1, $2, $3, $4, $5)
returning fields, version, changed_by, changed_at;

-- name: clear_of_user
update user_settings set fields = '{}' where tenant = $1 and user_id = $2 and fields::text <> '{}';

-- name: personal
select u.fields as user_fields, u.version as user_version, u.changed_by as user_by, u.changed_at as user_at,
       o.fields as own_fields, o.version as own_version, o.changed_by as own_by, o.changed_at as own_at
from (select $1::text as tenant, $2::text as session_id) as asked
left join sessions s on s.tenant = asked.tenant and s.session_id = asked.session_id
left join lateral (
    select * from user_settings where tenant = $1 and user_id = s.user_id order by version desc limit 1) u on true
left join lateral (
    select * from session_settings where tenant = $1 and session_id = $2 order by version desc limit 1) o on true;

-- name: personal_at
select u.fields as user_fields, u.version as user_version, u.changed_by as user_by, u.changed_at as user_at,
       o.fields as own_fields, o.version as own_version, o.changed_by as own_by, o.changed_at as own_at
from (select $1::text as tenant, $2::text as session_id) as asked
left join sessions s on s.tenant = asked.tenant and s.session_id = asked.session_id
left join user_settings u on u.tenant = $1 and u.user_id = s.user_id and u.version = $3
left join session_settings o on o.tenant = $1 and o.session_id = $2 and o.version = $4;
