-- Answers to POSTs that came with an Idempotency-Key: the same request again gets the same answer. A row is written in
-- the transaction of what the request changed. The key is kept as its SHA-256, and no answer here holds a secret.

create table answers (
    tenant     text not null,
    key_id     text not null,                         -- the bearer key that asked
    key_digest bytea not null,                        -- of the Idempotency-Key
    digest     bytea not null,                        -- of method, path and body
    answer     jsonb,                                 -- null while the request is under way: no other transaction sees that
    created_at timestamptz not null default now(),
    primary key (tenant, key_id, key_digest)
);
create index answers_age on answers (created_at);
