-- name: record
insert into events (at, tenant, kind, scope, data) values (clock_timestamp(), $1, $2, $3, $4);
