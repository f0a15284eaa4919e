-- Keys that end, sign-in links and browser sessions. Of every secret only the SHA-256 is kept.

alter table keys add column expires_at timestamptz;
alter table keys add column rate_limit_per_s integer check (rate_limit_per_s > 0);  -- null: as the gateway is set

-- A link opens one browser session, once.
create table sign_in_links (
    digest     bytea primary key,
    key_id     text not null references keys,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index sign_in_links_ending on sign_in_links (expires_at);

-- A session acts as its key, for as long as the key works.
create table browser_sessions (
    session_id text primary key,
    digest     bytea not null unique,
    key_id     text not null references keys,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at   timestamptz
);
create index browser_sessions_ending on browser_sessions (expires_at);
