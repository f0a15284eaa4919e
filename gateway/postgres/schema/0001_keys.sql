-- Bearer keys of the HTTP API. A secret is shown once, when it is made; only its SHA-256 is kept.

create table keys (
    key_id     text primary key,
    tenant     text not null,
    name       text not null,                         -- also the approver's name on decisions
    role       text not null check (role in ('agent', 'viewer', 'approver', 'admin')),
    digest     bytea not null unique,
    created_by text not null,
    created_at timestamptz not null default now(),
    revoked_by text,
    revoked_at timestamptz,
    check ((revoked_at is null) = (revoked_by is null))
);
-- Two live keys of one name would be two people to nobody but the two-person rule.
create unique index keys_one_live_name on keys (tenant, name) where revoked_at is null;
create index keys_listed on keys (tenant, created_at, key_id);
