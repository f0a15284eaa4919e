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
    previous_secret text,                             -- signs too, until previous_until; several, separated by spaces
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
