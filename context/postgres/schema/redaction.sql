-- Numbers of redacted values in a session. The values themselves are not stored.

-- A random key per session, so that digests of the same value differ between sessions.
create table redaction_keys (
    tenant     text not null,
    session_id text not null,
    key        bytea not null,
    primary key (tenant, session_id),
    foreign key (tenant, session_id) references sessions on delete cascade
);

create table placeholders (
    tenant     text not null,
    session_id text not null,
    label      text not null,
    number     integer not null check (number >= 1),
    digest     bytea not null,                         -- HMAC of label and value under the session's key
    primary key (tenant, session_id, label, number),
    unique (tenant, session_id, label, digest),
    foreign key (tenant, session_id) references sessions on delete cascade
);
