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
