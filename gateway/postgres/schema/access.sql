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
