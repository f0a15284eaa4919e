-- The index for retrieval over what users and assistants said. It follows the messages when it is searched: an append
-- knows nothing of it. Everything goes with its session.

-- How far the index of a session has come.
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
    tenant     text not null,
    session_id text not null,
    thread     text not null,
    turns      integer not null,
    terms      bigint not null,                        -- total length of the turns
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references memory_sessions on delete cascade
);

-- Indexed messages. Places of a thread have no gaps, so that neighbours have neighbouring places.
create table memory_turns (
    tenant     text not null,
    session_id text not null,
    seq        bigint not null,
    thread     text not null,
    place      integer not null,                       -- from 0
    primary key (tenant, session_id, seq),
    -- The thread last: before there are statistics, Postgres would look up a message by it.
    unique (tenant, session_id, place, thread),
    foreign key (tenant, session_id, seq) references messages on delete cascade
);

-- The turns that hold a term, 1,024 places a row.
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
-- Counting them must not read them.
alter table memory_postings alter column postings set storage external;

-- Without the extension memory works by words alone.
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
            foreign key (tenant, session_id, seq) references memory_turns on delete cascade
        );
    end if;
end $$;
