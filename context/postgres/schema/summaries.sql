-- Summaries, as versions of the range that they cover, and how they are made.

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
    layers        jsonb not null default '[]',         -- texts without header and facts, each with its range
    source_characters bigint not null default 0,       -- of everything that it covers
    prompt_version text,                               -- of what asked the model
    language      text,                                -- ISO 639; null: mixed or unknown
    fidelity      double precision,                    -- 0 to 1: what its newest layer keeps of its source
    trigger       text not null default 'request',
    passed        bigint[] not null default '{}',      -- messages in its range that it leaves out: they were pinned
    created_at    timestamptz not null default now(),
    primary key (tenant, session_id, thread, version),
    unique (tenant, session_id, key),
    foreign key (tenant, session_id) references sessions on delete cascade,
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

-- How compressions of a conversation went lately; none: well.
create table compression_health (
    tenant        text not null,
    session_id    text not null,
    thread        text not null,
    failures      integer not null default 0,          -- of the model, in a row
    cooling_until timestamptz,                         -- until then it is not asked
    fruitless_seq bigint not null default 0,           -- compressing up to this message gained too little
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references sessions on delete cascade
);
