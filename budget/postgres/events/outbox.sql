-- name: put
insert into outbox (tenant, workflow_id, signal, payload, created_at, next_at)
select $1, w.id, $3, $4, n.at, n.at from unnest($2::text[]) with ordinality w (id, ord), (select coalesce($5, clock_timestamp()) as at) n
order by w.ord;

-- name: claim
-- Due messages that no other process has claimed; due again at the end of the lease ($2), in case the claimer dies.
with due as materialized (
    select x.tenant, x.outbox_id from outbox x where x.sent_at is null and x.next_at <= coalesce($3, clock_timestamp())
    order by x.outbox_id limit $1 for update skip locked)
update outbox o set tries = o.tries + 1, next_at = coalesce($3, clock_timestamp()) + $2 from due d
where o.tenant = d.tenant and o.outbox_id = d.outbox_id
returning o.tenant, o.outbox_id, o.workflow_id, o.signal, o.payload, o.tries;

-- name: sent
update outbox set sent_at = coalesce($3, clock_timestamp()) where tenant = $1 and outbox_id = $2;

-- name: forget
-- Considers the $2 oldest sent messages.
with oldest as materialized (
    select tenant, outbox_id, sent_at from outbox where sent_at is not null order by sent_at limit $2)
delete from outbox x using oldest o
where x.tenant = o.tenant and x.outbox_id = o.outbox_id and o.sent_at < coalesce($3, clock_timestamp()) - $1::interval;

-- name: failed
update outbox set next_at = coalesce($4, clock_timestamp()) + $3 where tenant = $1 and outbox_id = $2;

-- name: holds
select exists (select from outbox where tenant = $1 and workflow_id = $2 and sent_at is null);
