-- The retrieval index over user and assistant messages. A search first indexes what was appended since, outside of the
-- transactions of appends. Its rows are deleted with their session.

-- Progress of the index of a session.
create table memory_sessions (
    tenant         text not null,
    session_id     text not null,
    last_seq       bigint not null default 0,          -- every message up to here is indexed
    embedded_seq   bigint not null default 0,          -- every indexed message up to here has a vector …
    embedded_model text,                               -- … of this model
    primary key (tenant, session_id),
    foreign key (tenant, session_id) references sessions on delete cascade
);

create table memory_threads (
    tenant        text not null,
    session_id    text not null,
    thread        text not null,
    turns         integer not null,
    terms         bigint not null,                     -- total number of terms of the turns
    size          bigint not null,                     -- total size of their texts in bytes
    user_size     bigint not null,                     -- of those, texts of users
    tool_messages bigint not null,                     -- messages that call tools or return results
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references memory_sessions on delete cascade
);

-- Indexed messages, 4,096 per row. The places of a thread have no gaps, so that neighbouring messages have consecutive
-- places. Packed, because a row per message would cost more than all its postings.
create table memory_turns (
    tenant     text not null,
    session_id text not null,
    thread     text not null,
    block      integer not null,
    last_seq   bigint not null,
    seqs       bytea not null,                         -- eight bytes a turn: its sequence number, big-endian
    flags      bytea not null,                         -- one byte a turn: who speaks, and whether it asks
    primary key (tenant, session_id, thread, block),
    foreign key (tenant, session_id) references memory_sessions on delete cascade
);

-- The turns that contain a term, 4,096 places per row.
create table memory_postings (
    tenant     text not null,
    session_id text not null,
    term       text not null,
    thread     text not null,
    block      integer not null,
    postings   bytea not null,                         -- eight bytes a turn, as `context.retrieval.postings` packs them
    primary key (tenant, session_id, term, thread, block),
    foreign key (tenant, session_id) references memory_sessions on delete cascade
);
-- External storage: counting postings must not read them, nor may one number read its whole block.
alter table memory_postings alter column postings set storage external;
alter table memory_turns alter column seqs set storage external;

-- Without the extension, memory searches by words alone.
do $$
begin
    if exists (select from pg_available_extensions where name = 'vector') then
        create extension if not exists vector;
    end if;
exception when insufficient_privilege then
    raise notice 'the extension "vector" may not be created by %: memory works by words alone', current_user;
end $$;

do $$
begin
    if to_regtype('vector') is not null then
        -- No approximate index: a search reads the vectors of one session or user only, and reads all of them.
        create table memory_vectors (
            tenant     text not null,
            session_id text not null,
            seq        bigint not null,
            model      text not null,
            embedding  vector not null,
            primary key (tenant, session_id, seq),
            foreign key (tenant, session_id, seq) references messages on delete cascade
        );
    end if;
end $$;
