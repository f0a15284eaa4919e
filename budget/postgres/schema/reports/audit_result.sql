-- What the last audit found, for all processes, and which process audits now. One row.

create table audit_result (
    one           boolean primary key default true check (one),
    claimed_until timestamptz,               -- a process audits until then, or renews this
    ended_at      timestamptz,               -- null: no audit has ended yet
    seconds       double precision,
    by            text,
    checked       jsonb,                     -- rows checked, by table
    differences   bigint,
    examples      jsonb                      -- the first of the differences
);
