-- name: record
insert into changes (tenant, by, key_id, action, target, before, after) values ($1, $2, $3, $4, $5, $6, $7);
-- name: list
-- Newest first. $1 tenant, $2 before this change, $3 target, $4 by, $5 action, $6 from, $7 to, $8 page size.
select change_id, at, by, key_id, action, target, before, after from changes
where tenant = $1 and ($2::bigint is null or change_id < $2) and ($3::text is null or target = $3)
  and ($4::text is null or by = $4) and ($5::text is null or action = $5)
  and ($6::timestamptz is null or at >= $6) and ($7::timestamptz is null or at < $7)
order by change_id desc limit $8;
