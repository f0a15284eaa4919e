-- Versions of summaries, claims of compressions, and compression health.

-- Each version covers everything that the last one covered, and more.
create table summaries (
    tenant        text not null,
    session_id    text not null,
    thread        text not null default '',
    version       integer not null check (version >= 1),
    first_seq     bigint not null,
    last_seq      bigint not null,
    text          text not null,
    tokens        jsonb not null default '{}',         -- of the message that shows it, by encoding
    tokens_before bigint not null,                     -- replaced in a window: the last version and newly covered messages
    tokens_after  bigint not null,
    method        text not null check (method in ('extractive', 'model')),
    model         text,                                -- the model that wrote it
    source_digest text not null,                       -- of its source
    key           text not null,                       -- of the compression and of its hold
    hold_id       text,
    layers        jsonb not null default '[]',         -- texts without header and facts, each with its range
    source_characters bigint not null default 0,       -- of all covered messages
    prompt_version text,                               -- version of the prompt
    language      text,                                -- ISO 639; null: mixed or unknown
    fidelity      double precision,                    -- 0 to 1: of its newest layer
    trigger       text not null default 'request',
    passed        bigint[] not null default '{}',      -- messages in its range that it passes over: they stayed verbatim
    created_at    timestamptz not null default now(),
    primary key (tenant, session_id, thread, version),
    unique (tenant, session_id, key),
    foreign key (tenant, session_id) references sessions on delete cascade,
    check (first_seq <= last_seq)
);

-- Claims of running compressions. Rows, not Postgres locks: no transaction is open while a model writes.
create table compressions (
    tenant     text not null,
    session_id text not null,
    thread     text not null,
    key        text not null,
    expires_at timestamptz not null,
    primary key (tenant, session_id, thread)
);

-- Recent failures of compressions of a conversation; no row: none.
create table compression_health (
    tenant        text not null,
    session_id    text not null,
    thread        text not null,
    failures      integer not null default 0,          -- consecutive failures of the model
    cooling_until timestamptz,                         -- until then the model is not called
    fruitless_seq bigint not null default 0,           -- compressing up to this message frees too few tokens
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references sessions on delete cascade
);
