-- The journal: one row for each event, whichever scopes it concerns, and one for each balance that a call of the ledger
-- changes. An entry is what an event moves on one balance. It has no row of its own: its place in the event, its number on
-- the balance and the balance after it follow from these two tables. So a hold on three scopes writes a row and not three,
-- and in a batch of calls the balances after the last of them are written once.

create table journal (
    tenant         text not null,
    number         bigint generated always as identity,
    at             timestamptz not null,
    kind           text not null check (kind in ('hold', 'top_up', 'settle', 'overrun', 'presumed', 'late', 'correction', 'release',
                   'expire', 'grant', 'grant_ended', 'limit_raised', 'limit_lowered', 'mode_changed', 'rolled_off')),
    hold_id        bigint,
    attempt        integer,
    ref            text,                              -- grant, decision or actor that caused the event
    scope_ids      bigint[] not null,                 -- the balances that it moves, all by the same amounts
    window_starts  timestamptz[] not null,
    seqs           bigint[] not null,                 -- the number of the entry on each balance, from 1 without gaps
    d_spent_tokens bigint not null default 0,
    d_held_tokens  bigint not null default 0,
    d_granted_tokens bigint not null default 0,
    d_overrun_tokens bigint not null default 0,
    d_spent_nano   bigint not null default 0,
    d_held_nano    bigint not null default 0,
    d_granted_nano bigint not null default 0,
    d_overrun_nano bigint not null default 0,
    limits_tokens  bigint[],                          -- as the gate applied them; null: those of the postings
    limits_nano    bigint[],
    modes          text[],
    primary key (tenant, number),
    -- Three digits of the id of an entry are its place in the event.
    check (cardinality(scope_ids) between 1 and 999)
);
create index journal_hold on journal (tenant, hold_id) where hold_id is not null;
-- Events are in the order of time and of their numbers, so a BRIN index finds a range of days, or of numbers of all
-- tenants, and costs a call almost nothing. The number is an expression, because the planner would otherwise read whole
-- ranges of pages for the few events of a posting, which are found by the primary key.
create index journal_at on journal using brin (at, (0 + number)) with (pages_per_range = 32, autosummarize = on);
-- For metrics, which must not read the whole table.
create index journal_of_trouble on journal (tenant, kind, hold_id, attempt) where kind in ('presumed', 'late', 'expire');
-- For approvals, whose requests may be open for long on a scope with very many entries.
create index journal_of_lowered on journal (tenant, (scope_ids[1]), number) where kind = 'limit_lowered';

-- What one call of the ledger posted to a balance: its entries from first_seq to last_seq, whose events are among those from
-- first_number to last_number, and the balance after them. The balance is locked while these numbers are taken, so postings
-- to it have ranges that do not overlap, in the same order.
create table postings (
    tenant         text not null,
    scope_id       bigint not null,
    window_start   timestamptz not null,
    first_seq      bigint not null,
    last_seq       bigint not null,
    first_number   bigint not null,
    last_number    bigint not null,
    at             timestamptz not null,              -- of all its entries
    late           boolean not null,                  -- a late report or a correction, alone in its posting
    spent_tokens   bigint not null,
    held_tokens    bigint not null,
    granted_tokens bigint not null,
    overrun_tokens bigint not null,
    spent_nano     bigint not null,
    held_nano      bigint not null,
    granted_nano   bigint not null,
    overrun_nano   bigint not null,
    limit_tokens   bigint,                            -- as applied by the last gate or policy change
    limit_nano     bigint,
    mode           text not null,
    primary key (tenant, scope_id, window_start, last_seq)
);
create index postings_in_order on postings using brin (last_number) with (pages_per_range = 32, autosummarize = on);
-- Late reports, which fall out of a rolling window with the charge that they replace.
create index postings_late on postings (tenant, scope_id, window_start, last_seq) where late;

-- Nothing that is written here is ever changed. What is deleted belongs to a range of which closings remain.
create function journal_is_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'the journal is append-only: write a correction instead';
end $$;
create trigger journal_append_only before update or truncate on journal
    for each statement execute function journal_is_append_only();
create trigger postings_append_only before update or truncate on postings
    for each statement execute function journal_is_append_only();

create function journal_is_closed() returns trigger language plpgsql as $$
declare
    v_closed bigint := coalesce((select max(r.last_number) from closed_ranges r), 0);
    v_open boolean;
begin
    execute format('select exists (select from deleted d where d.%I > $1)', tg_argv[0]) into v_open using v_closed;
    if v_open then
        raise exception 'the journal is append-only: write a correction instead';
    end if;
    return null;
end $$;
create trigger journal_closed after delete on journal referencing old table as deleted
    for each statement execute function journal_is_closed('number');
create trigger postings_closed after delete on postings referencing old table as deleted
    for each statement execute function journal_is_closed('last_number');

-- The entries without the balances after them. Found by the number, the hold or the time of their event. `gate_…` are the
-- limits of entries whose events have their own, and null with a null mode for others.
create view moves as
select j.tenant, j.number, j.number * 1000 + m.place as entry_id, j.at, m.scope_id, m.window_start, m.seq, j.kind, j.hold_id, j.attempt, j.ref,
       j.d_spent_tokens, j.d_held_tokens, j.d_granted_tokens, j.d_overrun_tokens,
       j.d_spent_nano, j.d_held_nano, j.d_granted_nano, j.d_overrun_nano, m.gate_tokens, m.gate_nano, m.gate_mode
from journal j
cross join lateral unnest(j.scope_ids, j.window_starts, j.seqs, j.limits_tokens, j.limits_nano, j.modes) with ordinality
     m (scope_id, window_start, seq, gate_tokens, gate_nano, gate_mode, place);

-- The same, found by their balance; `last_seq` is that of their posting. The events of a posting are a subquery of its own:
-- the planner takes a range of numbers for a ninth of the journal, and would read all of it instead.
create view balance_moves as
select p.tenant, m.number, m.entry_id, p.at, p.scope_id, p.window_start, m.seq, m.kind, m.hold_id, m.attempt, m.ref,
       m.d_spent_tokens, m.d_held_tokens, m.d_granted_tokens, m.d_overrun_tokens,
       m.d_spent_nano, m.d_held_nano, m.d_granted_nano, m.d_overrun_nano, m.gate_tokens, m.gate_nano, m.gate_mode, p.last_seq
from postings p
cross join lateral (
    select * from moves x where x.tenant = p.tenant and x.scope_id = p.scope_id and x.window_start = p.window_start
                            and x.number between p.first_number and p.last_number offset 0) m;

-- The posting of an entry.
create function ledger_posting(p_tenant text, p_scope bigint, p_window timestamptz, p_seq bigint) returns setof postings
language sql stable rows 1 as $$
    select p.* from postings p where p.tenant = p_tenant and p.scope_id = p_scope and p.window_start = p_window and p.last_seq >= p_seq
    order by p.last_seq limit 1
$$;

-- The limits and the mode that applied to an entry: those of its own event, or of its posting.
create function ledger_limits(p_gate_tokens bigint, p_gate_nano bigint, p_gate_mode text, p postings)
returns table (limit_tokens bigint, limit_nano bigint, mode text) language sql immutable rows 1 as $$
    select case when p_gate_mode is null then p.limit_tokens else p_gate_tokens end,
           case when p_gate_mode is null then p.limit_nano else p_gate_nano end, coalesce(p_gate_mode, p.mode)
$$;

-- The balance after an entry: that of its posting, without what later entries of the posting moved.
create function ledger_after(p postings, p_number bigint)
returns table (spent_tokens bigint, held_tokens bigint, granted_tokens bigint, overrun_tokens bigint,
               spent_nano bigint, held_nano bigint, granted_nano bigint, overrun_nano bigint)
language sql stable rows 1 as $$
    select p.spent_tokens - l.spent_tokens, p.held_tokens - l.held_tokens, p.granted_tokens - l.granted_tokens, p.overrun_tokens - l.overrun_tokens,
           p.spent_nano - l.spent_nano, p.held_nano - l.held_nano, p.granted_nano - l.granted_nano, p.overrun_nano - l.overrun_nano
    from (
        select coalesce(sum(m.d_spent_tokens), 0)::bigint as spent_tokens, coalesce(sum(m.d_held_tokens), 0)::bigint as held_tokens,
               coalesce(sum(m.d_granted_tokens), 0)::bigint as granted_tokens, coalesce(sum(m.d_overrun_tokens), 0)::bigint as overrun_tokens,
               coalesce(sum(m.d_spent_nano), 0)::bigint as spent_nano, coalesce(sum(m.d_held_nano), 0)::bigint as held_nano,
               coalesce(sum(m.d_granted_nano), 0)::bigint as granted_nano, coalesce(sum(m.d_overrun_nano), 0)::bigint as overrun_nano
        from moves m where m.tenant = p.tenant and m.number > p_number and m.number <= p.last_number
                       and m.scope_id = p.scope_id and m.window_start = p.window_start) l
$$;

-- The entries with the balances after them.
create view entries as
select m.*, a.*, l.*
from moves m
cross join lateral ledger_posting(m.tenant, m.scope_id, m.window_start, m.seq) p
cross join lateral ledger_after(p, m.number) a
cross join lateral ledger_limits(m.gate_tokens, m.gate_nano, m.gate_mode, p) l;
