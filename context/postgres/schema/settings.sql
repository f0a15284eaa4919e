-- Personal settings, each change a version of its own.
create table user_settings (
    tenant     text not null,
    user_id    text not null,
    version    integer not null check (version >= 1),
    fields     json not null,                          -- value by name, in the order given
    changed_by text not null,
    changed_at timestamptz not null default now(),
    primary key (tenant, user_id, version)
);
create table session_settings (
    tenant     text not null,
    session_id text not null,
    version    integer not null check (version >= 1),
    fields     json not null,
    changed_by text not null,
    changed_at timestamptz not null default now(),
    primary key (tenant, session_id, version),
    foreign key (tenant, session_id) references sessions on delete cascade
);

-- How long sessions of a tenant are kept, each change a version of its own; the last one holds.
create table retention (
    tenant     text not null,
    version    integer not null check (version >= 1),
    days       integer check (days >= 1),              -- after the day of the last append; null: for ever
    changed_by text not null,
    changed_at timestamptz not null default now(),
    primary key (tenant, version)
);
