-- name: hold
select * from ledger_hold($1, $2, $3, $4, $5, $6, $7, $8, $16, $9, $17, $10, $11, $12, $13, $14, $15);
-- name: hold_unpriced
select * from ledger_hold_unpriced($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);
-- name: hold_and_start
select h.*, s.outcome as start, s.state as start_state, s.attempt, s.expires_at as started_until
from ledger_hold($1, $2, $3, $4, $5, $6, $7, $8, $16, $9, $17, $10, $11, $12, $13, $14, $15) h
cross join lateral ledger_start_attempt($1, case when h.outcome in ('held', 'repeat') then h.hold_id end, 1, $13, $14) s;
-- name: hold_and_start_unpriced
select h.*, s.outcome as start, s.state as start_state, s.attempt, s.expires_at as started_until
from ledger_hold_unpriced($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) h
cross join lateral ledger_start_attempt($1, case when h.outcome in ('held', 'repeat') then h.hold_id end, 1, $13, $14) s;
-- name: hold_many
select * from ledger_hold_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);
-- name: hold_and_start_many
with made as materialized (select * from ledger_hold_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)),
     started as (select ledger_start_made($1, array(select m.hold_id from made m where m.place = any ($17))))
select made.* from made, started;
-- name: count_shadow
select ledger_count_shadow($1, $2, $3, $4, $5, $6);
-- name: settle_many
select * from ledger_settle_many($1, $2, $3, $4, $5, $6, $7, $8, $9);
-- name: start_attempt
select * from ledger_start_attempt($1, $2, $3, $6, $7, $4, $5);
-- name: start_attempt_many
select * from ledger_start_many($1, $2, $3, $4, $5, $6, $7);
-- name: last_attempt
select h.attempts, case when a.state = 'started' then coalesce($3, clock_timestamp()) - a.started_at end as age
from holds h left join attempts a on a.tenant = h.tenant and a.hold_id = h.hold_id and a.attempt = h.attempts
where h.tenant = $1 and h.hold_id = $2;
-- name: release_many
select * from ledger_release_many($1, $2, $3, $4);
-- name: extend_many
select * from ledger_extend_many($1, $2, $3, $4, $5, $6, $7);
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
-- Locks in the order in which calls do.
update scopes set ended_at = coalesce($3, clock_timestamp())
where tenant = $1 and scope_id = any (array(
    select s.scope_id from scopes s
    where s.tenant = $1 and (s.kind, s.id) in (
        select kind_of(n), id_of(n) from unnest($2::text[]) n
        union all
        select f.kind, f.id from unnest($2::text[]) n
        join scopes f on f.tenant = $1 and f.kind = kind_of(n) and split_part(f.id, '@', 1) = id_of(n) and strpos(f.id, '@') > 0)
    order by s.scope_id for update));
-- name: end_grants
select ledger_sweep_grants($1, $2);
