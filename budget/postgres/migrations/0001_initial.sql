-- The schema of release 0.1.0, frozen: later changes are revisions of their own.

-- Names of scopes, `kind:id`, and their kinds.

create function kind_of(p_scope text) returns text language sql immutable parallel safe
return split_part(p_scope, ':', 1);

create function id_of(p_scope text) returns text language sql immutable parallel safe
return substr(p_scope, strpos(p_scope, ':') + 1);

-- The position of a kind, outermost first, then labels; null if there is no such kind. A test compares the list with `Kind`.
create function kind_rank(p_kind text) returns integer language sql immutable parallel safe
return array_position(array['tenant', 'user', 'session', 'task', 'agent', 'tag', 'model', 'tool'], p_kind);

-- Whether scopes of this kind are labels: no level of a path, and joined only where they have a policy.
create function is_label(p_kind text) returns boolean language sql immutable parallel safe
return kind_rank(p_kind) >= kind_rank('tag');

-- Whether several tasks may draw on a scope of this kind.
create function is_shared(p_kind text) returns boolean language sql immutable parallel safe
return p_kind not in ('task', 'agent');

-- The task whose request applies to a scope by default: for a task itself, for an agent its task.
create function requesting_task(p_kind text, p_id text) returns text language sql immutable parallel safe
return case p_kind when 'task' then p_id when 'agent' then split_part(p_id, '/', 1) end;

-- Windows: the time span to which a limit applies.

-- Whether a window has this name: a calendar window, or the length of a rolling one, from an hour to 31 days. A test
-- compares it with `read_window`.
create function is_window(p_window text) returns boolean language sql immutable parallel safe
return p_window in ('lifetime', 'hour', 'day', 'week', 'month')
    or (p_window ~ '^[1-9][0-9]{0,2}[hd]$' and replace(replace(p_window, 'd', ' days'), 'h', ' hours')::interval <= interval '31 days');

-- The start of a calendar window; null for a lifetime and for a rolling window, whose start is only a key.
create function calendar_start(p_start timestamptz) returns timestamptz language sql immutable parallel safe
return case when p_start >= timestamptz '1000-01-01 00:00:00+00' then p_start end;

-- The length of a rolling window, from the key of its balance; null for other windows.
create function rolling_length(p_start timestamptz) returns interval language sql immutable parallel safe
return case when p_start > '-infinity' and p_start < timestamptz '1000-01-01 00:00:00+00'
            then make_interval(secs => extract(epoch from p_start - timestamptz '0100-01-01 00:00:00+00')::float8) end;

-- First instant of the window that contains p_at; for a rolling window a key from which its length follows: the year 100
-- and the length. An hour is elapsed time, so a repeated hour is two windows; a day
-- begins at the first of two midnights where the clock is set back over midnight.
create function ledger_window_start(p_window text, p_zone text, p_at timestamptz) returns timestamptz language plpgsql stable as $$
declare
    v_midnight timestamp;
    v_start timestamptz;
    v_first timestamptz;
begin
    if p_window = 'lifetime' then
        return '-infinity';
    elsif left(p_window, 1) between '1' and '9' then
        return timestamptz '0100-01-01 00:00:00+00'
             + make_interval(hours => left(p_window, -1)::integer * case right(p_window, 1) when 'd' then 24 else 1 end);
    elsif p_window = 'hour' then
        return p_at - (p_at at time zone p_zone - date_trunc('hour', p_at at time zone p_zone));
    end if;
    v_midnight := date_trunc(p_window, p_at at time zone p_zone);
    v_start := v_midnight at time zone p_zone;
    -- The same midnight at the offset of the day before; of two midnights Postgres returns the later one.
    v_first := v_start - ((v_start - interval '24 hours') at time zone p_zone - (v_midnight - interval '24 hours'));
    return case when v_first < v_start and v_first at time zone p_zone = v_midnight then v_first else v_start end;
end $$;

-- End (exclusive) of the window that begins at p_start; null for a lifetime and for a rolling window. As for its start, the time zone data of
-- Postgres applies: that of Python may be of another version.
create function ledger_window_end(p_window text, p_zone text, p_start timestamptz) returns timestamptz language sql stable as $$
    select case when calendar_start(p_start) is null then null when p_window = 'hour' then p_start + interval '1 hour'
           else ledger_window_start(p_window, p_zone, p_start + case p_window when 'day' then interval '36 hours' when 'week' then interval '10 days'
                                                             else interval '32 days' end) end
$$;

-- The ledger: scopes, policies, balances, holds, attempts, grants, approvals and the outbox; its journal is in journal.sql.
-- Balances are a cache, recomputable from the entries. Lock order everywhere: new scopes by kind and id, hold row, then
-- balances by (scope_id, window_start).
-- Every table begins with its tenant, as does every key and foreign key: Postgres may be distributed by tenant, and rows
-- of two tenants never meet. Ids are unique within a tenant. Indexes of sweeps over all tenants begin with a time.
-- A lifetime window starts at -infinity and a rolling one at a key in the year 100, so every balance has a comparable key.

create type amount as (tokens bigint, nano bigint);
-- What the gate applies to the calls of all tasks on a scope.
create type applied_policy as (scope_id bigint, limit_tokens bigint, limit_nano bigint, mode text);

create table scopes (
    tenant   text not null,
    scope_id bigint generated always as identity,
    kind     text not null check (kind_rank(kind) is not null),
    id       text not null,
    ended_at timestamptz,                             -- when the task or agent ended; metrics omit it from then on
    primary key (tenant, scope_id)
);
-- Partial, although it has every row: without statistics the planner would take it instead of the primary key, and read
-- all scopes of the tenant to find one by its id.
create unique index scopes_name on scopes (tenant, kind, id) where kind is not null;
-- The further limits of a scope: few, or none.
create index scopes_further on scopes (tenant, kind, split_part(id, '@', 1)) where strpos(id, '@') > 0;

-- The parent of each scope in the path of a hold; null: top level. Derived from holds, never read by the gate.
create table scope_parents (
    tenant    text not null,
    scope_id  bigint not null,
    parent_id bigint,
    primary key (tenant, scope_id),
    foreign key (tenant, scope_id) references scopes,
    foreign key (tenant, parent_id) references scopes
);
create index scope_parents_of on scope_parents (tenant, parent_id);

-- Fields stored for a scope by PUT (task = ''), and fields that one task requested (task = its id).
create table policies (
    tenant         text not null,
    scope_id       bigint not null,
    task           text not null default '',
    limit_tokens   bigint check (limit_tokens >= 0),
    limit_nano_usd bigint check (limit_nano_usd >= 0),
    mode           text check (mode in ('hard', 'soft', 'approval')),
    "window"       text check (is_window("window")),
    timezone       text,
    warn_at        numeric[],
    backpressure   jsonb,
    approval       jsonb,
    frozen         boolean,
    shadow         boolean,
    learned_holds  numeric check (learned_holds >= 0 and learned_holds < 1),
    last_answer    numeric check (last_answer >= 0 and last_answer < 1),
    rollover       numeric check (rollover > 0 and rollover <= 1),
    ladder         jsonb,
    sources        jsonb not null default '{}',
    updated_by     text not null,
    updated_at     timestamptz not null,
    primary key (tenant, scope_id, task),
    foreign key (tenant, scope_id) references scopes
);
create index policies_with_ladder on policies (tenant) where ladder is not null;

create table balances (
    tenant         text not null,
    scope_id       bigint not null,
    window_start   timestamptz not null,
    spent_tokens   bigint not null default 0,
    held_tokens    bigint not null default 0 check (held_tokens >= 0),
    granted_tokens bigint not null default 0 check (granted_tokens >= 0),
    overrun_tokens bigint not null default 0,
    spent_nano     bigint not null default 0,
    held_nano      bigint not null default 0 check (held_nano >= 0),
    granted_nano   bigint not null default 0 check (granted_nano >= 0),
    overrun_nano   bigint not null default 0,
    seq            bigint not null default 0,         -- number of the last entry
    limit_tokens   bigint,                            -- as applied by the last gate or policy change
    limit_nano     bigint,
    mode           text not null default 'soft',
    warned_at      numeric[] not null default '{}',   -- thresholds whose event has fired; one that is added later fires too
    grants_end_at  timestamptz,                       -- earliest end of a live grant
    rolls_at       timestamptz,                       -- rolling window: when charges may fall out of it next; null for others
    rolled_to      bigint not null default 0,         -- the last entry whose charge has fallen out
    rolled_seq     bigint not null default 0,         -- the number of the last entry when that was posted
    rolled_tokens  bigint not null default 0,         -- what has fallen out in all
    rolled_nano    bigint not null default 0,
    rolled_over_at timestamptz,                       -- calendar window: when it was decided what rolls over into it
    updated_at     timestamptz not null,
    primary key (tenant, scope_id, window_start),
    foreign key (tenant, scope_id) references scopes
) with (fillfactor = 60);

create table holds (
    tenant        text not null,
    hold_id       bigint generated always as identity,
    key           text not null,
    digest        bytea,                              -- null: the key was closed before its first use
    path          text[] not null default '{}',
    labels        text[] not null default '{}',       -- all that the call has, with or without a policy
    task          text not null default '',
    model         text,
    scope_ids     bigint[] not null default '{}',     -- in the order of ledger_expand
    window_starts timestamptz[] not null default '{}',
    state         text not null check (state in ('none', 'held', 'settled', 'released', 'expired')),
    asked_tokens  bigint not null default 0,          -- the estimate that a full attempt needs
    asked_nano    bigint not null default 0,
    tokens        bigint not null default 0,          -- held now
    nano          bigint not null default 0,
    charged_tokens bigint not null default 0,
    charged_nano  bigint not null default 0,
    attempts      integer not null default 0,
    views         jsonb,                              -- the gate's views, from which the answer is repeated
    would         jsonb,                              -- what policies in shadow would have done, by scope, once it is counted
    lease         interval not null default '120 seconds',
    expires_at    timestamptz,
    created_at    timestamptz not null,
    ended_at      timestamptz,
    primary key (tenant, hold_id),
    check ((state = 'held') or (tokens = 0 and nano = 0))
) with (fillfactor = 70);
-- Partial for the same reason.
create unique index holds_key on holds (tenant, key) where key is not null;
create index holds_open on holds (expires_at) where state = 'held';

-- What policies in shadow would have done with the calls that were admitted.
create table shadow_counts (
    tenant       text not null,
    scope_id     bigint not null,
    window_start timestamptz not null,
    outcome      text not null check (outcome in ('refuse', 'ask', 'wait', 'delay')),
    calls        bigint not null,
    tokens       bigint not null,                     -- what they held
    nano         bigint not null,
    delay_ms     bigint not null,                     -- total of the delays
    primary key (tenant, scope_id, window_start, outcome),
    foreign key (tenant, scope_id) references scopes
);

-- No foreign key to the hold: who writes an attempt has locked its hold, and the audit looks for it.
create table attempts (
    tenant        text not null,
    hold_id       bigint not null,
    attempt       integer not null check (attempt >= 1),
    state         text not null check (state in ('started', 'presumed', 'reported')),
    tokens        bigint not null default 0,          -- estimate while unreported, then the charge
    nano          bigint not null default 0,
    most_tokens   bigint,                             -- the most that its request can use; null: what was held for it
    most_nano     bigint,
    overrun_tokens bigint not null default 0,
    overrun_nano  bigint not null default 0,
    late          boolean not null default false,
    usage         jsonb,
    digest        bytea,                              -- of the report
    started_at    timestamptz not null,
    reported_at   timestamptz,
    primary key (tenant, hold_id, attempt)
);

create table grants (
    tenant       text not null,
    grant_id     bigint generated always as identity,
    scope_id     bigint not null,
    window_start timestamptz not null,
    tokens       bigint not null check (tokens >= 0),
    nano         bigint not null check (nano >= 0),
    until        timestamptz,
    approval_id  text,
    decision_id  text,
    granted_by   text not null,
    created_at   timestamptz not null,
    ended_at     timestamptz,
    rolled_over  boolean not null default false,      -- from the window before
    primary key (tenant, grant_id),
    foreign key (tenant, scope_id) references scopes
);
create index grants_live on grants (tenant, scope_id, window_start) where ended_at is null;
create index grants_ending on grants (until) where ended_at is null and until is not null;

-- Asks that wait for open holds to end. A waiter has a place in the queue from its second ask until it stops asking.
create table waiters (
    tenant     text not null,
    hold_id    bigint not null,
    scope_id   bigint not null,
    since      timestamptz not null,
    last_asked timestamptz not null,
    asks       integer not null default 1,
    primary key (tenant, hold_id, scope_id),
    foreign key (tenant, hold_id) references holds
);
create index waiters_scope on waiters (tenant, scope_id, since);

create table approvals (
    tenant        text not null,
    approval_id   text not null,
    scope_id      bigint not null,
    window_start  timestamptz not null,
    task          text not null default '',           -- set: only the limit that this task requested for itself is short
    state         text not null check (state in ('pending', 'approved', 'denied', 'expired', 'withdrawn')),
    asked_tokens  bigint not null,                    -- total shortage of the waiting asks
    asked_nano    bigint not null,
    rules         jsonb not null,
    granted_tokens bigint not null default 0,
    granted_nano  bigint not null default 0,
    created_at    timestamptz not null,
    deadline      timestamptz not null,
    decided_at    timestamptz,
    reminded_at   timestamptz,
    escalated_at  timestamptz,                        -- since then deputies may decide
    primary key (tenant, approval_id),
    foreign key (tenant, scope_id) references scopes
);
create unique index approvals_one_pending on approvals (tenant, scope_id, window_start, task) where state = 'pending';
create index approvals_listed on approvals (tenant, state, created_at);
create index approvals_due on approvals (deadline) where state = 'pending';

-- The holds that wait for an approval, and the workflows to signal.
create table approval_waiters (
    tenant      text not null,
    approval_id text not null,
    key         text not null,
    task_id     text not null default '',
    agent_id    text not null default '',
    submitter   text,
    workflow_id text,
    tokens      bigint not null,
    nano        bigint not null,
    since       timestamptz not null,
    left_at     timestamptz,
    path        text[] not null default '{}',         -- the scopes of the ask, outermost first
    submitted_by text,                                -- name of the key that submitted the task: barred from deciding too
    vouched     boolean not null default false,       -- whether that key may act for others, so that `submitter` is barred from deciding
    primary key (tenant, approval_id, key),
    foreign key (tenant, approval_id) references approvals
);
create index approval_waiters_task on approval_waiters (tenant, task_id) where left_at is null;
create index approval_waiters_of_task on approval_waiters (tenant, task_id);
create index approval_waiters_key on approval_waiters (tenant, key);

create table decisions (
    tenant         text not null,
    decision_id    text not null,
    approval_id    text not null,
    digest         bytea not null,
    choice         text not null check (choice in ('approve', 'deny')),
    approver       text not null,
    identity       text not null check (identity in ('key', 'asserted', 'sweeper')),
    grant_tokens   bigint not null,
    grant_nano_usd bigint not null,
    until          timestamptz,
    note           text,
    ticket_url     text,
    at             timestamptz not null,
    answer         jsonb not null,
    primary key (tenant, decision_id),
    foreign key (tenant, approval_id) references approvals
);
create index decisions_approval on decisions (tenant, approval_id);

-- Signals to workflows, written in the transaction that causes them.
create table outbox (
    tenant      text not null,
    outbox_id   bigint generated always as identity,
    workflow_id text not null,
    signal      text not null,
    payload     jsonb not null,
    created_at  timestamptz not null,
    next_at     timestamptz not null,
    tries       integer not null default 0,
    sent_at     timestamptz,
    primary key (tenant, outbox_id)
);
create index outbox_due on outbox (sent_at nulls first, next_at);

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

-- The change log: every change by a person or a key, with the values before and after. Never text of a conversation,
-- never a secret.

create table changes (
    tenant    text not null,
    change_id bigint generated always as identity,
    at        timestamptz not null default clock_timestamp(),
    by        text not null,                          -- name of the key, or of the component of Purser that acted
    key_id    text,                                   -- null if no key acted
    action    text not null,                          -- `policy.set`, `key.create`, …
    target    text not null,                          -- `session:s1`, `key:key-…`, …
    before    jsonb,                                  -- null: it did not exist
    after     jsonb,                                  -- null: it does not exist any more
    primary key (tenant, change_id)
);
create index changes_of_target on changes (tenant, target, change_id);

create function changes_are_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'changes are append-only: a change back is another change';
end $$;
create trigger changes_append_only before update or delete or truncate on changes
    for each statement execute function changes_are_append_only();

-- Events in a total order from which readers can resume.

-- Identity values are taken before commit, so a reader that resumes after the highest id misses late commits. A
-- position is assigned after commit, by one transaction at a time: whenever a position is visible, all lower ones are
-- too.
create sequence event_positions;

-- Events for pages and webhooks. A warning fires once per scope, window and threshold.
create table events (
    tenant       text not null,
    event_id     bigint generated always as identity,
    at           timestamptz not null,
    kind         text not null,
    scope        text,
    window_start timestamptz,
    threshold    numeric,
    data         jsonb not null default '{}',
    position     bigint,
    primary key (tenant, event_id),
    constraint events_position unique (tenant, position)
);
alter sequence event_positions owned by events.position;
create unique index events_once on events (tenant, scope, window_start, threshold) where kind = 'threshold';
create index events_unnumbered on events (event_id) where position is null;
create index events_in_order on events (position);

-- The highest position of each tenant that retention has deleted: a reader that resumes before it has missed events.
create table forgotten_events (
    tenant   text primary key,
    position bigint not null
);

-- Assigns positions to committed events, oldest id first; returns how many. A concurrent call does nothing.
-- The lock belongs to the transaction: it works behind a pooler, and it is released after its rows have become visible.
create function number_events(p_limit integer) returns integer language plpgsql as $$
declare
    v_count integer;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser events', 0)) then
        return 0;
    end if;
    with due as materialized (select tenant, event_id from events where position is null order by event_id limit p_limit),
    numbered as (select tenant, event_id, nextval('event_positions') as position from due)
    update events e set position = n.position from numbered n where e.tenant = n.tenant and e.event_id = n.event_id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;

-- Inserts an event. Only ledger_warn inserts events in another way, because it inserts sets.
create function put_event(p_tenant text, p_kind text, p_scope text, p_data jsonb, p_at timestamptz default clock_timestamp(),
                          p_window_start timestamptz default null) returns void language sql as $$
    insert into events (tenant, at, kind, scope, window_start, data)
    values (p_tenant, p_at, p_kind, p_scope, p_window_start, p_data)
$$;

create function event_amount(p_tokens bigint, p_nano bigint) returns jsonb language sql immutable as
$$ select jsonb_build_object('tokens', p_tokens, 'nano_usd', p_nano) $$;

-- Writes an event for every change of a stored policy, but not for the request of a task.
create function emit_policy_event() returns trigger language plpgsql as $$
declare
    v_old jsonb := case when tg_op = 'UPDATE' then to_jsonb(old) else '{}' end;
    v_new jsonb := to_jsonb(new);
    v_fields jsonb;
begin
    select jsonb_object_agg(name, jsonb_build_object('before', v_old -> name, 'after', v_new -> name)) into v_fields
    from unnest(array['limit_tokens', 'limit_nano_usd', 'mode', 'window', 'timezone', 'warn_at', 'backpressure', 'approval', 'frozen', 'shadow',
                      'learned_holds', 'last_answer', 'rollover', 'ladder']) name
    where coalesce(v_old -> name, 'null') <> coalesce(v_new -> name, 'null');
    if v_fields is not null then
        perform put_event(new.tenant, 'budget', s.kind || ':' || s.id,
                          jsonb_build_object('by', new.updated_by, 'fields', v_fields), p_at => new.updated_at)
        from scopes s where s.tenant = new.tenant and s.scope_id = new.scope_id;
    end if;
    return null;
end $$;
create trigger emit_policy after insert or update on policies for each row when (new.task = '') execute function emit_policy_event();

-- Writes an event for each warning threshold that a locked balance has reached, once per scope and window.
-- A policy that only records fires none.
-- p_policies: for each balance an object with `scope`, `mode`, `limit`, `warn_at` and optionally `shared`, as in
-- ledger_views.
create function ledger_warn(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[], p_now timestamptz)
returns void language sql set enable_seqscan = off as $$
    with reached as (
        select b.*, p.policy, t.threshold::numeric as threshold
        from unnest(p_scopes, p_windows, p_policies) x (scope_id, window_start, policy)
        cross join lateral (select x.scope_id, x.window_start, x.policy || coalesce(x.policy -> 'shared', '{}') as policy) p
        cross join lateral (select * from balances t
                            where t.tenant = p_tenant and t.scope_id = p.scope_id and t.window_start = p.window_start offset 0) b
        cross join lateral jsonb_array_elements_text(p.policy -> 'warn_at') t (threshold)
        where t.threshold::numeric <> all (b.warned_at) and not p.policy ? 'shadow'
          and ((b.spent_tokens + b.held_tokens >= t.threshold::numeric * ((p.policy -> 'limit' ->> 0)::bigint + b.granted_tokens)) is true
            or (b.spent_nano + b.held_nano >= t.threshold::numeric * ((p.policy -> 'limit' ->> 1)::bigint + b.granted_nano)) is true)
    ), fired as (
        insert into events (tenant, at, kind, scope, window_start, threshold, data)
        select r.tenant, p_now, 'threshold', r.policy ->> 'scope',
               coalesce(p_now - rolling_length(r.window_start), r.window_start), r.threshold, jsonb_build_object(
                   'mode', r.policy -> 'mode',
                   'limit', event_amount((r.policy -> 'limit' ->> 0)::bigint, (r.policy -> 'limit' ->> 1)::bigint),
                   'granted', event_amount(r.granted_tokens, r.granted_nano),
                   'spent', event_amount(r.spent_tokens, r.spent_nano), 'held', event_amount(r.held_tokens, r.held_nano))
        from reached r order by r.scope_id, r.threshold
        on conflict do nothing
    )
    update balances b set warned_at = b.warned_at || r.thresholds
    from (select scope_id, window_start, array_agg(threshold) as thresholds from reached group by 1, 2) r
    where b.tenant = p_tenant and b.scope_id = r.scope_id and b.window_start = r.window_start
$$;

-- Templates: fields for all scopes of a tenant whose name matches a pattern, such as `session:*` or `agent:*/writer`.
-- What they give a scope is merged when the scope appears and when a template changes, so that the gate reads one row.

create table policy_templates (
    tenant     text not null,
    pattern    text not null check (kind_rank(kind_of(pattern)) is not null and pattern like '%*%'),
    fields     jsonb not null,                        -- by the names of the columns of policies
    updated_by text not null,
    updated_at timestamptz not null,
    primary key (tenant, pattern)
);

-- The merged fields of the templates that match a scope.
create table templated_policies (
    tenant         text not null,
    scope_id       bigint not null,
    limit_tokens   bigint,
    limit_nano_usd bigint,
    mode           text,
    "window"       text,
    timezone       text,
    warn_at        numeric[],
    backpressure   jsonb,
    approval       jsonb,
    frozen         boolean,
    shadow         boolean,
    learned_holds  numeric,
    last_answer    numeric,
    rollover       numeric,
    ladder         jsonb,
    sources        jsonb not null,                    -- the pattern that each field comes from
    primary key (tenant, scope_id),
    foreign key (tenant, scope_id) references scopes
);

-- Whether fields may stop calls, or say that their policy applies: then no less specific source turns them into a shadow.
create function binds(p_fields jsonb) returns boolean language sql immutable parallel safe
return (p_fields ->> 'shadow') is distinct from 'true'
   and jsonb_strip_nulls(p_fields) ?| array['limit_tokens', 'limit_nano_usd', 'mode', 'frozen', 'shadow'];

-- The fields that operators stored for each scope: its own policy, then its templates. Templates in shadow never take the
-- force from a scope's own policy, see `binds`.
create view stored_policies as
select s.tenant, s.scope_id, s.kind, s.id,
       coalesce(o.limit_tokens, t.limit_tokens) as limit_tokens, coalesce(o.limit_nano_usd, t.limit_nano_usd) as limit_nano_usd,
       coalesce(o.mode, t.mode) as mode, coalesce(o."window", t."window") as "window", coalesce(o.timezone, t.timezone) as timezone,
       coalesce(o.warn_at, t.warn_at) as warn_at, coalesce(o.backpressure, t.backpressure) as backpressure,
       coalesce(o.approval, t.approval) as approval, coalesce(o.frozen, t.frozen) as frozen,
       coalesce(o.shadow, t.shadow) as shadow,
       coalesce(o.last_answer, t.last_answer) as last_answer,
       coalesce(o.rollover, t.rollover) as rollover,
       coalesce(o.ladder, t.ladder) as ladder
from scopes s
left join policies o on o.tenant = s.tenant and o.scope_id = s.scope_id and o.task = ''
left join templated_policies t on t.tenant = s.tenant and t.scope_id = s.scope_id
          and not coalesce(t.shadow and binds(to_jsonb(o)), false);

-- `*` matches any characters; the others match themselves. A further limit matches by its period, too: `session:*` matches
-- no `s1@day`, and `session:*@day` nothing else.
create function template_matches(p_pattern text, p_kind text, p_id text) returns boolean language sql immutable parallel safe
return kind_of(p_pattern) = p_kind and split_part(p_id, '@', 2) = split_part(p_pattern, '@', 2)
   and p_id like replace(replace(id_of(p_pattern), '_', '\_'), '*', '%');

-- How specific a pattern is: its number of characters other than `*`.
create function template_rank(p_pattern text) returns integer language sql immutable parallel safe
return length(replace(p_pattern, '*', ''));

-- One number for each tenant. Shared: scopes appear. Exclusive: a template changes. So no scope misses a template.
create function template_lock(p_tenant text) returns bigint language sql immutable parallel safe
return hashtextextended('templates of ' || p_tenant, 0);

-- The fields that templates, by pattern, give a scope, and the pattern that each comes from: of several that set one, the
-- most specific. One in shadow gives none where a more specific one binds.
create function merge_templates(p_templates jsonb, p_kind text, p_id text, out fields jsonb, out sources jsonb) language sql immutable as $$
    with matching as materialized (
        select t.key as pattern, t.value as fields, template_rank(t.key) as rank
        from jsonb_each(p_templates) t where template_matches(t.key, p_kind, p_id)
    )
    select jsonb_object_agg(e.key, e.value order by m.rank, m.pattern), jsonb_object_agg(e.key, m.pattern order by m.rank, m.pattern)
    from matching m cross join lateral jsonb_each(m.fields) e
    where not (m.fields @> '{"shadow": true}'
               and exists (select from matching u where binds(u.fields) and (u.rank, u.pattern) > (m.rank, m.pattern)))
$$;

-- What the stored templates give a scope.
create function merged_templates(p_tenant text, p_kind text, p_id text, out fields jsonb, out sources jsonb) language sql stable as $$
    select m.fields, m.sources
    from (select jsonb_object_agg(t.pattern, t.fields) as templates from policy_templates t
          where t.tenant = p_tenant and template_matches(t.pattern, p_kind, p_id)) t
    cross join lateral merge_templates(coalesce(t.templates, '{}'), p_kind, p_id) m
$$;

-- Merges anew what templates give these scopes.
create function ledger_apply_templates(p_tenant text, p_scopes bigint[]) returns void language sql as $$
    delete from templated_policies where tenant = p_tenant and scope_id = any (p_scopes);
    insert into templated_policies (tenant, scope_id, limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure,
                                    approval, frozen, shadow, learned_holds, last_answer, rollover, ladder, sources)
    select p_tenant, s.scope_id, f.limit_tokens, f.limit_nano_usd, f.mode, f."window", f.timezone, f.warn_at, f.backpressure,
           f.approval, f.frozen, f.shadow, f.learned_holds, f.last_answer, f.rollover, f.ladder, m.sources
    from scopes s
    cross join lateral merged_templates(p_tenant, s.kind, s.id) m
    cross join lateral jsonb_populate_record(null::templated_policies, m.fields) f
    where s.tenant = p_tenant and s.scope_id = any (p_scopes) and m.fields is not null;
$$;

create function apply_templates_to_new_scopes() returns trigger language plpgsql as $$
declare
    one record;
begin
    for one in select m.tenant, array_agg(m.scope_id) as scope_ids from made m group by m.tenant order by m.tenant loop
        perform pg_advisory_xact_lock_shared(template_lock(one.tenant));
        if exists (select from policy_templates t where t.tenant = one.tenant) then
            perform ledger_apply_templates(one.tenant, one.scope_ids);
        end if;
    end loop;
    return null;
end $$;
create trigger apply_templates after insert on scopes referencing new table as made
    for each statement execute function apply_templates_to_new_scopes();

-- Resolving and setting policies.

-- The effective policy of each scope: stored fields, then the request of p_task, then the defaults of its kind.
-- A request may only tighten fields that are stored; under a stored limit this applies to mode, window and zone too.
-- `shared_…` applies to all tasks: on a scope that several tasks share, a request applies only to the calls of its own
-- task.
-- A policy in shadow only records: the gate gets the mode `soft` and no freeze, and `shadow` has those of the policy as
-- `{"shadow": {…}}`; else it is `{}`. `ladder` likewise is `{"ladder": […]}` or `{}`: a policy in shadow has none.
-- Each `offset 0` keeps a lookup by key what it is. Without statistics, as in the first minutes of a database, the planner
-- takes a tenant for a few rows, and would read all scopes of the tenant for each one of them.
create function ledger_policies(p_tenant text, p_scopes bigint[], p_task text, p_defaults jsonb)
returns table (ord bigint, scope_id bigint, scope text, limit_tokens bigint, limit_nano bigint, mode text, win text, zone text,
               warn_at numeric[], backpressure jsonb, frozen boolean, shared_tokens bigint, shared_nano bigint, shared_mode text,
               shadow jsonb, last_answer numeric, rollover numeric, ladder jsonb)
language sql stable as $$
    select x.ord, x.scope_id, s.kind || ':' || s.id,
           m.tokens, m.nano, case when a.shadow then 'soft' else m.mode end,
           coalesce(n.period, s."window", case when not k.limited then r."window" end, d.v ->> 'window'),
           coalesce(s.timezone, case when not k.limited then r.timezone end, d.v ->> 'timezone'),
           coalesce(s.warn_at, r.warn_at, array(select t::numeric from jsonb_array_elements_text(d.v -> 'warn_at') t)),
           coalesce(s.backpressure, r.backpressure),
           a.frozen and not a.shadow,
           case when k.shared then coalesce(s.limit_tokens, (d.v ->> 'limit_tokens')::bigint) else m.tokens end,
           case when k.shared then coalesce(s.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint) else m.nano end,
           case when a.shadow then 'soft' when k.shared then k.mode else m.mode end,
           case when a.shadow then jsonb_build_object('shadow', jsonb_build_object('mode', m.mode, 'frozen', a.frozen)) else '{}' end,
           coalesce(s.last_answer, r.last_answer, (d.v ->> 'last_answer')::numeric, 0),
           coalesce(s.rollover, (d.v ->> 'rollover')::numeric),
           case when a.shadow or coalesce(s.ladder, r.ladder, '[]') = '[]' then '{}'
                else jsonb_build_object('ladder', coalesce(s.ladder, r.ladder)) end
    from unnest(p_scopes) with ordinality x (scope_id, ord)
    cross join lateral (select * from stored_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) s
    -- A further limit has its period as window, and no default limits.
    cross join lateral (select nullif(split_part(s.id, '@', 2), '') as period) n
    cross join lateral (select case when n.period is null then p_defaults -> s.kind
                               else (p_defaults -> s.kind) - array['limit_tokens', 'limit_nano_usd'] end as v) d
    left join lateral (select * from policies t
                       where t.tenant = p_tenant and t.scope_id = x.scope_id and t.task = p_task and t.task <> '' offset 0) r on true
    cross join lateral (select s.limit_tokens is not null or s.limit_nano_usd is not null as limited, coalesce(s.mode, d.v ->> 'mode') as mode,
                               is_shared(s.kind) as shared) k
    cross join lateral (select case when s.limit_tokens is null then coalesce(r.limit_tokens, (d.v ->> 'limit_tokens')::bigint)
                                    else least(s.limit_tokens, r.limit_tokens) end as tokens,
                               case when s.limit_nano_usd is null then coalesce(r.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint)
                                    else least(s.limit_nano_usd, r.limit_nano_usd) end as nano,
                               case when s.mode is null and not k.limited then coalesce(r.mode, k.mode)
                                    when 'hard' in (k.mode, r.mode) then 'hard'
                                    when 'approval' in (k.mode, r.mode) then 'approval'
                                    else 'soft' end as mode) m
    cross join lateral (select coalesce(s.frozen, r.frozen, (d.v ->> 'frozen')::boolean) or r.frozen is true as frozen,
                               case when num_nonnulls(s.limit_tokens, s.limit_nano_usd, s.mode, s.frozen, s.shadow) = 0
                                    then coalesce(r.shadow, (d.v ->> 'shadow')::boolean, false)
                                    else coalesce(s.shadow, (d.v ->> 'shadow')::boolean, false) and r.shadow is not false end as shadow) a
$$;

-- The shared limits of a scope if the gate applies others because a task requested them: warnings follow the shared
-- ones.
create function ledger_shared(p_tokens bigint, p_nano bigint, p_mode text, p_shared_tokens bigint, p_shared_nano bigint, p_shared_mode text)
returns jsonb language sql stable as $$
    select case when p_tokens is not distinct from p_shared_tokens and p_nano is not distinct from p_shared_nano and p_mode = p_shared_mode
           then '{}' else jsonb_build_object('shared', jsonb_build_object(
               'limit', jsonb_build_array(p_shared_tokens, p_shared_nano), 'mode', p_shared_mode)) end
$$;

-- The part of a limit that only last calls may use. Whole amounts, so that it is the same everywhere.
create function ledger_reserve(p_limit bigint, p_mode text, p_share numeric) returns bigint language sql immutable parallel safe
return case when p_mode = 'soft' or p_share = 0 then 0 else coalesce(floor(p_limit * p_share)::bigint, 0) end;

-- What is left for one ask. An ordinary ask leaves the reserve alone. Each of the p_last_of calls that share the reserve
-- may use its part of it, so that all of them fit, or what an ordinary ask may use, if that is more.
create function ledger_room(p_left bigint, p_reserve bigint, p_last_of integer) returns bigint language sql immutable parallel safe
return case when p_left is null then null
            when coalesce(p_last_of, 0) = 0 then p_left - p_reserve
            else least(p_left, greatest(p_reserve / p_last_of, p_left - p_reserve)) end;

-- The gate's view of a reserve; empty if there is none.
create function ledger_reserved(p_tokens bigint, p_nano bigint, p_last_of integer) returns jsonb language sql stable parallel safe
return case when p_tokens = 0 and p_nano = 0 then '{}'
            else jsonb_build_object('reserve', jsonb_build_array(p_tokens, p_nano), 'last_of', coalesce(p_last_of, 0)) end;

-- Locks the balances of the scopes, and returns the policies that apply to them.
create function ledger_applied_policies(p_tenant text, p_scopes bigint[], p_defaults jsonb) returns applied_policy[] language plpgsql as $$
begin
    perform 1 from balances b where b.tenant = p_tenant and b.scope_id = any (p_scopes) order by b.scope_id, b.window_start for update;
    return array(select row(p.scope_id, p.limit_tokens, p.limit_nano, p.mode)::applied_policy
                 from ledger_policies(p_tenant, p_scopes, '', p_defaults) p);
end $$;

-- Posts an entry for each balance in use whose limit or mode differs from `p_before`. A scope that has ended gets none.
create function ledger_post_policies(p_tenant text, p_before applied_policy[], p_by text, p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    b record;
    v_change text;
begin
    for b in select n.scope_id, x.window_start, o.limit_tokens as old_tokens, o.limit_nano as old_nano, o.mode as old_mode,
                    n.limit_tokens as new_tokens, n.limit_nano as new_nano, n.mode as new_mode
             from ledger_policies(p_tenant, array(select u.scope_id from unnest(p_before) u), '', p_defaults) n
             join unnest(p_before) o on o.scope_id = n.scope_id
             join scopes s on s.tenant = p_tenant and s.scope_id = n.scope_id and s.ended_at is null
             join balances x on x.tenant = p_tenant and x.scope_id = n.scope_id and x.window_start = ledger_window_start(n.win, n.zone, p_now)
             order by n.scope_id loop
        v_change := case
            when (b.new_tokens < coalesce(b.old_tokens, b.new_tokens + 1)) is true
              or (b.new_nano < coalesce(b.old_nano, b.new_nano + 1)) is true then 'limit_lowered'
            when b.new_tokens is distinct from b.old_tokens or b.new_nano is distinct from b.old_nano then 'limit_raised'
            when b.new_mode <> b.old_mode then 'mode_changed' end;
        if v_change is not null then
            perform ledger_post(p_tenant, v_change, array[b.scope_id], array[b.window_start], p_now, p_ref => p_by,
                                p_limits => array[b.new_tokens], p_nanos => array[b.new_nano], p_modes => array[b.new_mode]);
        end if;
    end loop;
end $$;

-- The fields that a scope's stored policy sets; null: no policy is stored.
create function ledger_stored_fields(p_tenant text, p_scope bigint) returns jsonb language sql stable as $$
    select jsonb_strip_nulls(to_jsonb(p) - array['tenant', 'scope_id', 'task', 'sources', 'updated_by', 'updated_at'])
    from policies p where p.tenant = p_tenant and p.scope_id = p_scope and p.task = ''
$$;

-- Stores the fields of one source for a scope; posts an entry if this changes the limit or mode of a balance in use.
-- Returns the stored fields before and after, unless they are those of a task's request. The scope is locked before its
-- balances, as everywhere, so that its stored fields cannot change in between.
-- Planning it takes longer than running it, so each connection does it once.
create function ledger_set_policy(p_tenant text, p_scope text, p_task text, p_patch jsonb, p_clear text[], p_sources jsonb, p_by text,
                                  p_defaults jsonb, p_now timestamptz, out before jsonb, out after jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_kind text := kind_of(p_scope);
    v_id text := id_of(p_scope);
    v_scope bigint;
    v_before applied_policy[];
begin
    perform v_now at time zone (p_patch ->> 'timezone');
    insert into scopes (tenant, kind, id) values (p_tenant, v_kind, v_id) on conflict do nothing;
    select s.scope_id into v_scope from scopes s where s.tenant = p_tenant and s.kind = v_kind and s.id = v_id;
    if p_task = '' then
        perform from scopes s where s.tenant = p_tenant and s.scope_id = v_scope for no key update;
        before := ledger_stored_fields(p_tenant, v_scope);
    end if;
    v_before := ledger_applied_policies(p_tenant, array[v_scope], p_defaults);
    insert into policies as p (tenant, scope_id, task, limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure, approval,
                               frozen, shadow, learned_holds, last_answer, rollover, ladder, sources, updated_by, updated_at)
    values (p_tenant, v_scope, p_task, (p_patch ->> 'limit_tokens')::bigint, (p_patch ->> 'limit_nano_usd')::bigint, p_patch ->> 'mode',
            p_patch ->> 'window', p_patch ->> 'timezone',
            case when p_patch ? 'warn_at' then array(select t::numeric from jsonb_array_elements_text(p_patch -> 'warn_at') t) end,
            p_patch -> 'backpressure', p_patch -> 'approval', (p_patch ->> 'frozen')::boolean,
            (p_patch ->> 'shadow')::boolean, (p_patch ->> 'learned_holds')::numeric, (p_patch ->> 'last_answer')::numeric,
            (p_patch ->> 'rollover')::numeric, p_patch -> 'ladder', p_sources, p_by, v_now)
    on conflict (tenant, scope_id, task) do update set
        limit_tokens = case when 'limit_tokens' = any (p_clear) then null else coalesce(excluded.limit_tokens, p.limit_tokens) end,
        limit_nano_usd = case when 'limit_nano_usd' = any (p_clear) then null else coalesce(excluded.limit_nano_usd, p.limit_nano_usd) end,
        mode = case when 'mode' = any (p_clear) then null else coalesce(excluded.mode, p.mode) end,
        "window" = case when 'window' = any (p_clear) then null else coalesce(excluded."window", p."window") end,
        timezone = case when 'timezone' = any (p_clear) then null else coalesce(excluded.timezone, p.timezone) end,
        warn_at = case when 'warn_at' = any (p_clear) then null else coalesce(excluded.warn_at, p.warn_at) end,
        backpressure = case when 'backpressure' = any (p_clear) then null else coalesce(excluded.backpressure, p.backpressure) end,
        approval = case when 'approval' = any (p_clear) then null else coalesce(excluded.approval, p.approval) end,
        frozen = case when 'frozen' = any (p_clear) then null else coalesce(excluded.frozen, p.frozen) end,
        shadow = case when 'shadow' = any (p_clear) then null else coalesce(excluded.shadow, p.shadow) end,
        learned_holds = case when 'learned_holds' = any (p_clear) then null else coalesce(excluded.learned_holds, p.learned_holds) end,
        last_answer = case when 'last_answer' = any (p_clear) then null else coalesce(excluded.last_answer, p.last_answer) end,
        rollover = case when 'rollover' = any (p_clear) then null else coalesce(excluded.rollover, p.rollover) end,
        ladder = case when 'ladder' = any (p_clear) then null else coalesce(excluded.ladder, p.ladder) end,
        sources = p.sources || excluded.sources, updated_by = excluded.updated_by, updated_at = excluded.updated_at;
    if p_task = '' then
        -- A policy without fields is none: a label does not join because of it.
        delete from policies p where p.tenant = p_tenant and p.scope_id = v_scope and p.task = ''
          and ledger_stored_fields(p_tenant, v_scope) = '{}';
        perform ledger_post_policies(p_tenant, v_before, p_by, p_defaults, v_now);
        after := ledger_stored_fields(p_tenant, v_scope);
    end if;
end $$;

-- Stores the fields of a template, or removes it (null); effective from the next hold, with an entry for each balance in
-- use whose limit or mode this changes. The caller holds `template_lock`.
create function ledger_set_template(p_tenant text, p_pattern text, p_fields jsonb, p_by text, p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_scopes bigint[];
    v_before applied_policy[];
begin
    perform v_now at time zone (p_fields ->> 'timezone');
    select coalesce(array_agg(s.scope_id), '{}') into v_scopes
    from scopes s where s.tenant = p_tenant and template_matches(p_pattern, s.kind, s.id);
    v_before := ledger_applied_policies(p_tenant, v_scopes, p_defaults);
    if p_fields is null then
        delete from policy_templates where tenant = p_tenant and pattern = p_pattern;
    else
        insert into policy_templates (tenant, pattern, fields, updated_by, updated_at) values (p_tenant, p_pattern, p_fields, p_by, v_now)
        on conflict (tenant, pattern) do update set fields = excluded.fields, updated_by = excluded.updated_by, updated_at = excluded.updated_at;
    end if;
    perform ledger_apply_templates(p_tenant, v_scopes);
    perform ledger_post_policies(p_tenant, v_before, p_by, p_defaults, v_now);
end $$;

-- Locking balances and posting entries.

-- Locks balances in the common order. Each is found by its key: see `ledger_policies`.
create function ledger_lock(p_tenant text, p_scopes bigint[], p_windows timestamptz[]) returns void
language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform 1 from (select u.s, u.w from unnest(p_scopes, p_windows) u (s, w) order by 1, 2 offset 0) x
    cross join lateral (select 1 from balances b
                        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w for update offset 0) b;
end $$;

-- Locks balances of which some may not exist yet, and creates these. Nearly always all exist; to see that takes a fraction of
-- the time of an insert that finds nothing to do.
create function ledger_open(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz) returns void
language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform from unnest(p_scopes, p_windows) x (s, w)
    left join lateral (select true as seen from balances b
                       where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w offset 0) b on true
    where b.seen is null limit 1;
    if found then
        insert into balances (tenant, scope_id, window_start, rolls_at, updated_at)
        select p_tenant, x.s, x.w, p_now + rolling_length(x.w), p_now
        from unnest(p_scopes, p_windows) x (s, w) order by x.s, x.w on conflict do nothing;
    end if;
    perform ledger_lock(p_tenant, p_scopes, p_windows);
end $$;

-- Refuses amounts beyond that of one large call once a locked balance is halfway to the end of its range: real calls
-- cost far less, so they can still be settled.
create function ledger_countable(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_tokens bigint, p_nano bigint)
returns void language plpgsql as $$
begin
    -- In a condition of its own: together, the query would be started to find that it need not run.
    if p_tokens > 1000000000 or p_nano > 1000000000000 then
        if exists (
            select 1 from balances b
            join unnest(p_scopes, p_windows) x (s, w) on b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w
            where (p_tokens > 1000000000 and b.spent_tokens::numeric + b.held_tokens + b.granted_tokens + p_tokens > 4611686018427387904)
               or (p_nano > 1000000000000 and b.spent_nano::numeric + b.held_nano + b.granted_nano + p_nano > 4611686018427387904)) then
            raise numeric_value_out_of_range using message = 'beyond what a balance can count';
        end if;
    end if;
end $$;

-- Changes locked balances by the same amounts: one event, with an entry on each of them.
-- p_limits, p_nanos and p_modes are those that the gate applied; null leaves those of the balance.
create function ledger_post(p_tenant text, p_kind text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz,
                            p_hold bigint default null, p_attempt integer default null, p_ref text default null,
                            p_spent amount default row(0, 0), p_held amount default row(0, 0),
                            p_granted amount default row(0, 0), p_overrun amount default row(0, 0),
                            p_limits bigint[] default null, p_nanos bigint[] default null, p_modes text[] default null)
returns void language sql set enable_seqscan = off as $$
    with moved as (
        update balances b set
            spent_tokens = b.spent_tokens + (p_spent).tokens, spent_nano = b.spent_nano + (p_spent).nano,
            held_tokens = b.held_tokens + (p_held).tokens, held_nano = b.held_nano + (p_held).nano,
            granted_tokens = b.granted_tokens + (p_granted).tokens, granted_nano = b.granted_nano + (p_granted).nano,
            overrun_tokens = b.overrun_tokens + (p_overrun).tokens, overrun_nano = b.overrun_nano + (p_overrun).nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[x.i] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[x.i] end,
            mode = case when p_modes is null then b.mode else p_modes[x.i] end,
            seq = b.seq + 1, updated_at = p_now
        from unnest(p_scopes, p_windows) with ordinality x (s, w, i)
        where b.tenant = p_tenant and b.scope_id = any (p_scopes) and b.scope_id = x.s and b.window_start = x.w
        returning b.*, x.i
    ), event as (
        insert into journal (tenant, at, kind, hold_id, attempt, ref, scope_ids, window_starts, seqs,
                             d_spent_tokens, d_held_tokens, d_granted_tokens, d_overrun_tokens,
                             d_spent_nano, d_held_nano, d_granted_nano, d_overrun_nano)
        select p_tenant, p_now, p_kind, p_hold, p_attempt, p_ref, p_scopes, p_windows, array_agg(m.seq order by m.i),
               (p_spent).tokens, (p_held).tokens, (p_granted).tokens, (p_overrun).tokens,
               (p_spent).nano, (p_held).nano, (p_granted).nano, (p_overrun).nano
        from moved m
        returning number
    )
    insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                          spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                          spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
    select m.tenant, m.scope_id, m.window_start, m.seq, m.seq, e.number, e.number, p_now, p_kind in ('late', 'correction'),
           m.spent_tokens, m.held_tokens, m.granted_tokens, m.overrun_tokens,
           m.spent_nano, m.held_nano, m.granted_nano, m.overrun_nano, m.limit_tokens, m.limit_nano, m.mode
    from moved m, event e
$$;

-- The scopes on which a call draws.

-- The scopes of one hold, in this order:
--   1. its path;
--   2. those of its labels that have a policy, stored or by a template;
--   3. further limits of its path and labels, such as `session:s1@day`, that have a policy, stored or by a template.
-- `scope_id` is null for a scope that is still to be created. What has no policy in 2 and 3 is left out, so it
-- costs nothing. Scopes are looked up one by one: see `ledger_policies`.
create function ledger_expand(p_tenant text, p_path text[], p_labels text[])
returns table (ord bigint, name text, scope_id bigint) language sql stable as $$
    select x.ord, x.name, s.scope_id
    from unnest(p_path) with ordinality x (name, ord)
    left join lateral (select t.scope_id from scopes t
                       where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true
    union all
    select cardinality(p_path) + x.ord, x.name, s.scope_id
    from unnest(p_labels) with ordinality x (name, ord)
    left join lateral (select t.scope_id from scopes t
                       where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true
    cross join lateral (select exists (select from policies p where p.tenant = p_tenant and p.scope_id = s.scope_id and p.task = '')
                            or exists (select from templated_policies t where t.tenant = p_tenant and t.scope_id = s.scope_id)
                            or (s.scope_id is null and exists (
                                   select from policy_templates t
                                   where t.tenant = p_tenant and template_matches(t.pattern, kind_of(x.name), id_of(x.name)))) as joins
                        offset 0) j
    where j.joins
    union all
    select cardinality(p_path) + coalesce(cardinality(p_labels), 0) + row_number() over (order by f.ord, f.id),
           kind_of(f.name) || ':' || f.id, f.scope_id
    from (
        select x.ord, x.name, s.id, s.scope_id
        from unnest(p_path || p_labels) with ordinality x (name, ord)
        cross join lateral (
            select t.id, t.scope_id from scopes t
            where t.tenant = p_tenant and t.kind = kind_of(x.name) and split_part(t.id, '@', 1) = id_of(x.name) and strpos(t.id, '@') > 0
            offset 0) s
        cross join lateral (select exists (select from policies p where p.tenant = p_tenant and p.scope_id = s.scope_id and p.task = '')
                                or exists (select from templated_policies t where t.tenant = p_tenant and t.scope_id = s.scope_id) as limits
                            offset 0) j
        where j.limits
        union
        select x.ord, x.name, n.id, null
        from policy_templates t
        cross join lateral unnest(p_path || p_labels) with ordinality x (name, ord)
        cross join lateral (select id_of(x.name) || '@' || split_part(t.pattern, '@', 2) as id) n
        where t.tenant = p_tenant and strpos(t.pattern, '@') > 0 and template_matches(t.pattern, kind_of(x.name), n.id)
          and not exists (select from scopes s where s.tenant = p_tenant and s.kind = kind_of(x.name) and s.id = n.id)) f
$$;

-- Rolling windows: a limit on what was charged within a time that ends now, such as 5 hours.

-- The entry of the first charge of the attempt that a late report or a correction belongs to; its own without one, and 0 if
-- that charge was deleted.
create function ledger_first_charge(e moves) returns bigint language sql stable as $$
    select case when exists (select from carried_events c
                             where c.tenant = e.tenant and c.hold_id = e.hold_id and c.attempt = e.attempt
                               and c.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')) then 0
           else coalesce(min(x.seq), e.seq) end
    from moves x
    where x.tenant = e.tenant and x.hold_id = e.hold_id and x.attempt = e.attempt and x.scope_id = e.scope_id and x.window_start = e.window_start
      and x.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')
$$;

-- What falls out of a rolling window at a time: the charges that are at least its length old and were not posted as
-- rolled off. An entry is as old as the latest one up to it, because times may be out of order by the wait for a lock. A
-- late report or a correction falls out with the first charge of its attempt. `rolled_to`: the last entry that is out;
-- `next_at`: when the next ones can be, at most once in a sixtieth of the length. Nothing is read before `rolls_at`.
-- Strict, so that it is not inlined: beginning its plan takes longer than all else that a reader of other windows does.
create function ledger_falls_out(b balances, p_now timestamptz)
returns table (tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, rolled_to bigint, next_at timestamptz)
language sql stable strict rows 1 as $$
    with stays as materialized (
        select p.first_seq, p.at from postings p
        where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
          and p.at > p_now - rolling_length(b.window_start)
          and b.rolls_at <= p_now
        order by p.last_seq limit 1
    ), front as materialized (
        select coalesce((select s.first_seq - 1 from stays s), b.seq) as seq where b.rolls_at <= p_now
    ), out as (
        select e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
        from front f join balance_moves e on e.tenant = b.tenant and e.scope_id = b.scope_id and e.window_start = b.window_start
                                         and e.last_seq > b.rolled_to and e.last_seq <= f.seq
        where e.kind in ('settle', 'overrun', 'presumed')
        union all
        select e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
        from front f
        join postings p on p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.late and p.last_seq > b.rolled_to
        join moves e on e.tenant = p.tenant and e.number = p.last_number and e.scope_id = p.scope_id and e.window_start = p.window_start
        cross join lateral (select ledger_first_charge(e) as seq) c
        where c.seq <= f.seq and (c.seq > b.rolled_to or e.seq > b.rolled_seq)
    )
    select coalesce(sum(o.d_spent_tokens), 0)::bigint, coalesce(sum(o.d_spent_nano), 0)::bigint,
           coalesce(sum(o.d_overrun_tokens), 0)::bigint, coalesce(sum(o.d_overrun_nano), 0)::bigint, (select f.seq from front f),
           coalesce((select greatest(s.at + rolling_length(b.window_start), p_now + rolling_length(b.window_start) / 60) from stays s),
                    p_now + rolling_length(b.window_start))
    from out o
$$;

-- Posts what has fallen out of locked balances.
create function ledger_roll_off(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz) returns void language plpgsql as $$
declare
    b balances%rowtype;
    o record;
begin
    for b in select x.* from balances x join unnest(p_scopes, p_windows) u (s, w) on x.tenant = p_tenant and x.scope_id = u.s and x.window_start = u.w
             where x.rolls_at <= p_now order by x.scope_id, x.window_start loop
        select * into o from ledger_falls_out(b, p_now);
        if (o.tokens, o.nano, o.overrun_tokens, o.overrun_nano) <> (0, 0, 0, 0) then
            perform ledger_post(p_tenant, 'rolled_off', array[b.scope_id], array[b.window_start], p_now,
                                p_spent => row(-o.tokens, -o.nano)::amount, p_overrun => row(-o.overrun_tokens, -o.overrun_nano)::amount);
        end if;
        -- A threshold below which the balance has fallen fires again.
        update balances x set rolled_to = o.rolled_to, rolled_seq = x.seq, rolls_at = o.next_at,
               rolled_tokens = x.rolled_tokens + o.tokens, rolled_nano = x.rolled_nano + o.nano,
               warned_at = array(select t from unnest(x.warned_at) t
                                 where (x.spent_tokens + x.held_tokens >= t * (x.limit_tokens + x.granted_tokens)) is true
                                    or (x.spent_nano + x.held_nano >= t * (x.limit_nano + x.granted_nano)) is true)
        where x.tenant = p_tenant and x.scope_id = b.scope_id and x.window_start = b.window_start;
    end loop;
end $$;

-- When an ask fits a rolling window at the latest, if nothing else is charged until then; null: never, or not soon
-- enough to count the postings until then.
create function ledger_room_returns(b balances, p_limit_tokens bigint, p_limit_nano bigint, p_tokens bigint, p_nano bigint)
returns timestamptz language sql stable as $$
    select e.at + rolling_length(b.window_start) * 61 / 60
    from (select b.spent_tokens + b.held_tokens + p_tokens - p_limit_tokens - b.granted_tokens as tokens,
                 case when p_nano > 0 then b.spent_nano + b.held_nano + p_nano - p_limit_nano - b.granted_nano end as nano) short
    cross join lateral (
        select x.at, sum(x.d_spent_tokens) over w as tokens, sum(x.d_spent_nano) over w as nano
        from (select y.* from (select p.* from postings p
                               where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
                               order by p.last_seq limit 20000) p
              cross join lateral (select * from moves m where m.tenant = p.tenant and m.number between p.first_number and p.last_number
                                                          and m.scope_id = p.scope_id and m.window_start = p.window_start offset 0) y
              where y.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')) x
        window w as (order by x.seq)) e
    where e.tokens >= coalesce(short.tokens, 0) and e.nano >= coalesce(short.nano, 0)
    order by e.at limit 1
$$;

-- What policies in shadow would have done.

-- Counts each hold once, although its answer repeats; an event for the first of each scope, window and outcome. The
-- outcomes are those of the gate, one element for each hold and scope.
create function ledger_count_shadow(p_tenant text, p_holds bigint[], p_scopes text[], p_outcomes text[], p_delays bigint[], p_now timestamptz)
returns void language sql as $$
    with given as (
        select c.* from unnest(p_holds, p_scopes, p_outcomes, p_delays) c (hold_id, scope, outcome, delay_ms)
    ), locked as materialized (
        select h.hold_id from holds h
        where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.would is null order by h.hold_id for update
    ), uncounted as (
        update holds h set would = w.would
        from (select g.hold_id, jsonb_object_agg(g.scope, g.outcome) as would from given g group by 1) w
        join locked l on l.hold_id = w.hold_id
        where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = w.hold_id
        returning h.hold_id, h.scope_ids, h.window_starts, h.asked_tokens, h.asked_nano
    ), counted as (
        insert into shadow_counts as c (tenant, scope_id, window_start, outcome, calls, tokens, nano, delay_ms)
        select p_tenant, u.scope_id, u.window_start, g.outcome, count(*), sum(a.asked_tokens), sum(a.asked_nano), sum(g.delay_ms)
        from given g
        join uncounted a on a.hold_id = g.hold_id
        join scopes s on s.tenant = p_tenant and s.kind = kind_of(g.scope) and s.id = id_of(g.scope)
        join lateral unnest(a.scope_ids, a.window_starts) u (scope_id, window_start) on u.scope_id = s.scope_id
        group by 1, 2, 3, 4 order by 2, 3, 4
        on conflict (tenant, scope_id, window_start, outcome) do update set calls = c.calls + excluded.calls, tokens = c.tokens + excluded.tokens,
            nano = c.nano + excluded.nano, delay_ms = c.delay_ms + excluded.delay_ms
        returning c.*, xmax = 0 as first
    )
    select put_event(p_tenant, 'shadow', s.kind || ':' || s.id,
                     jsonb_build_object('outcome', f.outcome, 'window_start', calendar_start(f.window_start), 'calls', f.calls,
                                        'asked', event_amount(f.tokens, f.nano), 'delay_ms', f.delay_ms),
                     p_at => coalesce(p_now, clock_timestamp()), p_window_start => f.window_start)
    from counted f join scopes s on s.tenant = p_tenant and s.scope_id = f.scope_id where f.first order by f.scope_id, f.outcome
$$;

-- Rollover: what is left of a calendar window is granted to the next one, up to a share of the limit.

-- What rolls over into the calendar window that begins at p_start: what is left in the one before of the limit (the lower
-- of its own and today's) and of what had rolled over into it; other grants do not. A window without a balance was not
-- used: then the whole limit is left. Nothing rolls over into the first window of a scope, nor from one of another kind.
create function ledger_left_over(p_tenant text, p_scope bigint, p_window text, p_zone text, p_start timestamptz,
                                 p_tokens bigint, p_nano bigint, p_share numeric)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select coalesce(least(floor(p_tokens * p_share), greatest(0, l.tokens)), 0)::bigint,
           coalesce(least(floor(p_nano * p_share), greatest(0, l.nano)), 0)::bigint
    from (select ledger_window_start(p_window, p_zone, p_start - interval '1 microsecond') as start) before
    cross join lateral (
        select b.* from balances b
        where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start < p_start
          -- A batch opens the balance of an ask that it leaves alone, and that may not reach the gate's rules.
          and (b.seq > 0 or b.limit_tokens is not null or b.limit_nano is not null)
        order by b.window_start desc limit 1) b
    cross join lateral (
        select coalesce(sum(g.tokens), 0) as tokens, coalesce(sum(g.nano), 0) as nano from grants g
        where g.tenant = p_tenant and g.scope_id = p_scope and g.window_start = b.window_start and g.rolled_over) carried
    cross join lateral (select case when b.window_start = before.start then 1 else 0 end as used) u
    cross join lateral (
        select case when b.limit_tokens is not null and p_tokens is not null
                    then least(p_tokens, b.limit_tokens) + u.used * (carried.tokens - b.spent_tokens - b.held_tokens) end as tokens,
               case when b.limit_nano is not null and p_nano is not null
                    then least(p_nano, b.limit_nano) + u.used * (carried.nano - b.spent_nano - b.held_nano) end as nano) l
    where b.window_start <= before.start and calendar_start(b.window_start) is not null
$$;

-- Grants what rolls over to locked balances of calendar windows, once for each, at its first ask.
create function ledger_roll_over(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    r record;
    v_grant bigint;
begin
    for r in update balances b set rolled_over_at = p_now from unnest(p_scopes, p_windows) x (s, w)
             where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolled_over_at is null
               and calendar_start(b.window_start) is not null
             returning b.scope_id, b.window_start loop
        insert into grants (tenant, scope_id, window_start, tokens, nano, granted_by, created_at, rolled_over)
        select p_tenant, r.scope_id, r.window_start, o.tokens, o.nano, 'rollover', p_now, true
        from ledger_policies(p_tenant, array[r.scope_id], '', p_defaults) p
        cross join lateral ledger_left_over(p_tenant, r.scope_id, p.win, p.zone, r.window_start, p.limit_tokens, p.limit_nano, p.rollover) o
        where p.rollover is not null and (o.tokens, o.nano) <> (0, 0)
        returning grant_id into v_grant;
        if v_grant is not null then
            perform ledger_post(p_tenant, 'grant', array[r.scope_id], array[r.window_start], p_now, p_ref => v_grant::text,
                                p_granted => (select row(g.tokens, g.nano)::amount from grants g where g.tenant = p_tenant and g.grant_id = v_grant));
        end if;
    end loop;
end $$;

-- Whether a balance has to catch up with the time before the gate may count on it. Nearly always nothing is due, so the
-- gate asks this of the rows that it reads anyway.
create function ledger_due(b balances, p_now timestamptz) returns boolean language sql stable as $$
    select b.grants_end_at <= p_now or b.rolls_at <= p_now or (b.rolled_over_at is null and calendar_start(b.window_start) is not null)
$$;

-- Brings locked balances up to date: ends grants, takes out what has left a rolling window, and rolls over.
create function ledger_catch_up(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
begin
    perform ledger_end_grants(p_tenant, p_scopes, p_windows, p_now);
    perform ledger_roll_off(p_tenant, p_scopes, p_windows, p_now);
    perform ledger_roll_over(p_tenant, p_scopes, p_windows, p_defaults, p_now);
end $$;

-- The gate. Each operation of the ledger is one round trip and one transaction, and takes locks in the same order:
-- new scopes by kind and id, the hold row, then the balances by (scope_id, window_start).
-- p_now is null in production (the server's clock applies) and set by tests of windows and leases.
-- Their plans are generic: the planner takes the lists of a call for ten or a hundred members, so that such a plan looks dearer
-- to it than planning, and it would plan every statement in every call, which took two thirds of the time of a hold.

-- The gate's view of a path whose balances are locked, before an ask. A closed scope admits nothing; on a queued scope
-- another ask has waited longer. Room for money is never below 0, so that what costs nothing fits. `later_…` is the
-- room once all open holds have ended. `starts` is the window of the policy, and `due` whether ledger_catch_up has
-- something to do first: then the figures are not yet those of the gate. `calm_…` is what may be held more without a
-- warning, at the lowest threshold; null: whatever is held, none fires. A waiter has one age for all its scopes: of
-- several that wait for each other, the oldest always proceeds.
create function ledger_views(p_tenant text, p_hold bigint, p_scopes bigint[], p_windows timestamptz[], p_task text, p_defaults jsonb,
                             p_patient boolean, p_lapse interval, p_now timestamptz, p_last_of integer[] default null)
returns table (ord bigint, scope text, scope_id bigint, window_start timestamptz, limit_tokens bigint, limit_nano bigint, mode text,
               closed boolean, queued boolean, bounded boolean, needs_price boolean, room_tokens bigint, room_nano bigint,
               later_tokens bigint, later_nano bigint, calm_tokens numeric, calm_nano numeric, starts timestamptz, due boolean, shown jsonb)
language sql stable as $$
    select p.ord, p.scope, p.scope_id, b.window_start, p.limit_tokens, p.limit_nano, p.mode,
           p.frozen or (q.bounded and (p.limit_tokens + b.granted_tokens = 0) is true),
           q.queued, q.bounded, p.limit_nano is not null and p.shadow = '{}',
           ledger_room(p.limit_tokens + b.granted_tokens - b.spent_tokens - b.held_tokens, r.tokens, p_last_of[p.ord]),
           case when p.limit_nano is not null then greatest(0,
               ledger_room(p.limit_nano + b.granted_nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])) end,
           ledger_room(p.limit_tokens + b.granted_tokens - b.spent_tokens, r.tokens, p_last_of[p.ord]),
           case when p.limit_nano is not null then greatest(0,
               ledger_room(p.limit_nano + b.granted_nano - b.spent_nano, r.nano, p_last_of[p.ord])) end,
           p.warn_at[1] * (p.shared_tokens + b.granted_tokens) - b.spent_tokens - b.held_tokens,
           p.warn_at[1] * (p.shared_nano + b.granted_nano) - b.spent_nano - b.held_nano,
           ledger_window_start(p.win, p.zone, p_now), ledger_due(b, p_now),
           jsonb_build_object(
               'scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
               'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
               'granted', jsonb_build_array(b.granted_tokens, b.granted_nano),
               'window_start', calendar_start(b.window_start), 'frozen', p.frozen, 'queued', q.queued,
               'warn_at', p.warn_at, 'backpressure', p.backpressure)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode) || p.shadow || p.ladder
           || ledger_reserved(r.tokens, r.nano, p_last_of[p.ord])
    -- As a subquery of its own: merged into this one, each of its columns would be computed wherever it is named.
    from (select * from ledger_policies(p_tenant, p_scopes, p_task, p_defaults) offset 0) p
    cross join lateral (select ledger_reserve(p.limit_tokens, p.mode, p.last_answer) as tokens,
                               ledger_reserve(p.limit_nano, p.mode, p.last_answer) as nano offset 0) r
    -- By its key, whatever the planner assumes: see `ledger_policies`.
    cross join lateral (select * from balances t
                        where t.tenant = p_tenant and t.scope_id = p.scope_id and t.window_start = p_windows[p.ord] offset 0) b
    cross join lateral (select p.mode <> 'soft' and (p.limit_tokens is not null or p.limit_nano is not null) as bounded) l
    cross join lateral (select l.bounded, l.bounded and p_patient and exists (
        select 1 from waiters w
        where w.tenant = p_tenant and w.scope_id = p.scope_id and w.hold_id <> p_hold and w.asks >= 2 and w.last_asked > p_now - p_lapse
          and w.since < coalesce((select min(m.since) from waiters m
                                  where m.tenant = p_tenant and m.hold_id = p_hold and m.last_asked > p_now - p_lapse), p_now)
    ) as queued offset 0) q
$$;

-- The gate's view at the time it admitted a hold: the policies stored with the hold, the figures from its entries, or as they
-- were kept when these were deleted.
create function ledger_seen(h holds) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(v.policy || jsonb_build_object(
               'spent', jsonb_build_array(e.spent_tokens, e.spent_nano),
               'held', jsonb_build_array(e.held_tokens - e.d_held_tokens, e.held_nano - e.d_held_nano),
               'granted', jsonb_build_array(e.granted_tokens, e.granted_nano),
               'window_start', calendar_start(e.window_start), 'queued', false) order by v.ord),
           (select c.seen from carried_events c where c.tenant = h.tenant and c.hold_id = h.hold_id and c.kind = 'hold'))
    from jsonb_array_elements(h.views) with ordinality v (policy, ord)
    join entries e on e.tenant = h.tenant and e.hold_id = h.hold_id and e.kind = 'hold' and e.scope_id = h.scope_ids[v.ord]
$$;

-- The scopes of an ask; creates those that it lacks. Most asks have no labels, and most tenants neither further limits nor
-- templates: then the path is all, and looking it up takes a fraction of the time of ledger_expand.
create function ledger_scopes(p_tenant text, p_path text[], p_labels text[]) returns bigint[]
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    v_scopes bigint[];
begin
    if p_labels = '{}' and not exists (select from policy_templates t where t.tenant = p_tenant)
       and not exists (select from unnest(p_path) x (name)
                       cross join lateral (select from scopes t
                                           where t.tenant = p_tenant and t.kind = kind_of(x.name) and split_part(t.id, '@', 1) = id_of(x.name)
                                             and strpos(t.id, '@') > 0 offset 0) s) then
        select array_agg(s.scope_id order by x.ord) into v_scopes
        from unnest(p_path) with ordinality x (name, ord)
        left join lateral (select t.scope_id from scopes t
                           where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true;
        if array_position(v_scopes, null) is null then
            return v_scopes;
        end if;
    end if;
    loop
        select array_agg(x.scope_id order by x.ord) into v_scopes from ledger_expand(p_tenant, p_path, p_labels) x;
        exit when array_position(v_scopes, null) is null;
        insert into scopes (tenant, kind, id) select p_tenant, kind_of(x.name), id_of(x.name)
        from ledger_expand(p_tenant, p_path, p_labels) x order by 2, 3 on conflict do nothing;
    end loop;
    return v_scopes;
end $$;

-- The gate: holds the ask, or a part of it not below the minimum, on every scope of ledger_expand, or nothing at all.
-- p_nano is null if the price is unknown: see ledger_hold_unpriced. p_last_of, of a last call: for each scope of the path,
-- how many last calls share its reserve.
create function ledger_hold(p_tenant text, p_key text, p_digest bytea, p_path text[], p_labels text[], p_task text, p_model text,
                            p_tokens bigint, p_nano bigint, p_least_tokens bigint, p_least_nano bigint,
                            p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamptz,
                            p_last_of integer[])
returns table (outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_new boolean;
    v_scopes bigint[];
    v_windows timestamptz[];
    v_wanted timestamptz[];
    v_due boolean;
    v_short bigint[];
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_stopped boolean;
    v_needs_price boolean;
    v_waits boolean;
    v_since timestamptz;
    v_asks integer;
    v_room_tokens bigint;
    v_room_nano bigint;
    v_tokens bigint;
    v_nano bigint;
    v_views jsonb;
    v_calm_tokens numeric;
    v_calm_nano numeric;
begin
    -- New scopes come before the key, as in a batch: else two that ask with one key under new scopes could wait for each other.
    if not exists (select from holds t where t.tenant = p_tenant and t.key = p_key) then
        v_scopes := ledger_scopes(p_tenant, p_path, p_labels);
    end if;
    loop
        insert into holds (tenant, key, digest, state, created_at) values (p_tenant, p_key, p_digest, 'none', v_now)
        on conflict (tenant, key) where key is not null do nothing returning * into h;
        v_new := found;
        exit when v_new;
        select * into h from holds t where t.tenant = p_tenant and t.key = p_key for update;
        exit when found;  -- else retention has just deleted it
    end loop;
    if not v_new then
        if h.digest is not null and h.digest <> p_digest then
            return query select 'key_reused', h.hold_id, h.state, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
            return;
        elsif h.state <> 'none' then
            return query select case when h.views is null then 'closed' else 'repeat' end, h.hold_id, h.state, h.asked_tokens, h.asked_nano,
                                h.expires_at, ledger_seen(h);
            return;
        end if;
    end if;

    v_scopes := coalesce(v_scopes, ledger_scopes(p_tenant, p_path, p_labels));

    select array_agg(ledger_window_start(p.win, p.zone, v_now) order by p.ord) into v_wanted
    from ledger_policies(p_tenant, v_scopes, p_task, p_defaults) p;
    loop
        -- A policy may change its window while this waits for the locks, so look again under the locks.
        if v_windows is distinct from v_wanted then
            v_windows := v_wanted;
            perform ledger_open(p_tenant, v_scopes, v_windows, v_now);
        end if;
        select bool_or(v.closed or v.queued), bool_or(v.needs_price),
               min(v.room_tokens) filter (where v.bounded), min(v.room_nano) filter (where v.bounded),
               array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
               jsonb_agg(v.shown order by v.ord),
               -- Waiting helps if the ask fits everywhere once all open holds have ended.
               p_patient and not bool_or(v.closed or (v.bounded and ((v.later_tokens < p_least_tokens) is true
                                                                  or (v.later_nano < p_least_nano) is true))),
               array_agg(v.starts order by v.ord), bool_or(v.due), min(v.calm_tokens), min(v.calm_nano)
        into v_stopped, v_needs_price, v_room_tokens, v_room_nano, v_limits, v_nanos, v_modes, v_views, v_waits, v_wanted, v_due,
             v_calm_tokens, v_calm_nano
        from ledger_views(p_tenant, h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now, p_last_of) v;
        continue when v_windows is distinct from v_wanted;
        exit when v_due is not true;
        perform ledger_catch_up(p_tenant, v_scopes, v_windows, p_defaults, v_now);
    end loop;

    if p_nano is null then
        if v_needs_price then
            raise exception using errcode = 'PB002', message = 'a price is needed', detail = v_views::text;
        end if;
        p_nano := 0;
        p_least_nano := 0;
    end if;
    v_tokens := least(p_tokens, v_room_tokens);
    if p_nano > v_room_nano then
        v_tokens := case when p_least_nano > v_room_nano or p_nano = p_least_nano then -1
                    else least(v_tokens, p_least_tokens + div((v_room_nano - p_least_nano)::numeric * (p_tokens - p_least_tokens),
                        p_nano - p_least_nano)) end;
    end if;

    if v_stopped or v_tokens < p_least_tokens then
        -- A waiter keeps its age unless it has stopped asking.
        select min(w.since), max(w.asks) into v_since, v_asks
        from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id and w.last_asked > v_now - p_lapse;
        if v_waits then
            v_short := array(select v.scope_id
                             from ledger_views(p_tenant, h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now,
                                               p_last_of) v
                             where v.bounded and (v.queued or v.room_tokens < p_least_tokens or v.room_nano < p_least_nano));
        end if;
        delete from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id;
        insert into waiters (tenant, hold_id, scope_id, since, last_asked, asks)
        select p_tenant, h.hold_id, x.s, coalesce(v_since, v_now), v_now, coalesce(v_asks, 0) + 1 from unnest(v_short) x (s);
        return query select 'short', null::bigint, 'none', p_tokens, p_nano, null::timestamptz, v_views;
        return;
    end if;

    v_nano := case when v_tokens = p_tokens then p_nano
              else p_least_nano + div((v_tokens - p_least_tokens)::numeric * (p_nano - p_least_nano) + (p_tokens - p_least_tokens - 1),
                                      p_tokens - p_least_tokens) end;
    perform ledger_countable(p_tenant, v_scopes, v_windows, v_tokens, v_nano);
    update holds t set path = p_path, labels = p_labels, task = p_task, model = p_model, scope_ids = v_scopes, window_starts = v_windows,
           state = 'held',
           asked_tokens = v_tokens, asked_nano = v_nano, tokens = v_tokens, nano = v_nano, views = v_views,
           lease = p_lease, expires_at = v_now + p_lease where t.tenant = p_tenant and t.hold_id = h.hold_id;
    perform ledger_post(p_tenant, 'hold', v_scopes, v_windows, v_now, p_hold => h.hold_id, p_held => row(v_tokens, v_nano)::amount,
                        p_limits => v_limits, p_nanos => v_nanos, p_modes => v_modes);
    if v_tokens >= v_calm_tokens or v_nano >= v_calm_nano then
        perform ledger_warn(p_tenant, v_scopes, v_windows, array(select jsonb_array_elements(v_views)), v_now);
    end if;
    if not v_new then
        delete from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id;
    end if;
    return query select 'held', h.hold_id, 'held', v_tokens, v_nano, v_now + p_lease, v_views;
end $$;

-- Asks for a hold of unknown price. If a scope limits money, in any mode, nothing is held and nothing of the ask is
-- written: the same key may be used again with a price.
create function ledger_hold_unpriced(p_tenant text, p_key text, p_digest bytea, p_path text[], p_labels text[], p_task text, p_model text,
                                     p_tokens bigint, p_least_tokens bigint,
                                     p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamptz,
                                     p_last_of integer[])
returns table (outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    v_views text;
begin
    return query select * from ledger_hold(p_tenant, p_key, p_digest, p_path, p_labels, p_task, p_model, p_tokens, null, p_least_tokens, null,
                                           p_lease, p_patient, p_lapse, p_defaults, p_now, p_last_of);
exception when sqlstate 'PB002' then
    get stacked diagnostics v_views = pg_exception_detail;
    return query select 'short', null::bigint, 'none', p_tokens, 0::bigint, null::timestamptz, v_views::jsonb;
end $$;

-- Adds to an open, locked hold through the gate: on all scopes or none, and never a part. p_nano is null if the price
-- is unknown: that fits only if no scope limits money. A last call cannot take more of a reserve than it got first.
create function ledger_top_up(h holds, p_kind text, p_tokens bigint, p_nano bigint, p_defaults jsonb, p_now timestamptz)
returns table (fits boolean, views jsonb) language plpgsql as $$
declare
    v_fits boolean;
    v_due boolean;
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_views jsonb;
begin
    loop
        -- Waiting would not free what this hold itself holds, so the views list it separately.
        select not bool_or(v.closed or (v.bounded and ((v.room_tokens < p_tokens) is true or (v.room_nano < p_nano) is true))
                           or (p_nano is null and v.needs_price)),
               array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
               jsonb_agg(v.shown || jsonb_build_object('own', jsonb_build_array(h.tokens, h.nano)) order by v.ord), bool_or(v.due)
        into v_fits, v_limits, v_nanos, v_modes, v_views, v_due
        from ledger_views(h.tenant, h.hold_id, h.scope_ids, h.window_starts, h.task, p_defaults, false, interval '0', p_now) v;
        exit when v_due is not true;
        perform ledger_catch_up(h.tenant, h.scope_ids, h.window_starts, p_defaults, p_now);
    end loop;
    if v_fits then
        p_nano := coalesce(p_nano, 0);
        perform ledger_countable(h.tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
        update holds t set tokens = t.tokens + p_tokens, nano = t.nano + p_nano where t.tenant = h.tenant and t.hold_id = h.hold_id;
        perform ledger_post(h.tenant, p_kind, h.scope_ids, h.window_starts, p_now, p_hold => h.hold_id,
                            p_held => row(p_tokens, p_nano)::amount,
                            p_limits => v_limits, p_nanos => v_nanos, p_modes => v_modes);
        perform ledger_warn(h.tenant, h.scope_ids, h.window_starts, array(select jsonb_array_elements(v_views)), p_now);
    end if;
    return query select v_fits, v_views;
end $$;

-- Attempts: the requests to a provider under a hold.

-- Charges an attempt that started and never reported, if there is one, with the amount held for it, or with the most that
-- its request can use if that is more: nobody saw how much of it was produced.
create function ledger_presume(p_tenant text, p_hold bigint, p_now timestamptz) returns void language plpgsql as $$
declare
    h holds%rowtype;
    a attempts%rowtype;
begin
    select * into h from holds t where t.tenant = p_tenant and t.hold_id = p_hold;
    update attempts t set state = 'presumed', tokens = greatest(h.tokens, t.most_tokens), nano = greatest(h.nano, t.most_nano),
           overrun_tokens = greatest(0, t.most_tokens - h.tokens), overrun_nano = greatest(0, t.most_nano - h.nano)
    where t.tenant = p_tenant and t.hold_id = p_hold and t.state = 'started' returning * into a;
    if not found then
        return;
    end if;
    update holds t set tokens = 0, nano = 0, charged_tokens = t.charged_tokens + a.tokens, charged_nano = t.charged_nano + a.nano
    where t.tenant = p_tenant and t.hold_id = p_hold;
    perform ledger_post(p_tenant, 'presumed', h.scope_ids, h.window_starts, p_now, p_hold => p_hold, p_attempt => a.attempt,
                        p_spent => row(a.tokens, a.nano)::amount, p_held => row(-h.tokens, -h.nano)::amount,
                        p_overrun => row(a.overrun_tokens, a.overrun_nano)::amount);
end $$;

-- Starts attempt p_attempt (null: the next one) and renews the lease. Presumes an unreported one and tops up the hold.
-- p_most_… is the most that its request can use, if that may be more than is held.
create function ledger_start_attempt(p_tenant text, p_hold bigint, p_attempt integer, p_defaults jsonb, p_now timestamptz,
                                     p_most_tokens bigint default null, p_most_nano bigint default null)
returns table (outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_attempt integer;
    v_state text;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', p_attempt, null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    end if;
    v_attempt := coalesce(p_attempt, h.attempts + 1);
    select a.state into v_state from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = v_attempt;
    if h.state <> 'held' then
        return query select 'closed', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state = 'started' then
        return query select 'started', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state is not null or v_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.attempts, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    -- Most attempts are the first of a full hold. They move no balance, so they wait for none.
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano
       or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.state = 'started') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        perform ledger_presume(p_tenant, p_hold, v_now);
        select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    end if;
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano then
        select * into t from ledger_top_up(h, 'top_up', greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
            p_defaults, v_now);
        if not t.fits then
            return query select 'short', v_attempt, h.state, greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
                h.expires_at, t.views;
            return;
        end if;
    end if;
    insert into attempts (tenant, hold_id, attempt, state, most_tokens, most_nano, started_at)
    values (p_tenant, p_hold, v_attempt, 'started', p_most_tokens, p_most_nano, v_now);
    update holds x set attempts = v_attempt, expires_at = v_now + x.lease where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'started', v_attempt, 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Starts attempt 1 of holds that this transaction has just made: they are locked and full, and their lease is new.
create function ledger_start_made(p_tenant text, p_holds bigint[]) returns void language sql as $$
    insert into attempts (tenant, hold_id, attempt, state, started_at)
    select h.tenant, h.hold_id, 1, 'started', h.created_at from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds);
    update holds h set attempts = 1 where h.tenant = p_tenant and h.hold_id = any (p_holds);
$$;

-- Settling attempts.

-- Records the full cost of an attempt. p_keep leaves the hold open for another attempt.
create function ledger_settle(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb, p_digest bytea,
                              p_keep boolean, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    a attempts%rowtype;
    v_state text;
    v_over bigint := 0;
    v_over_nano bigint := 0;
    v_late boolean := false;
    v_free bigint;
    v_free_nano bigint;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found or h.state = 'none' or h.views is null then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, 0;
        return;
    end if;
    select * into a from attempts x where x.tenant = p_tenant and x.hold_id = p_hold and x.attempt = p_attempt;
    if a.state = 'reported' then
        return query select case when a.digest = p_digest then 'repeat' else 'conflict' end,
                            h.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, h.attempts;
        return;
    elsif a.state is null and p_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts;
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_countable(p_tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
    if a.state is null then
        if h.attempts > 0 then
            perform ledger_presume(p_tenant, p_hold, v_now);
            select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
        end if;
        a.tokens := 0;
        a.nano := 0;
        a.overrun_tokens := 0;
        a.overrun_nano := 0;
        h.attempts := p_attempt;
    end if;
    v_state := h.state;
    if h.state <> 'held' or a.state = 'presumed' then
        v_late := true;
        -- Without its overrun, what was presumed is what was held.
        v_over := greatest(0, p_tokens - a.tokens + a.overrun_tokens);
        v_over_nano := greatest(0, p_nano - a.nano + a.overrun_nano);
        perform ledger_post(p_tenant, 'late', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - a.tokens, p_nano - a.nano)::amount,
                            p_overrun => row(v_over - a.overrun_tokens, v_over_nano - a.overrun_nano)::amount);
        -- The charge that it replaces may have fallen out of a rolling window: then the next ask takes this out, too.
        update balances b set rolls_at = v_now from unnest(h.scope_ids, h.window_starts) x (s, w)
        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolls_at > v_now;
    else
        v_over := greatest(0, p_tokens - h.tokens);
        v_over_nano := greatest(0, p_nano - h.nano);
        v_free := case when p_keep then p_tokens - v_over else h.tokens end;
        v_free_nano := case when p_keep then p_nano - v_over_nano else h.nano end;
        perform ledger_post(p_tenant, 'settle', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - v_over, p_nano - v_over_nano)::amount,
                            p_held => row(-v_free, -v_free_nano)::amount);
        if v_over > 0 or v_over_nano > 0 then
            perform ledger_post(p_tenant, 'overrun', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                                p_spent => row(v_over, v_over_nano)::amount, p_overrun => row(v_over, v_over_nano)::amount);
        end if;
        h.tokens := h.tokens - v_free;
        h.nano := h.nano - v_free_nano;
        v_state := case when p_keep then 'held' else 'settled' end;
    end if;
    update holds x set state = v_state, tokens = h.tokens, nano = h.nano, attempts = h.attempts,
           charged_tokens = h.charged_tokens + p_tokens - a.tokens, charged_nano = h.charged_nano + p_nano - a.nano,
           ended_at = case when v_state = 'held' then null else coalesce(h.ended_at, v_now) end
    where x.tenant = p_tenant and x.hold_id = p_hold;
    insert into attempts (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, late, usage, digest,
                          started_at, reported_at)
    values (p_tenant, p_hold, p_attempt, 'reported', p_tokens, p_nano, v_over, v_over_nano, v_late, p_usage, p_digest, v_now, v_now)
    on conflict (tenant, hold_id, attempt) do update set state = excluded.state, tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano, late = excluded.late,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    if v_over > 0 or v_over_nano > 0 then
        perform ledger_warn(p_tenant, h.scope_ids, h.window_starts, array(
            select jsonb_build_object('scope', p.scope, 'mode', p.shared_mode, 'limit', jsonb_build_array(p.shared_tokens, p.shared_nano),
                                      'warn_at', p.warn_at) || p.shadow
            from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p order by p.ord), v_now);
    end if;
    return query select 'settled', v_state, p_tokens, p_nano, v_over, v_over_nano, v_late, h.attempts;
end $$;

-- Settles an attempt whose price is unknown, unless a scope of its path limits money: then nothing is written, and the
-- outermost such scope is returned with its limit.
create function ledger_settle_unpriced(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb,
                                       p_digest bytea, p_keep boolean, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer,
               model text, scope text, limit_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if h.views is not null
       and not exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = p_attempt
                       and a.state = 'reported') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        return query select 'price_needed', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts, h.model, p.scope, p.limit_nano
                     from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p where p.limit_nano is not null and p.shadow = '{}'
                     order by p.ord limit 1;
        if found then
            return;
        end if;
    end if;
    return query select s.*, null::text, null::text, null::bigint
                 from ledger_settle(p_tenant, p_hold, p_attempt, p_tokens, p_nano, p_usage, p_digest, p_keep, p_defaults, p_now) s;
end $$;

-- Releasing, extending and expiring holds.

-- Ends a hold as 'released' or 'expired': an unreported attempt is presumed, the rest is freed.
create function ledger_close(p_tenant text, p_hold bigint, p_state text, p_now timestamptz) returns void language plpgsql as $$
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if h.state <> 'held' then
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_presume(p_tenant, p_hold, p_now);
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    perform ledger_post(p_tenant, case p_state when 'expired' then 'expire' else 'release' end, h.scope_ids, h.window_starts, p_now,
                        p_hold => p_hold, p_held => row(-h.tokens, -h.nano)::amount);
    update holds x set state = p_state, tokens = 0, nano = 0, ended_at = p_now where x.tenant = p_tenant and x.hold_id = p_hold;
end $$;

-- Releases by id or by key. An unused key is closed, so that a late ask cannot hold.
create function ledger_release(p_tenant text, p_hold bigint, p_key text, p_now timestamptz)
returns table (hold_id bigint, state text, charged_tokens bigint, charged_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_hold bigint := p_hold;
    v_state text;
begin
    if p_key is not null then
        insert into holds (tenant, key, state, created_at, ended_at) values (p_tenant, p_key, 'released', v_now, v_now)
        on conflict (tenant, key) where key is not null do nothing;
        select x.hold_id into v_hold from holds x where x.tenant = p_tenant and x.key = p_key;
    end if;
    select x.state into v_state from holds x where x.tenant = p_tenant and x.hold_id = v_hold for update;
    if not found then
        return;
    elsif v_state = 'none' then
        update holds x set state = 'released', ended_at = v_now where x.tenant = p_tenant and x.hold_id = v_hold;
        delete from waiters w where w.tenant = p_tenant and w.hold_id = v_hold;
    else
        perform ledger_close(p_tenant, v_hold, 'released', v_now);
    end if;
    return query select x.hold_id, x.state, x.charged_tokens, x.charged_nano from holds x
    where x.tenant = p_tenant and x.hold_id = v_hold;
end $$;

-- Renews the lease of an open hold and, through the gate, adds to it; p_nano as in ledger_top_up.
create function ledger_extend(p_tenant text, p_hold bigint, p_tokens bigint, p_nano bigint, p_lease interval, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    elsif h.state <> 'held' then
        return query select 'closed', h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    if p_tokens > 0 or p_nano > 0 then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        select * into t from ledger_top_up(h, 'top_up', p_tokens, p_nano, p_defaults, v_now);
        if not t.fits then
            return query select 'short', h.state, h.tokens, h.nano, h.expires_at, t.views;
            return;
        end if;
    end if;
    update holds x set expires_at = greatest(x.expires_at, v_now + coalesce(p_lease, x.lease))
    where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'extended', 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Expires holds whose lease and grace are over, one tenant after the other. Several processes may call it at the same
-- time: each takes different holds.
create function ledger_expire(p_grace interval, p_limit integer, p_now timestamptz) returns integer language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_lapsed timestamptz := v_now - p_grace;
    v_tenant text;
    v_holds bigint[];
    v_count integer := 0;
begin
    for v_tenant in select distinct due.tenant
                    from (select y.tenant from holds y where y.state = 'held' and y.expires_at < v_lapsed
                          order by y.expires_at limit p_limit) due
                    order by 1 loop
        select array_agg(x.hold_id) into v_holds from (
            select y.hold_id from holds y where y.tenant = v_tenant and y.state = 'held' and y.expires_at < v_lapsed
            order by y.expires_at limit p_limit - v_count for update skip locked) x;
        -- To keep the lock order across holds, lock all their balances first.
        perform ledger_lock(v_tenant, array_agg(d.s), array_agg(d.w))
        from (select distinct u.s, u.w from holds x cross join lateral unnest(x.scope_ids, x.window_starts) u (s, w)
              where x.tenant = v_tenant and x.hold_id = any (v_holds)) d;
        perform ledger_close(v_tenant, x.h, 'expired', v_now) from unnest(v_holds) x (h);
        v_count := v_count + coalesce(cardinality(v_holds), 0);
    end loop;
    delete from waiters w where w.last_asked < v_now - interval '1 hour';
    return v_count;
end $$;

-- Batches of steps of holds: attempts, releases and extensions. Each step is judged by itself, in the order of the batch,
-- once the rows of all are locked in the one order: hold rows by id, then balances. So the answers are those that the
-- steps would get one after the other.

-- Locks these holds, and of the open ones the balances, unless the steps move none.
create function ledger_lock_holds(p_tenant text, p_holds bigint[], p_moves boolean) returns void language plpgsql as $$
begin
    perform 1 from (select distinct u.hold_id from unnest(p_holds) u (hold_id) order by 1 offset 0) x
    cross join lateral (select 1 from holds h where h.tenant = p_tenant and h.hold_id = x.hold_id for update offset 0) h;
    if p_moves then
        perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w))
        from (select distinct u.s, u.w
              from unnest(p_holds) x (hold_id)
              cross join lateral (select h.scope_ids, h.window_starts from holds h
                                  where h.tenant = p_tenant and h.hold_id = x.hold_id and h.state = 'held' offset 0) h
              cross join lateral unnest(h.scope_ids, h.window_starts) u (s, w)) d
        having count(*) > 0;
    end if;
end $$;

-- Whether an attempt of one of these holds may move balances: an earlier one is silent, or a top-up is due.
create function ledger_attempts_move(p_tenant text, p_holds bigint[]) returns boolean language sql stable as $$
    select exists (
        select from unnest(p_holds) x (hold_id)
        cross join lateral (select h.hold_id from holds h
                            where h.tenant = p_tenant and h.hold_id = x.hold_id and h.state = 'held'
                              and (h.tokens < h.asked_tokens or h.nano < h.asked_nano
                                   or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = h.hold_id and a.state = 'started'))
                            offset 0) h)
$$;

-- Starts attempts; see ledger_start_attempt.
create function ledger_start_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_mosts bigint[], p_most_nanos bigint[],
                                  p_defaults jsonb, p_now timestamptz)
returns table (ord bigint, outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    perform ledger_lock_holds(p_tenant, p_holds, false);
    if ledger_attempts_move(p_tenant, p_holds) then
        perform ledger_lock_holds(p_tenant, p_holds, true);
    end if;
    return query select x.ord, s.* from unnest(p_holds, p_attempts, p_mosts, p_most_nanos) with ordinality
                     x (hold_id, attempt, most_tokens, most_nano, ord)
                 cross join lateral ledger_start_attempt(p_tenant, x.hold_id, x.attempt, p_defaults, p_now, x.most_tokens, x.most_nano) s;
end $$;

-- Releases holds by id, or by key where the id is null; see ledger_release. Unused keys are closed in the order in which
-- a batch takes new ones.
create function ledger_release_many(p_tenant text, p_holds bigint[], p_keys text[], p_now timestamptz)
returns table (ord bigint, hold_id bigint, state text, charged_tokens bigint, charged_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
    insert into holds (tenant, key, state, created_at, ended_at)
    select p_tenant, k.key, 'released', v_now, v_now from (select distinct u.key from unnest(p_keys) u (key) where u.key is not null) k
    order by k.key on conflict (tenant, key) where key is not null do nothing;
    select array_agg(coalesce(u.hold_id, h.hold_id) order by u.ord) into p_holds
    from unnest(p_holds, p_keys) with ordinality u (hold_id, key, ord)
    left join lateral (select t.hold_id from holds t where t.tenant = p_tenant and t.key = u.key offset 0) h on true;
    perform ledger_lock_holds(p_tenant, p_holds, true);
    return query select x.ord, r.* from unnest(p_holds) with ordinality x (hold_id, ord)
                 cross join lateral ledger_release(p_tenant, x.hold_id, null, p_now) r;
end $$;

-- Extends holds; see ledger_extend.
create function ledger_extend_many(p_tenant text, p_holds bigint[], p_tokens bigint[], p_nanos bigint[], p_leases interval[],
                                   p_defaults jsonb, p_now timestamptz)
returns table (ord bigint, outcome text, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    perform ledger_lock_holds(p_tenant, p_holds, (select bool_or(u.tokens > 0 or u.nano > 0) from unnest(p_tokens, p_nanos) u (tokens, nano)));
    return query select x.ord, e.* from unnest(p_holds, p_tokens, p_nanos, p_leases) with ordinality
                     x (hold_id, tokens, nano, lease, ord)
                 cross join lateral ledger_extend(p_tenant, x.hold_id, x.tokens, x.nano, x.lease, p_defaults, p_now) e;
end $$;

-- Grants: extra limit for a scope in one window.

-- Ends overdue grants of locked balances.
create function ledger_end_grants(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz)
returns integer language plpgsql as $$
declare
    g record;
    v_ended integer := 0;
begin
    if not exists (select 1 from balances b join unnest(p_scopes, p_windows) x (s, w)
                   on b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w where b.grants_end_at <= p_now) then
        return 0;
    end if;
    for g in update grants t set ended_at = p_now
             from unnest(p_scopes, p_windows) x (s, w)
             where t.tenant = p_tenant and t.scope_id = x.s and t.window_start = x.w and t.ended_at is null and t.until <= p_now
             returning t.* loop
        perform ledger_post(p_tenant, 'grant_ended', array[g.scope_id], array[g.window_start], p_now, p_ref => g.grant_id::text,
                            p_granted => row(-g.tokens, -g.nano)::amount);
        v_ended := v_ended + 1;
    end loop;
    update balances b set grants_end_at = (select min(t.until) from grants t
                                           where t.tenant = b.tenant and t.scope_id = b.scope_id and t.window_start = b.window_start
                                             and t.ended_at is null)
    from unnest(p_scopes, p_windows) x (s, w) where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w;
    return v_ended;
end $$;

-- Ends overdue grants of balances that no ask locks, one tenant after the other.
create function ledger_sweep_grants(p_limit integer, p_now timestamptz) returns integer language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_tenant text;
    b record;
    v_count integer := 0;
begin
    for v_tenant in select distinct due.tenant
                    from (select g.tenant from grants g where g.ended_at is null and g.until <= v_now order by g.until limit p_limit) due
                    order by 1 loop
        for b in select x.scope_id, x.window_start
                 from (select distinct g.scope_id, g.window_start
                       from (select * from grants g where g.tenant = v_tenant and g.ended_at is null and g.until <= v_now
                             order by g.until limit greatest(0, p_limit - v_count)) g) due
                 join balances x on x.tenant = v_tenant and x.scope_id = due.scope_id and x.window_start = due.window_start
                 order by x.scope_id, x.window_start for update of x skip locked loop
            v_count := v_count + ledger_end_grants(v_tenant, array[b.scope_id], array[b.window_start], v_now);
        end loop;
    end loop;
    return v_count;
end $$;

-- Grants extra limit to a scope in one window; in a rolling one at most for its length.
create function ledger_grant(p_tenant text, p_scope bigint, p_window timestamptz, p_tokens bigint, p_nano bigint, p_until timestamptz,
                             p_approval text, p_decision text, p_by text, p_now timestamptz)
returns bigint language plpgsql as $$
declare
    v_grant bigint;
begin
    perform ledger_open(p_tenant, array[p_scope], array[p_window], p_now);
    perform ledger_countable(p_tenant, array[p_scope], array[p_window], p_tokens, p_nano);
    p_until := least(p_until, p_now + rolling_length(p_window));
    insert into grants (tenant, scope_id, window_start, tokens, nano, until, approval_id, decision_id, granted_by, created_at)
    values (p_tenant, p_scope, p_window, p_tokens, p_nano, p_until, p_approval, p_decision, p_by, p_now) returning grant_id into v_grant;
    perform ledger_post(p_tenant, 'grant', array[p_scope], array[p_window], p_now, p_ref => v_grant::text,
                        p_granted => row(p_tokens, p_nano)::amount);
    update balances b set grants_end_at = least(b.grants_end_at, p_until)
    where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start = p_window;
    return v_grant;
end $$;

-- Batches. A batch writes those of its calls that are plain, and returns a row for each; the others it leaves alone, and
-- each of them goes through the gate by itself afterwards. Lock order, as everywhere: hold rows, then balances.

-- The policies of scopes that belong to different tasks. Where no task requests anything of a scope, all share one.
create function ledger_policies_of(p_tenant text, p_scopes bigint[], p_tasks text[], p_defaults jsonb)
returns table (ord bigint, scope_id bigint, limit_tokens bigint, limit_nano bigint, mode text, window_of text, policy jsonb)
language sql stable as $$
    with x as materialized (
        select u.ord, u.scope_id, coalesce(r.task, '') as task
        from unnest(p_scopes, p_tasks) with ordinality u (scope_id, task, ord)
        left join lateral (select t.task from policies t
                           where t.tenant = p_tenant and t.scope_id = u.scope_id and t.task = u.task offset 0) r on true
    ), resolved as materialized (
        select d.task, p.*
        from (select distinct x.scope_id, x.task from x) d
        cross join lateral (select * from ledger_policies(p_tenant, array[d.scope_id], d.task, p_defaults) offset 0) p
    )
    select x.ord, x.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win || ' ' || p.zone,
           jsonb_build_object('scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
                              'warn_at', p.warn_at, 'backpressure', p.backpressure, 'frozen', p.frozen)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode) || p.shadow || p.ladder
           || ledger_reserved(ledger_reserve(p.limit_tokens, p.mode, p.last_answer), ledger_reserve(p.limit_nano, p.mode, p.last_answer), 0)
    from x join resolved p on p.scope_id = x.scope_id and p.task = x.task
$$;

-- Versions of the stored policies on which those of these scopes depend. Whoever compares them under the locks of the
-- balances need not resolve the policies again: a change commits before it lets go of its balances. To be read in a
-- statement before the one that resolves, whose snapshot may be newer.
create function ledger_policy_versions(p_tenant text, p_scopes bigint[], p_tasks text[]) returns text[] language sql stable as $$
    select array_agg(v.version order by x.scope_id, x.task, v.source)
    from (select distinct u.scope_id, u.task from unnest(p_scopes, p_tasks) u (scope_id, task)) x
    cross join lateral (
        select 'template' as source, t.xmin::text as version from templated_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id
        union all
        select 'task ' || p.task, p.xmin::text from policies p
        where p.tenant = p_tenant and p.scope_id = x.scope_id and p.task in ('', x.task)
        offset 0) v
$$;

-- What a batch may hold on each of these scopes, whose balances are locked: null, without limit. `later_…` is the room once
-- all open holds have ended. On a scope that is `shut` each ask goes through the gate alone.
create function ledger_batch_rooms(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[], p_lapse interval, p_now timestamptz)
returns table (pos bigint, scope_id bigint, window_start timestamptz, shut boolean, frozen boolean, needs_price boolean,
               room_tokens bigint, room_nano bigint, later_tokens bigint, later_nano bigint)
language sql stable as $$
    select f.pos, f.scope_id, f.start,
           (f.policy ->> 'frozen')::boolean or ledger_due(b, p_now) is true
           or (l.bounded and (l.tokens + b.granted_tokens = 0) is true)
           or (l.bounded and exists (select 1 from waiters w where w.tenant = p_tenant and w.scope_id = f.scope_id
                                     and w.last_asked > p_now - p_lapse and w.asks >= 2)),
           (f.policy ->> 'frozen')::boolean,
           l.nano is not null and not f.policy ? 'shadow',
           r.tokens - b.held_tokens, r.nano - b.held_nano, r.tokens, r.nano
    from unnest(p_scopes, p_windows, p_policies) with ordinality f (scope_id, start, policy, pos)
    cross join lateral (select * from balances t
                        where t.tenant = p_tenant and t.scope_id = f.scope_id and t.window_start = f.start offset 0) b
    cross join lateral (select f.policy ->> 'mode' <> 'soft' as bounded, (f.policy -> 'limit' ->> 0)::bigint as tokens,
                               (f.policy -> 'limit' ->> 1)::bigint as nano offset 0) l
    cross join lateral (
        select case when l.bounded then l.tokens + b.granted_tokens - b.spent_tokens
                                        - coalesce((f.policy -> 'reserve' ->> 0)::bigint, 0) end as tokens,
               case when l.bounded then l.nano + b.granted_nano - b.spent_nano
                                        - coalesce((f.policy -> 'reserve' ->> 1)::bigint, 0) end as nano
        offset 0) r
$$;

-- Creates the scopes that asks of these groups lack, and returns the groups concerned. An ask under a used key needs none.
create function ledger_batch_scopes(p_tenant text, p_keys text[], p_groups bigint[], p_paths text[], p_labels text[], p_fresh bigint[])
returns bigint[] language sql as $$
    with lacking as (
        select g.grp, kind_of(t.name) as kind, id_of(t.name) as id
        from (select distinct a.grp from unnest(p_keys, p_groups) a (key, grp)
              where a.grp = any (p_fresh) and not exists (select from holds h where h.tenant = p_tenant and h.key = a.key)) g
        cross join lateral ledger_expand(p_tenant, string_to_array(p_paths[g.grp], ' '), string_to_array(p_labels[g.grp], ' ')) t
        where t.scope_id is null
    ), made as (
        insert into scopes (tenant, kind, id) select distinct p_tenant, l.kind, l.id from lacking l order by 2, 3 on conflict do nothing
    )
    select array_agg(distinct l.grp) from lacking l
$$;

-- Posts events on locked balances: for each event, in order, an entry on every scope of its group. The scopes of all groups
-- are flattened (`f_…`). p_limits, p_nanos and p_modes are those that the gate applied to each of them; null leaves those
-- of the balances. Groups of different tasks may have different limits on one balance, so these stay with their events.
create function ledger_post_many(p_tenant text, p_kinds text[], p_holds bigint[], p_attempts integer[], p_groups bigint[],
                                 p_spent bigint[], p_spent_nano bigint[], p_held bigint[], p_held_nano bigint[],
                                 p_overrun bigint[], p_overrun_nano bigint[], f_grp bigint[], f_scope bigint[], f_start timestamptz[],
                                 p_limits bigint[], p_nanos bigint[], p_modes text[], p_now timestamptz)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    -- In the order of the events, and taken under the locks.
    v_numbers bigint[] := array(select nextval('journal_number_seq') from generate_series(1, cardinality(p_kinds)));
    v_differ boolean := p_modes is not null and f_grp[1] <> f_grp[cardinality(f_grp)] and exists (
        select from unnest(f_scope, f_start, p_limits, p_nanos, p_modes) f (scope_id, start, tokens, nano, mode)
        group by f.scope_id, f.start having count(distinct row(f.tokens, f.nano, f.mode)) > 1);
begin
    with parts as materialized (
        select e.*, f.scope_id, f.start, f.pos, row_number() over (partition by f.scope_id, f.start order by e.ord) as n
        from unnest(p_groups, p_spent, p_spent_nano, p_held, p_held_nano, p_overrun, p_overrun_nano) with ordinality
             e (grp, spent, spent_nano, held, held_nano, overrun, overrun_nano, ord)
        join unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos) on f.grp = e.grp
    ), totals as (
        select m.scope_id, m.start, count(*) as n, sum(m.spent) as spent, sum(m.spent_nano) as spent_nano,
               sum(m.held) as held, sum(m.held_nano) as held_nano, sum(m.overrun) as overrun, sum(m.overrun_nano) as overrun_nano,
               (array_agg(m.pos order by m.n desc))[1] as pos
        from parts m group by m.scope_id, m.start
    ), moved as (
        update balances b set
            spent_tokens = b.spent_tokens + t.spent, spent_nano = b.spent_nano + t.spent_nano,
            held_tokens = b.held_tokens + t.held, held_nano = b.held_nano + t.held_nano,
            overrun_tokens = b.overrun_tokens + t.overrun, overrun_nano = b.overrun_nano + t.overrun_nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[t.pos] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[t.pos] end,
            mode = case when p_modes is null then b.mode else p_modes[t.pos] end,
            seq = b.seq + t.n, updated_at = p_now
        from totals t where b.tenant = p_tenant and b.scope_id = any (f_scope) and b.scope_id = t.scope_id and b.window_start = t.start
        returning b.*, b.seq - t.n as seq_before
    ), posted as (
        insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                              spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                              spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
        select b.tenant, b.scope_id, b.window_start, b.seq_before + 1, b.seq, v_numbers[1], v_numbers[cardinality(v_numbers)], p_now, false,
               b.spent_tokens, b.held_tokens, b.granted_tokens, b.overrun_tokens,
               b.spent_nano, b.held_nano, b.granted_nano, b.overrun_nano, b.limit_tokens, b.limit_nano, b.mode
        from moved b
    ), scopes_of as (
        select m.ord, array_agg(m.scope_id order by m.pos) as ids, array_agg(m.start order by m.pos) as starts,
               array_agg(b.seq_before + m.n order by m.pos) as seqs,
               case when v_differ then array_agg(p_limits[m.pos] order by m.pos) end as limits,
               case when v_differ then array_agg(p_nanos[m.pos] order by m.pos) end as nanos,
               case when v_differ then array_agg(p_modes[m.pos] order by m.pos) end as modes
        from parts m join moved b on b.scope_id = m.scope_id and b.window_start = m.start group by m.ord
    )
    insert into journal (tenant, number, at, kind, hold_id, attempt, scope_ids, window_starts, seqs,
                         d_spent_tokens, d_held_tokens, d_overrun_tokens, d_spent_nano, d_held_nano, d_overrun_nano,
                         limits_tokens, limits_nano, modes) overriding system value
    select p_tenant, v_numbers[s.ord], p_now, p_kinds[s.ord], p_holds[s.ord], p_attempts[s.ord], s.ids, s.starts, s.seqs,
           p_spent[s.ord], p_held[s.ord], p_overrun[s.ord], p_spent_nano[s.ord], p_held_nano[s.ord], p_overrun_nano[s.ord],
           s.limits, s.nanos, s.modes
    from scopes_of s order by s.ord;
end $$;

-- Holds those asks of one tenant that are plain: under a new key, and fitting in full even if each ask before it got all
-- that it can get. So who comes first in a batch is never passed by who comes later. Asks with the same path, labels and
-- task form a group: p_groups has the number of each ask's group, whose scopes and labels, separated by blanks, are in
-- p_paths and p_labels. The money of an ask is null if its price is unknown.
-- An ask under a new key whose minimum would not fit even if all open holds had ended is answered too: its key is bound,
-- and nothing is held. Returns for each ask that is answered its place in the batch, and for each group the gate's views of
-- its scopes before the batch, in the order of scope_ids.
create function ledger_hold_many(p_tenant text, p_paths text[], p_labels text[], p_tasks text[],
                                 p_keys text[], p_digests bytea[], p_groups bigint[], p_models text[],
                                 p_tokens bigint[], p_nanos bigint[], p_leases interval[], p_lapse interval, p_defaults jsonb, p_now timestamptz,
                                 p_leasts bigint[], p_least_nanos bigint[])
returns table (grp bigint, place bigint, hold_id bigint, expires_at timestamptz,
               scope_ids bigint[], window_starts timestamptz[], views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    f_grp bigint[];                                   -- the scopes of all groups, flattened
    f_scope bigint[];
    f_task text[];
    f_start timestamptz[];
    f_limit bigint[];
    f_nano bigint[];
    f_mode text[];
    f_policy jsonb[];
    v_versions text[];
    v_places bigint[] := array(select generate_series(1, cardinality(p_keys)));
    v_nanos bigint[] := array(select coalesce(u.n, 0) from unnest(p_nanos) with ordinality u (n, ord) order by u.ord);
    v_fresh bigint[];                                 -- groups with a scope that does not exist
    v_made bigint[];                                  -- groups of which this batch creates scopes
    v_ids bigint[];
    v_held bigint[];                                  -- the hold of each ask; null for one that is not plain
    v_plain bigint[];                                 -- the asks that are plain
    v_short bigint[];                                 -- the asks that cannot fit, whatever ends
    v_asked bigint[] := '{}';                         -- the groups of these
    v_undone boolean;                                 -- whether a scope was created for an ask that needs a price
    v_seen jsonb;                                     -- the gate's views by group
    v_zeros bigint[];
begin
    loop
        select array_agg(g.grp order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(g.task order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(t.scope_id order by g.grp, t.ord) filter (where t.scope_id is not null),
               coalesce(array_agg(g.grp) filter (where t.scope_id is null), '{}')
        into f_grp, f_task, f_scope, v_fresh
        from unnest(p_paths, p_labels, p_tasks) with ordinality g (path, labels, task, grp)
        cross join lateral ledger_expand(p_tenant, string_to_array(g.path, ' '), string_to_array(g.labels, ' ')) t;
        exit when v_fresh = '{}' or v_made is not null;
        v_made := ledger_batch_scopes(p_tenant, p_keys, p_groups, p_paths, p_labels, v_fresh);
        exit when v_made is null;
    end loop;
    -- Amounts that may exceed the range of a balance are not plain.
    if f_scope is null or (select max(n) from unnest(v_nanos) n) > 1000000000000 then
        return;
    end if;
    v_versions := ledger_policy_versions(p_tenant, f_scope, f_task);
    select array_agg(ledger_window_start(split_part(p.window_of, ' ', 1), split_part(p.window_of, ' ', 2), v_now) order by p.ord),
           array_agg(p.limit_tokens order by p.ord), array_agg(p.limit_nano order by p.ord), array_agg(p.mode order by p.ord),
           array_agg(p.policy order by p.ord)
    into f_start, f_limit, f_nano, f_mode, f_policy from ledger_policies_of(p_tenant, f_scope, f_task, p_defaults) p;

    -- Their ids are taken before they are inserted, so that each ask knows its own.
    v_ids := array(select nextval('holds_hold_id_seq') from generate_series(1, cardinality(p_keys)));
    with paths as materialized (
        select f.grp, string_to_array(p_paths[f.grp], ' ') as path, string_to_array(p_labels[f.grp], ' ') as labels, p_tasks[f.grp] as task,
               array_agg(f.scope_id order by f.ord) as scope_ids, array_agg(f.start order by f.ord) as starts,
               jsonb_agg(f.policy order by f.ord) as policies
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, ord)
        where f.grp <> all (v_fresh) group by f.grp
    ), made as (
        insert into holds (tenant, hold_id, key, digest, path, labels, task, model, scope_ids, window_starts, state, asked_tokens, asked_nano,
                           tokens, nano, views, lease, expires_at, created_at) overriding system value
        select p_tenant, a.id, a.key, a.digest, p.path, p.labels, p.task, a.model, p.scope_ids, p.starts,
               'held', a.tokens, a.nano, a.tokens, a.nano, p.policies, a.lease, v_now + a.lease, v_now
        from unnest(v_ids, p_keys, p_digests, p_groups, p_models, p_tokens, v_nanos, p_leases)
             a (id, key, digest, grp, model, tokens, nano, lease)
        join paths p on p.grp = a.grp
        order by a.key on conflict (tenant, key) where key is not null do nothing returning hold_id
    )
    select array_agg(m.hold_id order by a.ord) into v_held
    from unnest(v_ids) with ordinality a (id, ord) left join made m on m.hold_id = a.id;

    perform ledger_open(p_tenant, array_agg(d.s), array_agg(d.w), v_now) from (select distinct s, w from unnest(f_scope, f_start) u (s, w)) d;
    if ledger_policy_versions(p_tenant, f_scope, f_task) is distinct from v_versions then
        raise exception using errcode = 'PB001', message = 'a policy changed';
    end if;
    if array_position(v_held, null) is not null or exists (
        select 1
        from ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r
        join (select f.scope_id, f.start, sum(g.tokens) as tokens, sum(g.nano) as nano, bool_or(g.unpriced) as unpriced
              from (select a.grp, sum(a.tokens) as tokens, sum(a.nano) as nano, bool_or(a.nano is null) as unpriced
                    from unnest(p_tokens, p_nanos, p_groups) a (tokens, nano, grp) group by 1) g
              join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start) on f.grp = g.grp
              group by 1, 2) d on d.scope_id = r.scope_id and d.start = r.window_start
        where r.shut or (d.unpriced and r.needs_price) or d.tokens > r.room_tokens or (d.nano > 0 and d.nano > r.room_nano))
    then
        with asks as (
            select a.*, r.scope_id, r.window_start, r.room_tokens, r.room_nano, r.later_tokens, r.later_nano, r.shut, r.needs_price, r.frozen
            from unnest(v_held, p_tokens, v_nanos, p_leasts, p_least_nanos, p_nanos, p_groups) with ordinality
                 a (hold_id, tokens, nano, least, least_nano, price, grp, ord)
            join unnest(f_grp) with ordinality f (grp, pos) on f.grp = a.grp
            join ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r on r.pos = f.pos
        ), hopes as (
            -- An ask that cannot get even its minimum takes no room from those behind it.
            select a.*, bool_or(a.frozen or (not a.shut and ((a.least > a.room_tokens) is true
                                                             or (a.least_nano > 0 and a.least_nano > a.room_nano) is true)))
                            over (partition by a.ord) as hopeless
            from asks a
        ), running as (
            select h.*, sum(case when h.hopeless then 0 else h.tokens end) over w as sum_tokens,
                   sum(case when h.hopeless then 0 else h.nano end) over w as sum_nano
            from hopes h window w as (partition by h.scope_id, h.window_start order by h.ord)
        )
        select array_agg(x.ord order by x.ord) filter (where x.plain), coalesce(array_agg(x.ord) filter (where x.short), '{}'),
               bool_or(x.unpriced and x.grp = any (v_made))
        into v_plain, v_short, v_undone
        from (select r.ord, r.grp, bool_or(r.price is null and r.needs_price) as unpriced,
                     bool_and(r.hold_id is not null and not r.shut and not (r.price is null and r.needs_price))
                         and bool_or(r.least > r.later_tokens or (r.least_nano > 0 and r.least_nano > r.later_nano)) as short,
                     bool_and(r.hold_id is not null and not r.hopeless and not r.shut and not (r.price is null and r.needs_price)
                              and (r.sum_tokens > r.room_tokens) is not true and (r.nano > 0 and r.sum_nano > r.room_nano) is not true) as plain
              from running r group by r.ord, r.grp) x;
        -- Nothing of an ask that needs a price is written, not even the names of its scopes.
        if (v_plain is null and v_short = '{}') or v_undone then
            raise exception using errcode = 'PB001', message = 'no plain ask';
        end if;
        v_plain := coalesce(v_plain, '{}');
        delete from holds h using unnest(v_held) with ordinality x (hold_id, ord)
        where h.tenant = p_tenant and h.hold_id = any (v_held) and h.hold_id = x.hold_id and x.ord <> all (v_plain);
        insert into holds (tenant, hold_id, key, digest, state, created_at) overriding system value
        select p_tenant, v_held[x.ord], p_keys[x.ord], p_digests[x.ord], 'none', v_now from unnest(v_short) x (ord) order by p_keys[x.ord];
        v_asked := array(select distinct p_groups[x.ord] from unnest(v_short) x (ord));
        select coalesce(array_agg(a.ord order by a.ord), '{}'), coalesce(array_agg(a.hold_id order by a.ord), '{}'),
               array_agg(a.tokens order by a.ord), array_agg(a.nano order by a.ord),
               coalesce(array_agg(a.grp order by a.ord), '{}'), array_agg(a.lease order by a.ord)
        into v_places, v_held, p_tokens, v_nanos, p_groups, p_leases
        from unnest(v_held, p_tokens, v_nanos, p_groups, p_leases) with ordinality a (hold_id, tokens, nano, grp, lease, ord)
        where a.ord = any (v_plain);
    end if;

    select jsonb_object_agg(g.grp, g.views) into v_seen from (
        select f.grp, jsonb_agg(f.policy || jsonb_build_object(
                   'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
                   'granted', jsonb_build_array(b.granted_tokens, b.granted_nano),
                   'window_start', calendar_start(b.window_start), 'queued', false) order by f.pos) as views
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, pos)
        cross join lateral (select * from balances t
                            where t.tenant = p_tenant and t.scope_id = f.scope_id and t.window_start = f.start offset 0) b
        where f.grp = any (p_groups || v_asked) group by f.grp) g;
    if v_held <> '{}' then
        v_zeros := array_fill(0, array[cardinality(v_held)]);
        perform ledger_post_many(p_tenant, array_fill('hold'::text, array[cardinality(v_held)]), v_held, null, p_groups,
                                 v_zeros, v_zeros, p_tokens, v_nanos, v_zeros, v_zeros, f_grp, f_scope, f_start, f_limit, f_nano, f_mode, v_now);
        perform ledger_warn(p_tenant, array_agg(f.scope_id), array_agg(f.start), array_agg(f.policy), v_now)
        from unnest(f_grp, f_scope, f_start, f_policy) f (grp, scope_id, start, policy) where f.grp = any (p_groups);
    end if;
    -- Only now: what is returned stays returned, even if all that was written is undone below.
    return query select null::bigint, a.place, a.hold_id, v_now + a.lease, null::bigint[], null::timestamptz[], null::jsonb
                 from unnest(v_places, v_held, p_leases) a (place, hold_id, lease)
                 union all
                 select null, x.ord, null, null, null, null, null from unnest(v_short) x (ord)
                 order by 2;
    return query select f.grp, null::bigint, null::bigint, null::timestamptz, array_agg(f.scope_id order by f.pos),
                        array_agg(f.start order by f.pos), v_seen -> f.grp::text
                 from unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos)
                 where v_seen ? f.grp::text group by f.grp;
exception when sqlstate 'PB001' or numeric_value_out_of_range then
    return;
end $$;

-- Settles those attempts of one tenant that are next or in progress on open holds: overruns last, and of these last those
-- that free nothing of the other unit, so that what is spent and held is highest at the end, where warnings look. No order
-- does that for an overrun of money that frees tokens beside one of tokens that frees money: the former is left alone.
-- Holds that draw on the same balances form a group, as in ledger_post_many.
create function ledger_settle_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_tokens bigint[], p_nanos bigint[],
    p_usages jsonb[], p_digests bytea[], p_defaults jsonb, p_now timestamptz)
returns table (hold_id bigint, overrun_tokens bigint, overrun_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_groups bigint[];
    v_held bigint[];                                  -- what each hold held
    v_held_nano bigint[];
    v_over bigint[];
    v_over_nano bigint[];
    v_overrun boolean;
    f_grp bigint[];                                   -- the scopes of all groups, flattened
    f_scope bigint[];
    f_start timestamptz[];
begin
    perform 1 from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds) order by h.hold_id for update;
    with reports as materialized (
        select s.*, h.tokens as held, h.nano as held_nano, h.scope_ids, h.window_starts,
               case when s.tokens <= h.tokens and s.nano <= h.nano then 0
                    when s.tokens < h.tokens or s.nano < h.nano then 1 else 2 end as rank,
               bool_or(s.tokens > h.tokens and s.nano < h.nano) over () as any_frees_money,
               dense_rank() over (order by h.scope_ids, h.window_starts) as grp
        from unnest(p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests) with ordinality
             s (hold_id, attempt, tokens, nano, usage, digest, ord)
        cross join lateral (select * from holds h where h.tenant = p_tenant and h.hold_id = s.hold_id offset 0) h
        left join lateral (select a.state from attempts a
                           where a.tenant = p_tenant and a.hold_id = s.hold_id and a.attempt = h.attempts offset 0) a on true
        where h.state = 'held' and s.tokens <= 1000000000 and s.nano <= 1000000000000
          and ((h.attempts = s.attempt and a.state = 'started') or (h.attempts + 1 = s.attempt and a.state is distinct from 'started'))
    ), kept as materialized (
        select * from reports s where not (s.rank = 1 and s.tokens < s.held and s.any_frees_money)
    ), groups as (
        select distinct on (k.grp) k.grp, k.scope_ids, k.window_starts from kept k
    )
    select array_agg(k.hold_id order by k.rank, k.ord), array_agg(k.attempt order by k.rank, k.ord),
           array_agg(k.tokens order by k.rank, k.ord), array_agg(k.nano order by k.rank, k.ord),
           array_agg(k.usage order by k.rank, k.ord), array_agg(k.digest order by k.rank, k.ord),
           array_agg(k.held order by k.rank, k.ord), array_agg(k.held_nano order by k.rank, k.ord),
           array_agg(greatest(0, k.tokens - k.held) order by k.rank, k.ord),
           array_agg(greatest(0, k.nano - k.held_nano) order by k.rank, k.ord),
           array_agg(k.grp order by k.rank, k.ord), bool_or(k.rank > 0),
           (select array_agg(g.grp order by g.grp, u.ord) from groups g cross join lateral unnest(g.scope_ids) with ordinality u (s, ord)),
           (select array_agg(u.s order by g.grp, u.ord) from groups g cross join lateral unnest(g.scope_ids) with ordinality u (s, ord)),
           (select array_agg(u.w order by g.grp, u.ord) from groups g cross join lateral unnest(g.window_starts) with ordinality u (w, ord))
    into p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests, v_held, v_held_nano, v_over, v_over_nano, v_groups, v_overrun,
         f_grp, f_scope, f_start
    from kept k;
    if p_holds is null then
        return;
    end if;
    insert into attempts as a (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, usage, digest, started_at, reported_at)
    select p_tenant, s.hold_id, s.attempt, 'reported', s.tokens, s.nano, s.over, s.over_nano, s.usage, s.digest, v_now, v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos, v_over, v_over_nano, p_usages, p_digests)
         s (hold_id, attempt, tokens, nano, over, over_nano, usage, digest)
    on conflict (tenant, hold_id, attempt) do update set state = 'reported', tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    update holds h set state = 'settled', tokens = 0, nano = 0, attempts = s.attempt, charged_tokens = h.charged_tokens + s.tokens,
           charged_nano = h.charged_nano + s.nano, ended_at = v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos) s (hold_id, attempt, tokens, nano)
    where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id;
    -- Only now, so that other calls on these balances wait as briefly as possible: the holds are locked already.
    perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w)) from (select distinct u.s, u.w from unnest(f_scope, f_start) u (s, w)) d;
    -- What exceeds a hold is an entry of its own.
    perform ledger_post_many(p_tenant, array_agg(e.kind order by e.ord, e.part), array_agg(e.hold_id order by e.ord, e.part),
                             array_agg(e.attempt order by e.ord, e.part), array_agg(e.grp order by e.ord, e.part),
                             array_agg(e.spent order by e.ord, e.part), array_agg(e.spent_nano order by e.ord, e.part),
                             array_agg(e.held order by e.ord, e.part), array_agg(e.held_nano order by e.ord, e.part),
                             array_agg(e.over order by e.ord, e.part), array_agg(e.over_nano order by e.ord, e.part),
                             f_grp, f_scope, f_start, null, null, null, v_now)
    from unnest(p_holds, p_attempts, v_groups, p_tokens, p_nanos, v_held, v_held_nano, v_over, v_over_nano) with ordinality
         r (hold_id, attempt, grp, tokens, nano, held, held_nano, over, over_nano, ord)
    cross join lateral (
        select r.ord, 1 as part, 'settle' as kind, r.hold_id, r.attempt, r.grp, r.tokens - r.over as spent, r.nano - r.over_nano as spent_nano,
               -r.held as held, -r.held_nano as held_nano, 0::bigint as over, 0::bigint as over_nano
        union all
        select r.ord, 2, 'overrun', r.hold_id, r.attempt, r.grp, r.over, r.over_nano, 0, 0, r.over, r.over_nano
        where r.over > 0 or r.over_nano > 0) e;
    return query select s.* from unnest(p_holds, v_over, v_over_nano) s (hold_id, over, over_nano);
    if v_overrun then
        perform ledger_warn(p_tenant, array_agg(x.scope_id), array_agg(x.start), array_agg(p.policy), v_now)
        from (select distinct f.scope_id, f.start, h.task
              from unnest(p_holds, v_groups, v_over, v_over_nano) s (hold_id, grp, over, over_nano)
              cross join lateral (select t.task from holds t where t.tenant = p_tenant and t.hold_id = s.hold_id offset 0) h
              join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start) on f.grp = s.grp
              where s.over > 0 or s.over_nano > 0) x
        cross join lateral ledger_policies_of(p_tenant, array[x.scope_id], array[x.task], p_defaults) p;
    end if;
end $$;

-- Digests of closed ranges of the journal, made in the background: they reveal what is deleted or changed later.
-- A range can be closed once every transaction that may have taken one of its numbers has ended.

create table checkpoints (
    checkpoint_id bigint generated always as identity primary key,
    first_number  bigint not null,                    -- numbers may be missing: failed transactions took them
    last_number   bigint not null,
    events        bigint not null,
    previous      bytea not null,                     -- digest of the previous checkpoint; empty for the first
    digest        bytea not null,
    made_at       timestamptz not null
);

create function checkpoints_are_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'checkpoints are append-only';
end $$;
create trigger checkpoints_append_only before update or delete or truncate on checkpoints
    for each statement execute function checkpoints_are_append_only();

-- The highest number that was taken at some time, and the first transaction that cannot have taken a number up to it.
create table checkpoint_horizon (
    one         boolean primary key default true check (one),
    last_number bigint not null,
    xid         xid8 not null
);

-- SHA-256 over the previous digest and the rows of a range in order: its events, then the postings that end in it. Columns
-- are named: adding one later changes no digest.
create function ledger_digest(p_first bigint, p_last bigint, p_previous bytea) returns bytea
language sql stable set timezone = 'UTC' set datestyle = 'ISO' as $$
    select sha256(p_previous || convert_to(e'\n' || coalesce((
        select string_agg(
            row(j.tenant, j.number, j.at, j.kind, j.hold_id, j.attempt, j.ref, j.scope_ids, j.window_starts, j.seqs,
                j.d_spent_tokens, j.d_held_tokens, j.d_granted_tokens, j.d_overrun_tokens,
                j.d_spent_nano, j.d_held_nano, j.d_granted_nano, j.d_overrun_nano, j.limits_tokens, j.limits_nano, j.modes)::text,
            e'\n' order by j.number)
        from journal j where 0 + j.number between p_first and p_last), '') || e'\n\n' || coalesce((
        select string_agg(
            row(p.tenant, p.scope_id, p.window_start, p.first_seq, p.last_seq, p.first_number, p.last_number, p.at, p.late,
                p.spent_tokens, p.held_tokens, p.granted_tokens, p.overrun_tokens,
                p.spent_nano, p.held_nano, p.granted_nano, p.overrun_nano, p.limit_tokens, p.limit_nano, p.mode)::text,
            e'\n' order by p.last_number, p.tenant, p.scope_id, p.window_start, p.last_seq)
        from postings p where p.last_number between p_first and p_last), ''), 'UTF8'))
$$;

-- Closes the range that can be closed, at most p_most numbers at once, and records the highest number. Several processes
-- may call it at the same time: one does the work. Returns how many numbers were closed.
create function ledger_checkpoint(p_most bigint, p_now timestamptz) returns bigint language plpgsql as $$
declare
    v_snapshot pg_snapshot := pg_current_snapshot();
    -- Read before this transaction has an id: whoever took a number up to it has a lower transaction id.
    v_highest bigint := coalesce(pg_sequence_last_value(pg_get_serial_sequence('journal', 'number')::regclass), 0);
    v_horizon checkpoint_horizon%rowtype;
    v_before checkpoints%rowtype;
    v_first bigint;
    v_last bigint;
    v_closed bigint := 0;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser checkpoints', 0)) then
        return 0;
    end if;
    select * into v_horizon from checkpoint_horizon;
    if found and pg_snapshot_xmin(v_snapshot) >= v_horizon.xid then
        select * into v_before from checkpoints order by checkpoint_id desc limit 1;
        v_first := coalesce(v_before.last_number, 0) + 1;
        v_last := least(v_horizon.last_number, v_first + p_most - 1);
        if v_last >= v_first then
            v_closed := v_last - v_first + 1;
            insert into checkpoints (first_number, last_number, events, previous, digest, made_at)
            values (v_first, v_last, (select count(*) from journal j where 0 + j.number between v_first and v_last),
                coalesce(v_before.digest, ''), ledger_digest(v_first, v_last, coalesce(v_before.digest, '')),
                    coalesce(p_now, clock_timestamp()));
        end if;
    -- A horizon beyond all transactions comes from another cluster: the database was restored.
    elsif found and v_horizon.xid <= pg_snapshot_xmax(v_snapshot) then
        return 0;
    end if;
    -- The horizon only moves once all numbers up to it are closed.
    if v_horizon.last_number is null or v_last is null or v_last >= v_horizon.last_number then
        insert into checkpoint_horizon (last_number, xid) values (v_highest, pg_current_xact_id())
        on conflict (one) do update set last_number = excluded.last_number, xid = excluded.xid;
    end if;
    return v_closed;
end $$;

-- Retention of the journal: deletes the oldest range that a checkpoint closed, whole, once all its events are old enough. Before
-- its rows go, they are compared with its digest, and closings take their place.

-- The next range to delete, if all its events are older than p_age; else no row. Rolling windows look back 31 days, and so
-- does what they posted as rolled off: younger events are needed.
create function ledger_next_range(p_age interval, p_now timestamptz) returns setof checkpoints language plpgsql stable rows 1 as $$
begin
    if p_age < interval '62 days' then
        raise exception 'the ledger keeps 62 days at least';
    end if;
    return query select c.* from checkpoints c
    where c.checkpoint_id = (select min(k.checkpoint_id) from checkpoints k
                             where k.checkpoint_id > coalesce((select max(r.checkpoint_id) from closed_ranges r), 0))
      and not exists (select from journal j where 0 + j.number between c.first_number and c.last_number
                                              and j.at >= coalesce(p_now, clock_timestamp()) - p_age);
end $$;

-- Rolling balances of that range from which some of its charges have not fallen out, because nobody asked since.
create function ledger_not_rolled(r checkpoints) returns setof balances language sql stable as $$
    select b.* from (
        select m.tenant, m.scope_id, m.window_start, max(m.seq) as seq from moves m
        where 0 + m.number between r.first_number and r.last_number and rolling_length(m.window_start) is not null group by 1, 2, 3) m
    join balances b on b.tenant = m.tenant and b.scope_id = m.scope_id and b.window_start = m.window_start
    where b.rolled_to < m.seq
$$;

-- Takes out what the next ask would take out of at most p_most such balances; returns how many. They are locked until this
-- commits, so it has a transaction of its own.
create function ledger_roll_off_range(p_age interval, p_most integer, p_now timestamptz) returns bigint language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_rolled bigint := 0;
    b record;
begin
    for b in select n.tenant, array_agg(n.scope_id) as scopes, array_agg(n.window_start) as windows
             from (select n.* from ledger_next_range(p_age, p_now) r cross join lateral ledger_not_rolled(r) n
                   where n.rolls_at <= v_now limit p_most) n
             group by n.tenant order by n.tenant loop
        perform ledger_lock(b.tenant, b.scopes, b.windows);
        perform ledger_roll_off(b.tenant, b.scopes, b.windows, v_now);
        v_rolled := v_rolled + cardinality(b.scopes);
    end loop;
    return v_rolled;
end $$;

-- The closings of a range: those before it, with what its entries moved and what these holds had been charged.
-- Its lists are long, and the planner, which takes those without statistics for short ones, would compare each row with each.
create function ledger_closings(r checkpoints, p_tenants text[], p_holds bigint[]) returns setof closings
language sql stable set enable_nestloop = off as $$
    with moved as materialized (
        select m.tenant, m.scope_id, m.window_start, min(m.at) as first_at, max(m.at) as at, count(*) as entries, max(m.number) as number,
               sum(m.d_spent_tokens) as spent_tokens, sum(m.d_held_tokens) as held_tokens,
               sum(m.d_granted_tokens) as granted_tokens, sum(m.d_overrun_tokens) as overrun_tokens,
               sum(m.d_spent_nano) as spent_nano, sum(m.d_held_nano) as held_nano,
               sum(m.d_granted_nano) as granted_nano, sum(m.d_overrun_nano) as overrun_nano,
               sum(-m.d_spent_tokens) filter (where m.kind = 'rolled_off') as rolled_tokens,
               sum(-m.d_spent_nano) filter (where m.kind = 'rolled_off') as rolled_nano,
               count(*) filter (where m.kind = 'grant') as grants_made, count(*) filter (where m.kind = 'grant_ended') as grants_ended
        from moves m where 0 + m.number between r.first_number and r.last_number group by 1, 2, 3
    ), posted as materialized (
        select distinct on (p.tenant, p.scope_id, p.window_start) p.* from postings p
        where p.last_number between r.first_number and r.last_number order by p.tenant, p.scope_id, p.window_start, p.last_seq desc
    ), gone as materialized (
        select h.tenant, u.scope_id, u.window_start, sum(h.charged_tokens) as tokens, sum(h.charged_nano) as nano
        from unnest(p_tenants, p_holds) g (tenant, hold_id)
        cross join lateral (select * from holds h where h.tenant = g.tenant and h.hold_id = g.hold_id offset 0) h
        cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, window_start) group by 1, 2, 3
    ), named as (
        select tenant, scope_id, window_start from moved union select tenant, scope_id, window_start from posted
        union select tenant, scope_id, window_start from gone
    )
    select n.tenant, n.scope_id, n.window_start, coalesce(c.first_at, m.first_at), greatest(c.at, m.at),
           coalesce(c.seq, 0) + coalesce(m.entries, 0), coalesce(m.number, c.number), coalesce(p.last_seq, c.posted_seq, 0),
           coalesce(c.spent_tokens, 0) + coalesce(m.spent_tokens, 0), coalesce(c.held_tokens, 0) + coalesce(m.held_tokens, 0),
           coalesce(c.granted_tokens, 0) + coalesce(m.granted_tokens, 0), coalesce(c.overrun_tokens, 0) + coalesce(m.overrun_tokens, 0),
           coalesce(c.spent_nano, 0) + coalesce(m.spent_nano, 0), coalesce(c.held_nano, 0) + coalesce(m.held_nano, 0),
           coalesce(c.granted_nano, 0) + coalesce(m.granted_nano, 0), coalesce(c.overrun_nano, 0) + coalesce(m.overrun_nano, 0),
           case when p.tenant is null then c.limit_tokens else p.limit_tokens end,
           case when p.tenant is null then c.limit_nano else p.limit_nano end, coalesce(p.mode, c.mode, 'soft'),
           coalesce(c.rolled_tokens, 0) + coalesce(m.rolled_tokens, 0), coalesce(c.rolled_nano, 0) + coalesce(m.rolled_nano, 0),
           coalesce(c.gone_tokens, 0) + coalesce(g.tokens, 0), coalesce(c.gone_nano, 0) + coalesce(g.nano, 0),
           coalesce(c.grants_made, 0) + coalesce(m.grants_made, 0), coalesce(c.grants_ended, 0) + coalesce(m.grants_ended, 0)
    from named n
    left join moved m on m.tenant = n.tenant and m.scope_id = n.scope_id and m.window_start = n.window_start
    left join posted p on p.tenant = n.tenant and p.scope_id = n.scope_id and p.window_start = n.window_start
    left join gone g on g.tenant = n.tenant and g.scope_id = n.scope_id and g.window_start = n.window_start
    left join closings c on c.tenant = n.tenant and c.scope_id = n.scope_id and c.window_start = n.window_start
$$;

-- Whether the journal itself has the figures of this closing after that entry.
create function ledger_proves(c closings, r checkpoints) returns boolean language sql stable as $$
    select (c.number < r.first_number or exists (
                select from moves m where m.tenant = c.tenant and m.number = c.number
                                      and m.scope_id = c.scope_id and m.window_start = c.window_start and m.seq = c.seq))
       and exists (
           select from ledger_posting(c.tenant, c.scope_id, c.window_start, c.seq) p cross join lateral ledger_after(p, c.number) a
           where (a.spent_tokens, a.held_tokens, a.granted_tokens, a.overrun_tokens, a.spent_nano, a.held_nano, a.granted_nano, a.overrun_nano)
               = (c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano))
$$;

-- The events of these holds in a range, added to those that were carried before.
create function ledger_carried(r checkpoints, p_tenants text[], p_holds bigint[]) returns setof carried_events language sql stable as $$
    select x.tenant, x.hold_id, x.kind, x.attempt, sum(x.events)::bigint, sum(x.d_spent_tokens)::bigint, sum(x.d_held_tokens)::bigint,
           sum(x.d_overrun_tokens)::bigint, sum(x.d_spent_nano)::bigint, sum(x.d_held_nano)::bigint, sum(x.d_overrun_nano)::bigint,
           (select case when x.kind = 'hold' then ledger_seen(h) end from holds h where h.tenant = x.tenant and h.hold_id = x.hold_id)
    from (select j.tenant, j.hold_id, j.kind, coalesce(j.attempt, 0) as attempt, 1 as events, j.d_spent_tokens, j.d_held_tokens, j.d_overrun_tokens,
                 j.d_spent_nano, j.d_held_nano, j.d_overrun_nano
          from unnest(p_tenants, p_holds) h (tenant, hold_id) join journal j on j.tenant = h.tenant and j.hold_id = h.hold_id
          where j.number <= r.last_number
          union all
          select c.tenant, c.hold_id, c.kind, c.attempt, c.events, c.d_spent_tokens, c.d_held_tokens, c.d_overrun_tokens,
                 c.d_spent_nano, c.d_held_nano, c.d_overrun_nano
          from unnest(p_tenants, p_holds) h (tenant, hold_id) join carried_events c on c.tenant = h.tenant and c.hold_id = h.hold_id) x
    group by x.tenant, x.hold_id, x.kind, x.attempt
$$;

-- Deletes the rows of a range whose closings are written, and these holds. Scopes keep their place in the tree.
create function ledger_delete_range(r checkpoints, p_tenants text[], p_holds bigint[]) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
begin
    insert into scope_parents (tenant, scope_id, parent_id)
    select x.tenant, x.scope_id, x.parent_id
    from (select distinct on (h.tenant, u.scope_id) h.tenant, u.scope_id, h.scope_ids[u.place - 1] as parent_id
          from unnest(p_tenants, p_holds) g (tenant, hold_id)
          cross join lateral (select * from holds h where h.tenant = g.tenant and h.hold_id = g.hold_id offset 0) h
          cross join lateral unnest(h.scope_ids) with ordinality u (scope_id, place)
          cross join lateral (select * from scopes s where s.tenant = h.tenant and s.scope_id = u.scope_id offset 0) s
          where not is_label(s.kind) and strpos(s.id, '@') = 0 and (u.place > 1 or s.kind <> 'agent')
          order by h.tenant, u.scope_id, h.hold_id desc) x
    order by x.tenant, x.scope_id desc on conflict do nothing;
    delete from attempts a using unnest(p_tenants, p_holds) g (tenant, hold_id) where a.tenant = g.tenant and a.hold_id = g.hold_id;
    delete from holds h using unnest(p_tenants, p_holds) g (tenant, hold_id) where h.tenant = g.tenant and h.hold_id = g.hold_id;
    -- Keys of the same time, as their ids are lower, under which nothing was ever held: they have no events.
    delete from holds h using (
        select j.tenant, max(j.hold_id) as hold_id from journal j where 0 + j.number between r.first_number and r.last_number group by 1) l
    where h.tenant = l.tenant and h.hold_id <= l.hold_id and h.views is null
      and not exists (select from waiters w where w.tenant = h.tenant and w.hold_id = h.hold_id);
    delete from journal j where 0 + j.number between r.first_number and r.last_number;
    delete from postings p where p.last_number between r.first_number and r.last_number;
end $$;

-- Deletes the next range if it is due; several processes may call this at the same time: one does the work. Locks rows of holds
-- that have ended, and no balance. Outcomes: `closed`; `none`, nothing is due; `held`, a hold of the range is open; `rolling`:
-- see ledger_roll_off_range; `altered`, the range does not have its digest, or `unproven`, its closings are not what it has.
create function ledger_close_range(p_age interval, p_now timestamptz)
returns table (outcome text, first_number bigint, last_number bigint, events bigint)
language plpgsql set timezone = 'UTC' set datestyle = 'ISO' set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
    r checkpoints%rowtype;
    v_before closed_ranges%rowtype;
    v_record closed_ranges%rowtype;
    v_tenants text[];                                 -- of the holds with events in the range
    v_holds bigint[];
    v_open boolean;
    v_ends boolean[];                                 -- whether no other event of the hold remains
    v_gone_of text[];
    v_gone bigint[];
    v_on_of text[];
    v_on bigint[];
    v_closings closings[];
    v_carried carried_events[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser retention', 0)) then
        return;
    end if;
    select * into r from ledger_next_range(p_age, p_now);
    if not found then
        return query select 'none', null::bigint, null::bigint, null::bigint;
        return;
    end if;
    select * into v_before from closed_ranges x order by x.checkpoint_id desc limit 1;
    if r.first_number <> coalesce(v_before.last_number, 0) + 1 or r.digest <> ledger_digest(r.first_number, r.last_number, r.previous) then
        return query select 'altered', r.first_number, r.last_number, r.events;
        return;
    end if;

    -- Nobody reports to a hold while its row is locked, so no event of it comes meanwhile.
    select array_agg(h.tenant order by h.tenant, h.hold_id), array_agg(h.hold_id order by h.tenant, h.hold_id), bool_or(h.state = 'held')
    into v_tenants, v_holds, v_open
    from (select h.tenant, h.hold_id, h.state
          from (select distinct j.tenant, j.hold_id from journal j
                where 0 + j.number between r.first_number and r.last_number and j.hold_id is not null) x
          join holds h on h.tenant = x.tenant and h.hold_id = x.hold_id order by h.tenant, h.hold_id for update of h) h;
    if v_open then
        return query select 'held', r.first_number, r.last_number, r.events;
        return;
    elsif exists (select from ledger_not_rolled(r)) then
        return query select 'rolling', r.first_number, r.last_number, r.events;
        return;
    end if;
    select array_agg(x.tenant) filter (where x.ends), array_agg(x.hold_id) filter (where x.ends),
           array_agg(x.tenant) filter (where not x.ends), array_agg(x.hold_id) filter (where not x.ends)
    into v_gone_of, v_gone, v_on_of, v_on
    from (select h.tenant, h.hold_id, not exists (select from journal j where j.tenant = h.tenant and j.hold_id = h.hold_id
                                                                          and j.number > r.last_number) as ends
          from unnest(v_tenants, v_holds) h (tenant, hold_id)) x;

    v_closings := array(select c from ledger_closings(r, v_gone_of, v_gone) c);
    v_carried := array(select c from ledger_carried(r, v_on_of, v_on) c);
    if exists (select from unnest(v_closings) c where ledger_proves(c, r) is not true) then
        return query select 'unproven', r.first_number, r.last_number, r.events;
        return;
    end if;
    -- What the closings were before counts out, even if somebody changed them: then the total stays wrong.
    v_record.checkpoint_id := r.checkpoint_id;
    v_record.last_number := r.last_number;
    v_record.previous := coalesce(v_before.digest, '');
    v_record.closed_at := coalesce(p_now, clock_timestamp());
    select bit_xor(x.hash) into v_record.total
    from (select coalesce(v_before.total, repeat('0', 256)::bit(256))
          union all select closing_hash(c) from unnest(v_closings) n
                    join closings c on c.tenant = n.tenant and c.scope_id = n.scope_id and c.window_start = n.window_start
          union all select closing_hash(n) from unnest(v_closings) n
          union all select carried_hash(e) from unnest(v_tenants, v_holds) h (tenant, hold_id)
                    join carried_events e on e.tenant = h.tenant and e.hold_id = h.hold_id
          union all select carried_hash(n) from unnest(v_carried) n) x (hash);
    select greatest(v_before.last_at, max(j.at), '-infinity'), coalesce(v_before.presumed, 0) + count(*) filter (where j.kind = 'presumed'),
           coalesce(v_before.late, 0) + count(*) filter (where j.kind = 'late'),
           coalesce(v_before.expired, 0) + count(*) filter (where j.kind = 'expire')
    into v_record.last_at, v_record.presumed, v_record.late, v_record.expired
    from journal j where 0 + j.number between r.first_number and r.last_number;
    v_record.digest := closed_digest(v_record, r.digest, v_record.previous);
    insert into closed_ranges select v_record.*;

    insert into closings as c (tenant, scope_id, window_start, first_at, at, seq, number, posted_seq,
                               spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano,
                               limit_tokens, limit_nano, mode, rolled_tokens, rolled_nano, gone_tokens, gone_nano, grants_made, grants_ended)
    select n.* from unnest(v_closings) n on conflict (tenant, scope_id, window_start) do update set
        at = excluded.at, seq = excluded.seq, number = excluded.number, posted_seq = excluded.posted_seq,
        spent_tokens = excluded.spent_tokens, held_tokens = excluded.held_tokens,
        granted_tokens = excluded.granted_tokens, overrun_tokens = excluded.overrun_tokens,
        spent_nano = excluded.spent_nano, held_nano = excluded.held_nano,
        granted_nano = excluded.granted_nano, overrun_nano = excluded.overrun_nano,
        limit_tokens = excluded.limit_tokens, limit_nano = excluded.limit_nano, mode = excluded.mode,
        rolled_tokens = excluded.rolled_tokens, rolled_nano = excluded.rolled_nano,
        gone_tokens = excluded.gone_tokens, gone_nano = excluded.gone_nano,
        grants_made = excluded.grants_made, grants_ended = excluded.grants_ended;
    delete from carried_events e using unnest(v_tenants, v_holds) h (tenant, hold_id) where e.tenant = h.tenant and e.hold_id = h.hold_id;
    insert into carried_events (tenant, hold_id, kind, attempt, events, d_spent_tokens, d_held_tokens, d_overrun_tokens,
                                d_spent_nano, d_held_nano, d_overrun_nano, seen)
    select n.* from unnest(v_carried) n;
    perform ledger_delete_range(r, v_gone_of, v_gone);
    return query select 'closed', r.first_number, r.last_number, r.events;
end $$;

-- What the last audit found, for all processes, and which process audits now. One row.

create table audit_result (
    one           boolean primary key default true check (one),
    claimed_until timestamptz,               -- a process audits until then, or renews this
    ended_at      timestamptz,               -- null: no audit has ended yet
    seconds       double precision,
    by            text,
    checked       jsonb,                     -- rows checked, by table
    differences   bigint,
    examples      jsonb                      -- the first of the differences
);

-- Support for reports: samples of balances, from which burn rates are computed without an extra write per call, and the
-- functions that read them.

-- What a balance had spent at a time. Rows are written when it changes: between two equal rows it was idle.
create table balance_samples (
    tenant       text not null,
    scope_id     bigint not null,
    window_start timestamptz not null,
    at           timestamptz not null,
    spent_tokens bigint not null,
    spent_nano   bigint not null,
    primary key (tenant, scope_id, window_start, at)
);
create index balance_samples_at on balance_samples (at);

-- When balances were last sampled.
create table balance_sampling (
    one        boolean primary key default true check (one),
    sampled_at timestamptz not null
);

-- What a balance had spent at a time, interpolated linearly between two samples; no row before the first.
create function ledger_spent_at(p_tenant text, p_scope bigint, p_window timestamptz, p_at timestamptz,
                                p_now timestamptz, p_tokens bigint, p_nano bigint)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select a.spent_tokens + div((coalesce(z.spent_tokens, p_tokens) - a.spent_tokens) * g.gone, g.whole)::bigint,
           a.spent_nano + div((coalesce(z.spent_nano, p_nano) - a.spent_nano) * g.gone, g.whole)::bigint
    from (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.tenant = p_tenant and s.scope_id = p_scope and s.window_start = p_window and s.at <= p_at order by s.at desc limit 1) a
    left join lateral (
          select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.tenant = p_tenant and s.scope_id = p_scope and s.window_start = p_window and s.at > p_at and s.at < p_now
          order by s.at limit 1) z on true
    cross join lateral (select extract(epoch from p_at - a.at) * 1000000 as gone,
        extract(epoch from coalesce(z.at, p_now) - a.at) * 1000000 as whole) g
$$;

-- Limits and mode of a balance as the gate applied them last; on a shared scope for which a task has requested others,
-- those of the scope itself.
create function ledger_shared_limits(b balances, p_defaults jsonb)
returns table (tokens bigint, nano bigint, mode text) language sql stable as $$
    select case when e.scope_id is null then b.limit_tokens else e.limit_tokens end,
           case when e.scope_id is null then b.limit_nano else e.limit_nano end, coalesce(e.mode, b.mode)
    from (select) one
    left join lateral (
        select p.* from ledger_policies(b.tenant, array[b.scope_id], '', p_defaults) p
        where exists (select from policies r join scopes s on s.tenant = r.tenant and s.scope_id = r.scope_id
                      where r.tenant = b.tenant and r.scope_id = b.scope_id and r.task <> '' and is_shared(s.kind))) e on true
$$;

-- The scopes of a tenant, or for metrics of all (null), that are exhausted within a day at their current rate, and how
-- long they last, in microseconds. A unit of
-- which nothing was spent within the last hour is not exhausted, nor is a scope that has ended or is frozen. A scope without
-- headroom left in one of its units is exhausted already.
create function ledger_exhausting(p_tenant text, p_defaults jsonb, p_now timestamptz)
returns table (tenant text, kind text, id text, mode text, lasts numeric) language sql stable as $$
    with clock as materialized (
        select coalesce(p_now, now()) as now
    ), live as materialized (
        select b.tenant, b.scope_id, b.window_start, l.mode, n.spent_tokens, n.spent_nano,
               l.tokens + b.granted_tokens - n.spent_tokens - b.held_tokens as room_tokens,
               l.nano + b.granted_nano - n.spent_nano - b.held_nano as room_nano
        from clock c, balances b cross join lateral ledger_shared_limits(b, p_defaults) l
        left join lateral ledger_falls_out(case when b.rolls_at <= c.now then b end, c.now) o on true
        cross join lateral (select b.spent_tokens - coalesce(o.tokens, 0) as spent_tokens,
                                   b.spent_nano - coalesce(o.nano, 0) as spent_nano) n
        where (p_tenant is null or b.tenant = p_tenant) and b.updated_at > c.now - interval '24 hours'
          and (l.tokens is not null or l.nano is not null)
    ), paced as materialized (
        select l.tenant, l.scope_id, l.window_start, l.mode, c.now, r.lasts
        from live l cross join clock c
        join lateral (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
                      where s.tenant = l.tenant and s.scope_id = l.scope_id and s.window_start = l.window_start order by s.at limit 1) f
                          on f.at <= c.now - interval '60 seconds'
        left join lateral ledger_spent_at(l.tenant, l.scope_id, l.window_start, c.now - interval '1 hour', c.now,
            l.spent_tokens, l.spent_nano) h on true
        cross join lateral (select l.spent_tokens - coalesce(h.tokens, f.spent_tokens) as tokens,
            l.spent_nano - coalesce(h.nano, f.spent_nano) as nano) q
        -- If more is left than was ever spent, it lasts for more than a day at the rate of a day.
        left join lateral ledger_spent_at(l.tenant, l.scope_id, l.window_start,
            case when l.room_tokens <= l.spent_tokens or l.room_nano <= l.spent_nano then c.now - interval '24 hours' end,
            c.now, l.spent_tokens, l.spent_nano) d on true
        cross join lateral (values
            (l.room_tokens, q.tokens, q.tokens, least(interval '1 hour', c.now - f.at)),
            (l.room_tokens, q.tokens, l.spent_tokens - coalesce(d.tokens, f.spent_tokens), least(interval '24 hours', c.now - f.at)),
            (l.room_nano, q.nano, q.nano, least(interval '1 hour', c.now - f.at)),
            (l.room_nano, q.nano, l.spent_nano - coalesce(d.nano, f.spent_nano), least(interval '24 hours', c.now - f.at))) v (room, lately,
                burnt, over)
        cross join lateral (select div(v.room * extract(epoch from v.over) * 1000000, nullif(greatest(v.burnt, 0), 0)) as lasts) r
        where least(l.room_tokens, l.room_nano) > 0 and v.room > 0 and v.lately > 0 and r.lasts <= 86400000000
    ), soon as (
        select tenant, scope_id, window_start, mode, now, min(lasts) as lasts from paced group by 1, 2, 3, 4, 5
    )
    select s.tenant, s.kind, s.id, x.mode, x.lasts
    from soon x
    join scopes s on s.tenant = x.tenant and s.scope_id = x.scope_id
    left join lateral (
        select p.task from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.task <> ''
          and p.task = requesting_task(s.kind, s.id)
        order by p.updated_at desc limit 1) request on true
    cross join lateral ledger_policies(s.tenant, array[s.scope_id], coalesce(request.task, ''), p_defaults) e
    cross join lateral (select ledger_window_start(e.win, e.zone, x.now) as start) w
    where x.window_start = w.start and s.ended_at is null and not e.frozen
      and (calendar_start(w.start) is null or x.lasts < extract(epoch from ledger_window_end(e.win, e.zone, w.start) - x.now) * 1000000)
$$;

-- Budgets as they are shown.

-- Scopes with the rows that their policy resolves from and their balance in the current window. What a task requests for
-- a scope that others share applies only to its own calls: p_task, or null: the task that a scope belongs to.
-- Planning this takes ten times as long as reading a scope, so each connection does it once.
create function ledger_budgets(p_tenant text, p_task text, p_defaults jsonb, p_now timestamptz, p_scopes bigint[])
returns table (scope_id bigint, scope text, stored jsonb, template jsonb, request jsonb, window_start timestamptz, window_end timestamptz,
               spent_tokens bigint, spent_nano bigint, held_tokens bigint, held_nano bigint, granted_tokens bigint, granted_nano bigint,
               overrun_tokens bigint, overrun_nano bigint, limit_tokens bigint, limit_nano bigint, would jsonb)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
    return query
    select s.scope_id, s.kind || ':' || s.id, to_jsonb(f), to_jsonb(m), to_jsonb(q),
           calendar_start(w.start), ledger_window_end(e.win, e.zone, w.start),
           coalesce(b.spent_tokens, 0) - coalesce(r.tokens, 0), coalesce(b.spent_nano, 0) - coalesce(r.nano, 0),
           coalesce(b.held_tokens, 0), coalesce(b.held_nano, 0),
           coalesce(b.granted_tokens, 0) - o.tokens + coalesce(v.tokens, 0),
           coalesce(b.granted_nano, 0) - o.nano + coalesce(v.nano, 0),
           coalesce(b.overrun_tokens, 0) - coalesce(r.overrun_tokens, 0),
           coalesce(b.overrun_nano, 0) - coalesce(r.overrun_nano, 0), e.limit_tokens, e.limit_nano,
           (select jsonb_object_agg(c.outcome, c.calls) from shadow_counts c
            where c.tenant = p_tenant and c.scope_id = x.scope_id and c.window_start = w.start)
    from unnest(p_scopes) x (scope_id)
    cross join lateral (select * from scopes t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) s
    left join lateral (select * from policies t where t.tenant = p_tenant and t.scope_id = x.scope_id and t.task = '' offset 0) f on true
    left join lateral (select * from templated_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) m on true
    left join lateral (
        select p.* from policies p where p.tenant = p_tenant and p.scope_id = x.scope_id and p.task <> ''
          and p.task = coalesce(p_task, requesting_task(s.kind, s.id))
        order by p.updated_at desc limit 1) q on true
    cross join lateral (select * from ledger_policies(p_tenant, array[x.scope_id], coalesce(q.task, ''), p_defaults) offset 0) e
    cross join lateral (select ledger_window_start(e.win, e.zone, v_now) as start offset 0) w
    left join lateral (select t as of_window, t.* from balances t
                       where t.tenant = p_tenant and t.scope_id = x.scope_id and t.window_start = w.start offset 0) b on true
    left join lateral ledger_falls_out(case when b.rolls_at <= v_now then b.of_window end, v_now) r on true
    cross join lateral (
        select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano from grants g
        where g.tenant = p_tenant and g.scope_id = x.scope_id and g.window_start = w.start
          and g.ended_at is null and g.until <= v_now) o
    -- What the first ask of the window will roll over.
    left join lateral (
        select l.* from ledger_left_over(p_tenant, x.scope_id, e.win, e.zone, w.start, e.limit_tokens, e.limit_nano, e.rollover) l
        where e.rollover is not null and b.rolled_over_at is null and calendar_start(w.start) is not null) v on true;
end $$;

-- What the planner assumes about tenants.

-- One tenant owns every row. Sampled while each tenant had a row or two, a tenant alone would seem to select one: the
-- planner would take any index that begins with it, and each foreign key check of a large tenant would read all its rows.
do $$
declare
    one text;
    col name;
begin
    foreach one in array array[
        'scopes', 'scope_parents', 'policies', 'policy_templates', 'templated_policies',
        'balances', 'holds', 'attempts', 'journal', 'postings', 'grants', 'waiters', 'approvals',
        'approval_waiters', 'decisions', 'outbox', 'balance_samples', 'events', 'forgotten_events', 'changes',
        'shadow_counts', 'closings', 'carried_events']
    loop
        execute format('alter table %I alter column tenant set (n_distinct = 1)', one);
        -- What `analyze` will find: without any statistics a tenant seems to select half a percent of a table, and
        -- connections keep the plans that they make in the first minutes of a database. Where a tenant selects all rows
        -- its ids have to select one, or an index without them looks better than a primary key. Postgres 17 cannot be told.
        if to_regproc('pg_restore_attribute_stats') is not null then
            for col in select attname from pg_attribute
                       where attrelid = one::regclass and attname in ('tenant', 'scope_id', 'hold_id', 'key', 'approval_id', 'number') loop
                perform pg_restore_attribute_stats(
                    'schemaname', current_schema()::text, 'relname', one, 'attname', col::text, 'inherited', false,
                    'n_distinct', case col when 'tenant' then 1 else -1 end::real);
            end loop;
        end if;
    end loop;
end $$;

-- The interface of the ledger for other packages: its tables may change, these columns stay.

create view hold_facts as
select tenant, hold_id, key, task, model, path, path[cardinality(path)] as payer, state, tokens, nano, attempts,
       charged_tokens, charged_nano, created_at, expires_at, ended_at
from holds;

-- Entries on each scope: `tokens` held or freed, and the tokens held after the entry.
create view scope_entries as
select e.tenant, s.kind, s.id, e.kind as entry, e.hold_id, e.at, e.d_held_tokens as tokens,
       (select a.held_tokens from ledger_posting(e.tenant, e.scope_id, e.window_start, e.seq) p cross join lateral ledger_after(p, e.number) a)
           as held_after
from scopes s join balance_moves e on e.tenant = s.tenant and e.scope_id = s.scope_id;

-- Events of holds: `tokens` held or freed on each scope of the path.
create view hold_events as
select tenant, kind, hold_id, at, d_held_tokens as tokens from journal where hold_id is not null;

create view attempt_facts as
select h.tenant, h.key, a.hold_id, a.attempt, a.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, a.usage,
       a.started_at, a.reported_at
from attempts a join holds h on h.tenant = a.tenant and h.hold_id = a.hold_id;

-- Presumed attempts, late reports and expired holds.
create view hold_faults as
select tenant, kind, hold_id, at from journal where kind in ('presumed', 'late', 'expire');

-- What each scope has spent, by window; in a rolling window with what has fallen out of it.
create view scope_spending as
select s.tenant, s.kind, s.id, b.window_start, b.spent_tokens + b.rolled_tokens as tokens, b.spent_nano + b.rolled_nano as nano
from scopes s join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id;

-- The calls that wait, or waited, for an approval.
create view approval_calls as
select w.tenant, w.task_id, w.agent_id, w.key, w.since, w.left_at, w.tokens, a.approval_id, a.state, a.created_at, a.decided_at,
       s.kind || ':' || s.id as scope, a.asked_tokens, a.asked_nano, a.granted_tokens, a.granted_nano,
       (select d.approver from decisions d where d.tenant = a.tenant and d.approval_id = a.approval_id order by d.at desc limit 1) as approver
from approval_waiters w
join approvals a on a.tenant = w.tenant and a.approval_id = w.approval_id
join scopes s on s.tenant = a.tenant and s.scope_id = a.scope_id;

create view unsent_messages as
select tenant, workflow_id, created_at, tries from outbox where sent_at is null;

create view threshold_events as
select tenant, event_id, at, scope, window_start, threshold from events where kind = 'threshold';
