-- Personal settings; each change is a new version.
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

-- Retention of a tenant's sessions; each change is a new version, and the latest applies.
create table retention (
    tenant     text not null,
    version    integer not null check (version >= 1),
    days       integer check (days >= 1),              -- after the day of the last append; null: for ever
    changed_by text not null,
    changed_at timestamptz not null default now(),
    primary key (tenant, version)
);
