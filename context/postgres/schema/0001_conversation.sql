-- Conversations: append-only messages, and summaries as versions of the range that they cover.
-- Lock order: the session's row, then whatever of the ledger shares the transaction.

create table sessions (
    tenant     text not null,
    session_id text not null,
    next_seq   bigint not null default 1,              -- of the next message, whatever its thread
    created_at timestamptz not null default now(),
    primary key (tenant, session_id)
);

-- What links messages stands beside the body, so that a window is planned without reading any text.
create table messages (
    tenant       text not null,
    session_id   text not null,
    seq          bigint not null check (seq >= 1),
    thread       text not null default '',             -- '': the session's own conversation, else {task_id}/{agent_id}
    role         text not null,
    body         json not null,                        -- json, not jsonb: every character and the order of keys stay
    call_ids     text[] not null default '{}',
    tool_call_id text,
    pinned       boolean not null default false,
    digest       text not null,                        -- of the body
    tokens       jsonb not null default '{}',          -- count by encoding
    origin       text not null,                        -- names the append, so that a repeated one adds nothing
    part         integer not null,                     -- place in that append
    created_at   timestamptz not null default now(),
    primary key (tenant, session_id, seq),
    unique (tenant, session_id, origin, part),
    foreign key (tenant, session_id) references sessions
);
create index messages_thread on messages (tenant, session_id, thread, seq);
create index messages_fixed on messages (tenant, session_id, thread, seq) where pinned or role in ('system', 'developer');

-- A version covers everything that the last one covered, and more.
create table summaries (
    tenant        text not null,
    session_id    text not null,
    thread        text not null default '',
    version       integer not null check (version >= 1),
    first_seq     bigint not null,
    last_seq      bigint not null,
    text          text not null,
    tokens        jsonb not null default '{}',         -- of the message that shows it, by encoding
    tokens_before bigint not null,                     -- of what it replaces in a window: the last version and new messages
    tokens_after  bigint not null,
    method        text not null check (method in ('extractive', 'model')),
    model         text,                                -- that wrote it
    source_digest text not null,                       -- of what it was made from
    key           text not null,                       -- of the compression and of its hold
    hold_id       text,
    created_at    timestamptz not null default now(),
    primary key (tenant, session_id, thread, version),
    unique (tenant, session_id, key),
    foreign key (tenant, session_id) references sessions,
    check (first_seq <= last_seq)
);

-- Who compresses a conversation right now. A row, not a lock of Postgres: no transaction is open while a model writes.
create table compressions (
    tenant     text not null,
    session_id text not null,
    thread     text not null,
    key        text not null,
    expires_at timestamptz not null,
    primary key (tenant, session_id, thread)
);
