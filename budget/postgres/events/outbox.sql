-- name: put
insert into outbox (workflow_id, signal, payload, created_at, next_at)
select $1, $2, $3, n.at, n.at from (select coalesce($4, clock_timestamp()) as at) n;

-- name: claim
-- Due messages that no other process has claimed; due again at the end of the lease ($2), in case the claimer dies.
update outbox o set tries = o.tries + 1, next_at = coalesce($3, clock_timestamp()) + $2
where o.outbox_id in (
    select x.outbox_id from outbox x where x.sent_at is null and x.next_at <= coalesce($3, clock_timestamp())
    order by x.outbox_id limit $1 for update skip locked)
returning o.outbox_id, o.workflow_id, o.signal, o.payload, o.tries;

-- name: sent
update outbox set sent_at = coalesce($2, clock_timestamp()) where outbox_id = $1;

-- name: forget
-- Considers the $2 oldest sent messages.
with oldest as materialized (
    select outbox_id, sent_at from outbox where sent_at is not null order by outbox_id limit $2)
delete from outbox x using oldest o where x.outbox_id = o.outbox_id and o.sent_at < coalesce($3, clock_timestamp()) - $1::interval;

-- name: failed
update outbox set next_at = coalesce($3, clock_timestamp()) + $2 where outbox_id = $1;
-- name: holds
select exists (select from outbox where workflow_id = $1 and sent_at is null);
