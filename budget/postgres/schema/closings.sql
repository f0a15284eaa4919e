-- What stays of ranges of the journal that retention has deleted (off by default): the record of the ranges, the balances
-- after them, and the events of holds that go on after them. With these each balance can be recomputed as before.

-- The ranges that were deleted: the first ones of checkpoints, in order. `total` combines the hashes of all rows of `closings` and
-- `carried_events` as of then, so that a later change of any of them shows, without a copy of those that moved on.
create table closed_ranges (
    checkpoint_id bigint primary key,
    last_number   bigint not null,
    last_at       timestamptz not null,               -- of all deleted events: what came later is complete
    presumed      bigint not null,                    -- deleted events of these kinds in all, for metrics
    late          bigint not null,
    expired       bigint not null,
    total         bit(256) not null,
    previous      bytea not null,                     -- digest of the previous range; empty for the first
    digest        bytea not null,
    closed_at     timestamptz not null
);

create function closed_ranges_are_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'the record of deleted ranges is append-only';
end $$;
create trigger closed_ranges_append_only before update or delete or truncate on closed_ranges
    for each statement execute function closed_ranges_are_append_only();

-- Balances after their last deleted entry. No foreign key to the balance: its check would wait for calls, and they for it.
create table closings (
    tenant         text not null,
    scope_id       bigint not null,
    window_start   timestamptz not null,
    first_at       timestamptz not null,              -- of the first entry
    at             timestamptz not null,              -- the latest of the deleted entries
    seq            bigint not null,                   -- of the last deleted entry
    number         bigint not null,                   -- of its event
    posted_seq     bigint not null,                   -- the last entry of the last deleted posting; that of `seq` may remain
    spent_tokens   bigint not null,
    held_tokens    bigint not null,
    granted_tokens bigint not null,
    overrun_tokens bigint not null,
    spent_nano     bigint not null,
    held_nano      bigint not null,
    granted_nano   bigint not null,
    overrun_nano   bigint not null,
    limit_tokens   bigint,                            -- of the last deleted posting, as is the mode
    limit_nano     bigint,
    mode           text not null,
    rolled_tokens  bigint not null,                   -- what deleted entries posted as rolled off
    rolled_nano    bigint not null,
    gone_tokens    bigint not null,                   -- charges of holds that were deleted
    gone_nano      bigint not null,
    grants_made    bigint not null,                   -- deleted entries of grants
    grants_ended   bigint not null,
    primary key (tenant, scope_id, window_start)
);

-- Deleted events of holds of which other events remain, by kind and attempt (0: none).
create table carried_events (
    tenant           text not null,
    hold_id          bigint not null,
    kind             text not null,
    attempt          integer not null,
    events           bigint not null,
    d_spent_tokens   bigint not null,
    d_held_tokens    bigint not null,
    d_overrun_tokens bigint not null,
    d_spent_nano     bigint not null,
    d_held_nano      bigint not null,
    d_overrun_nano   bigint not null,
    seen             jsonb,                           -- of the event that made the hold: the gate's view, which its entries gave
    primary key (tenant, hold_id, kind, attempt)
);

-- All that holds have moved, on each of their scopes.
create view hold_moves as
select j.tenant, j.hold_id, j.kind, j.attempt, 1::bigint as events, j.d_spent_tokens, j.d_held_tokens, j.d_overrun_tokens,
       j.d_spent_nano, j.d_held_nano, j.d_overrun_nano
from journal j where j.hold_id is not null
union all
select c.tenant, c.hold_id, c.kind, nullif(c.attempt, 0), c.events, c.d_spent_tokens, c.d_held_tokens, c.d_overrun_tokens,
       c.d_spent_nano, c.d_held_nano, c.d_overrun_nano
from carried_events c;

-- The entries, of which the deleted ones of a balance together are one, of kind `closing`.
create view counted_moves as
select m.tenant, m.number, m.entry_id, m.at, m.scope_id, m.window_start, m.seq, m.kind, m.hold_id, m.attempt,
       m.d_spent_tokens, m.d_held_tokens, m.d_granted_tokens, m.d_overrun_tokens,
       m.d_spent_nano, m.d_held_nano, m.d_granted_nano, m.d_overrun_nano, m.gate_tokens, m.gate_nano, m.gate_mode
from moves m
union all
select c.tenant, c.number, null, c.at, c.scope_id, c.window_start, c.seq, 'closing', null, null,
       c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano,
       null, null, null
from closings c;

-- When a balance had its first entry; null: it has none.
create function ledger_began(p_tenant text, p_scope bigint, p_window timestamptz) returns timestamptz language sql stable as $$
    select coalesce(
        (select c.first_at from closings c where c.tenant = p_tenant and c.scope_id = p_scope and c.window_start = p_window),
        (select p.at from postings p where p.tenant = p_tenant and p.scope_id = p_scope and p.window_start = p_window order by p.last_seq limit 1))
$$;

-- Hashes of rows, whose columns are named: adding one later changes none. Their text depends on settings of the session, which
-- the callers set.
create function closing_hash(c closings) returns bit(256) language sql stable as $$
    select ('x' || encode(sha256(convert_to(row(
        c.tenant, c.scope_id, c.window_start, c.first_at, c.at, c.seq, c.number, c.posted_seq,
        c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano,
        c.limit_tokens, c.limit_nano, c.mode, c.rolled_tokens, c.rolled_nano,
        c.gone_tokens, c.gone_nano, c.grants_made, c.grants_ended)::text, 'UTF8')), 'hex'))::bit(256)
$$;

create function carried_hash(c carried_events) returns bit(256) language sql stable as $$
    select ('x' || encode(sha256(convert_to(row(
        c.tenant, c.hold_id, c.kind, c.attempt, c.events, c.d_spent_tokens, c.d_held_tokens, c.d_overrun_tokens,
        c.d_spent_nano, c.d_held_nano, c.d_overrun_nano, c.seen)::text, 'UTF8')), 'hex'))::bit(256)
$$;

-- The hashes of all of them, combined: their order does not matter.
create function closings_total() returns bit(256) language sql stable set timezone = 'UTC' set datestyle = 'ISO' as $$
    select coalesce(bit_xor(h.hash), repeat('0', 256)::bit(256))
    from (select closing_hash(c) from closings c union all select carried_hash(e) from carried_events e) h (hash)
$$;

create function closed_digest(r closed_ranges, p_checkpoint bytea, p_previous bytea) returns bytea
language sql stable set timezone = 'UTC' set datestyle = 'ISO' as $$
    select sha256(p_previous || convert_to(row(
        r.checkpoint_id, p_checkpoint, r.last_number, r.last_at, r.presumed, r.late, r.expired, r.total, r.closed_at)::text, 'UTF8'))
$$;
