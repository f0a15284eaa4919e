-- Layers, fidelity and failures of compressions.

alter table summaries
    add column layers            jsonb not null default '[]',  -- texts without header and facts, each with its range
    add column source_characters bigint not null default 0,    -- of everything that it covers
    add column prompt_version    text,                         -- of what asked the model
    add column language          text,                         -- ISO 639; null: mixed or unknown
    add column fidelity          double precision,             -- 0 to 1: what its newest layer keeps of its source
    add column trigger           text not null default 'request';

-- How compressions of a conversation went lately; none: well.
create table compression_health (
    tenant        text not null,
    session_id    text not null,
    thread        text not null,
    failures      integer not null default 0,          -- of the model, in a row
    cooling_until timestamptz,                         -- until then it is not asked
    fruitless_seq bigint not null default 0,           -- compressing up to this message gained too little
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references sessions on delete cascade
);
