-- The schema of release 0.1.0, frozen: later changes are revisions of their own.

-- Bearer keys of the HTTP API, sign-in links and browser sessions. A secret is shown once, when it is created; only its
-- SHA-256 is stored.

create table keys (
    key_id     text primary key,
    tenant     text not null,
    name       text not null,                         -- also the approver's name on decisions
    role       text not null check (role in ('agent', 'viewer', 'approver', 'deputy', 'admin')),
    digest     bytea not null unique,
    created_by text not null,
    created_at timestamptz not null default now(),
    revoked_by text,
    revoked_at timestamptz,
    expires_at timestamptz,
    rate_limit_per_s integer check (rate_limit_per_s > 0),  -- null: the gateway's setting
    tags       jsonb not null default '{}',           -- of every call made with it, value by name
    path       text[] not null default '{}',          -- scopes of its calls through the proxy that name none
    check ((revoked_at is null) = (revoked_by is null))
);
-- Names identify people: with two live keys of one name, the rule that two people approve could not tell them apart.
create unique index keys_one_live_name on keys (tenant, name) where revoked_at is null;
create index keys_listed on keys (tenant, created_at, key_id);

-- A link opens one browser session, once.
create table sign_in_links (
    digest     bytea primary key,
    key_id     text not null references keys,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index sign_in_links_ending on sign_in_links (expires_at);

-- A session acts as its key, as long as the key is valid.
create table browser_sessions (
    session_id text primary key,
    digest     bytea not null unique,
    key_id     text not null references keys,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at   timestamptz
);
create index browser_sessions_ending on browser_sessions (expires_at);

-- Webhooks and their deliveries.

create table webhooks (
    webhook_id      text primary key,
    tenant          text not null,
    url             text not null,
    kinds           text[] not null,                  -- `kind` or `kind.state`
    least_threshold numeric,                          -- lower thresholds are not delivered
    description     text not null,
    enabled         boolean not null,
    disabled_reason text,                             -- set if Purser disabled it
    secret          text not null,                    -- encrypted with PURSER_SECRETS_KEY
    previous_secret text,                             -- signs too, until previous_until
    previous_until  timestamptz,
    created_by      text not null,
    created_at      timestamptz not null default clock_timestamp()
);
create index webhooks_listed on webhooks (tenant, created_at, webhook_id);

-- Position up to which deliveries were created. Any number of processes may create them: the unique key below prevents
-- duplicates.
create table webhook_cursor (
    only_row boolean primary key default true check (only_row),
    position bigint not null
);
insert into webhook_cursor (position) values (0);

create table deliveries (
    delivery_id bigint generated always as identity primary key,
    webhook_id  text not null references webhooks on delete cascade,
    tenant      text not null,
    position    bigint,                               -- position of the event; null: a test
    message_id  text not null,                        -- the same on every attempt
    payload     jsonb not null,
    state       text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
    tries       integer not null default 0,
    next_at     timestamptz not null default clock_timestamp(),
    status      integer,                              -- HTTP status of the last attempt
    error       text,                                 -- kind of the last failure
    duration_ms integer,                              -- duration of the last attempt
    created_at  timestamptz not null default clock_timestamp(),
    ended_at    timestamptz,
    unique (webhook_id, position)
);
create index deliveries_due on deliveries (webhook_id, next_at) where state = 'pending';
create index deliveries_listed on deliveries (webhook_id, delivery_id desc);

-- Answers to POSTs with an Idempotency-Key: a repeated request gets the same answer. A row is written in the
-- transaction of the request's changes. Only the SHA-256 of the key is stored, and no answer contains a secret.

create table answers (
    tenant     text not null,
    key_id     text not null,                         -- the bearer key of the request
    key_digest bytea not null,                        -- of the Idempotency-Key
    digest     bytea not null,                        -- of method, path and body
    answer     jsonb,                                 -- null while the request is in progress, which no other transaction sees
    created_at timestamptz not null default now(),
    primary key (tenant, key_id, key_digest)
);
create index answers_age on answers (created_at);
