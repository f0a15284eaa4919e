-- name: hold
select * from ledger_hold($1, $2, $3, $4, $5, $6, $7, $14, $8, $15, $9, $10, $11, $12, $13);
-- name: hold_unpriced
select * from ledger_hold_unpriced($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);
-- name: hold_many
select * from ledger_hold_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);
-- name: settle_many
select * from ledger_settle_many($1, $2, $3, $4, $5, $6, $7, $8);
-- name: start_attempt
select * from ledger_start_attempt($1, $2, $3, $4, $5);
-- name: settle
select * from ledger_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
-- name: settle_unpriced
select * from ledger_settle_unpriced($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
-- name: release
select * from ledger_release($1, $2, $3, $4);
-- name: extend
select * from ledger_extend($1, $2, $3, $4, $5, $6, $7);
-- name: expire
select ledger_expire($1, $2, $3);
-- name: end_scopes
update scopes set ended_at = coalesce($3, clock_timestamp())
where tenant = $1 and (kind, id) in (select kind_of(n), id_of(n) from unnest($2::text[]) n);
-- name: end_grants
select ledger_sweep_grants($1, $2);
