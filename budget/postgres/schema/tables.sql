-- The ledger: scopes, policies, balances, holds, attempts, grants, approvals and the outbox; its journal is in journal.sql.
-- Balances are a cache, recomputable from the entries. Lock order everywhere: new scopes by kind and id, hold row, then
-- balances by (scope_id, window_start).
-- Every table begins with its tenant, as does every key and foreign key: Postgres may be distributed by tenant, and rows
-- of two tenants never meet. Ids are unique within a tenant. Indexes of sweeps over all tenants begin with a time.
-- A lifetime window starts at -infinity and a rolling one at a key in the year 100, so every balance has a comparable key.

create type amount as (tokens bigint, nano bigint);
-- What the gate applies to the calls of all tasks on a scope.
create type applied_policy as (scope_id bigint, limit_tokens bigint, limit_nano bigint, mode text, win text, zone text);

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
    rollover       numeric check (rollover >= 0 and rollover <= 1),
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
    dormant        boolean not null default false,    -- counts for no metric but sums, until it moves again
    overrun_back_tokens bigint not null default 0,    -- what entries took off the overrun in all
    overrun_back_nano bigint not null default 0,
    primary key (tenant, scope_id, window_start),
    foreign key (tenant, scope_id) references scopes
) with (fillfactor = 60);
-- For metrics. Calls change no column of it, so that their updates stay off all indexes.
create index balances_awake on balances (tenant, scope_id, window_start) where not dormant;

-- An id ends in 20 random bits: a sequence goes back when a backup is restored, or a standby without the last commits takes
-- over, and a late report of a lost hold would charge another one that was given its id.
create sequence hold_numbers;
create function new_hold_id() returns bigint language sql volatile as $$
    select (nextval('hold_numbers') << 20) | floor(random() * 1048576)::bigint
$$;

create table holds (
    tenant        text not null,
    hold_id       bigint not null default new_hold_id(),
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
alter sequence hold_numbers owned by holds.hold_id;
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
    dormant      boolean not null default false,      -- metrics read only the totals of it, until a call adds to it
    dormant_calls bigint not null default 0,          -- how many of the calls are in the totals
    primary key (tenant, scope_id, window_start, outcome),
    foreign key (tenant, scope_id) references scopes
);
create index shadow_counts_awake on shadow_counts (tenant, scope_id, window_start, outcome) where not dormant;

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
    counted       boolean not null default false,     -- it has ended, and metrics read only the totals of it
    primary key (tenant, approval_id),
    foreign key (tenant, scope_id) references scopes
);
create unique index approvals_one_pending on approvals (tenant, scope_id, window_start, task) where state = 'pending';
create index approvals_listed on approvals (tenant, state, created_at);
create index approvals_due on approvals (deadline) where state = 'pending';
create index approvals_uncounted on approvals (tenant, approval_id) where state <> 'pending' and not counted;

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
