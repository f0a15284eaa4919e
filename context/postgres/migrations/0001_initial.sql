-- The schema of release 0.1.0, frozen: later changes are revisions of their own.

-- Sessions and their append-only messages. All rows of a session reference it, so that deleting its row cascades to them.
-- Lock order: the session's row, then rows of the ledger in the same transaction.

create table sessions (
    tenant     text not null,
    session_id text not null,
    next_seq   bigint not null default 1,              -- of the next message in any thread
    user_id    text,                                   -- owner, once an append has named one
    active_on  date not null default (now() at time zone 'utc')::date,  -- day of the last append: no index entry is
                                                       -- written twice a day
    created_at timestamptz not null default now(),
    primary key (tenant, session_id)
);
create index sessions_newest on sessions (tenant, created_at desc, session_id desc);
create index sessions_of_user on sessions (tenant, user_id) where user_id is not null;
create index sessions_idle on sessions (tenant, active_on);

-- Columns that link messages are separate from the body, so that a window is planned without reading any text.
create table messages (
    tenant       text not null,
    session_id   text not null,
    seq          bigint not null check (seq >= 1),
    thread       text not null default '',             -- '': the session's own conversation, else {task_id}/{agent_id}
    role         text not null,
    body         json not null,                        -- json, not jsonb: preserves every character and the order of keys
    call_ids     text[] not null default '{}',
    tool_call_id text,
    pinned       boolean not null default false,
    digest       text not null,                        -- of the body
    tokens       jsonb not null default '{}',          -- count by encoding
    characters   integer not null default 0,           -- length of its text
    origin       text not null,                        -- idempotency key of the append
    part         integer not null,                     -- position in that append
    created_at   timestamptz not null default now(),   -- when it was written: as the caller says, else of the append
    primary key (tenant, session_id, seq),
    unique (tenant, session_id, origin, part),
    foreign key (tenant, session_id) references sessions on delete cascade
);
create index messages_thread on messages (tenant, session_id, thread, seq);
create index messages_fixed on messages (tenant, session_id, thread, seq) where pinned or role in ('system', 'developer');

-- A message by its number. As a range, in order, because only the primary key serves that: for an equation, another index that
-- begins with the session may look as cheap, and would be read from its first message to its last.
create function session_message(p_tenant text, p_session_id text, p_seq bigint) returns setof messages language sql stable as $$
    select * from messages where tenant = p_tenant and session_id = p_session_id and seq >= p_seq and seq <= p_seq
    order by seq limit 1
$$;

-- Tombstones of deleted sessions: figures, no text. A deleted id is never used again.
create table deleted_sessions (
    tenant     text not null,
    session_id text not null,
    user_id    text,
    messages   bigint not null,
    tokens     bigint not null,
    summaries  bigint not null,
    pins       bigint not null,
    created_at timestamptz not null,                   -- of the session
    active_on  date not null,
    deleted_by text not null,
    reason     text not null check (reason in ('request', 'retention')),
    deleted_at timestamptz not null default now(),
    primary key (tenant, session_id)
);

-- An after trigger, because an append that waited for the deletion began before it and only now sees the tombstone.
create function deleted_sessions_stay_deleted() returns trigger language plpgsql as $$
begin
    if exists (select from deleted_sessions d where d.tenant = new.tenant and d.session_id = new.session_id) then
        raise unique_violation using message = 'the session was deleted', constraint = 'deleted_sessions_stay_deleted';
    end if;
    return null;
end $$;
create trigger deleted_sessions_stay_deleted after insert on sessions
    for each row execute function deleted_sessions_stay_deleted();

-- Pins keep messages verbatim in windows. A pin is never updated: a new one replaces it.
create table pins (
    pin_id     bigint generated always as identity primary key,
    tenant     text not null,
    session_id text not null,
    seq        bigint not null,
    author     text not null,                          -- name of a key; empty: the message was appended as pinned
    reason     text,
    pinned_at  timestamptz not null default now(),
    until      timestamptz,
    ended_by   text,
    ended_at   timestamptz,
    foreign key (tenant, session_id, seq) references messages on delete cascade,
    check ((ended_at is null) = (ended_by is null))
);
create unique index pins_one_live on pins (tenant, session_id, seq) where ended_at is null;
create index pins_of_message on pins (tenant, session_id, seq);

-- Whether each message that ever had a pin has a live one now.
create view pin_marks as
select tenant, session_id, seq, bool_or(ended_at is null and coalesce(until > now(), true)) as pinned
from pins group by tenant, session_id, seq;

-- Excerpts of threads, for windows.

-- What a window may show of the newest p_examined messages after p_last, which a summary covers from p_first on (0: there is
-- none), and of the messages before them. `tail`: the newest message that together with all later ones takes more than p_tokens
-- and is not among the newest p_newest; null if the newest p_examined do not take so many. `head`: p_last, or else the last of
-- the first p_primers messages and 20 more, as system messages do not count. Up to `tail` or p_last, from p_first or the message
-- after `head` on, only required messages are included: those that stay verbatim, those that the summary passed over
-- (p_passed), and the first user message. A message not yet counted for p_key counts as its vocabulary does, p_vocabulary, which
-- is never more. Without p_tokens and p_examined, everything but the range of the summary is included.
-- Planned once: planning takes as long as reading. Comparisons of rows leave only the index of threads, because another in the
-- same order would read all other threads of the session.
create function thread_excerpt(p_tenant text, p_session_id text, p_thread text, p_key text, p_upto bigint, p_vocabulary text,
                               p_tokens bigint, p_primers integer, p_newest integer, p_examined bigint, p_first bigint,
                               p_last bigint, p_passed bigint[])
returns table (seq bigint, role text, tokens integer, call_ids text[], tool_call_id text, characters integer, pinned boolean,
               head bigint, tail bigint)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    return query
    with newest as materialized (
        select seq, role, (tokens ->> p_key)::integer as tokens, (tokens ->> p_vocabulary)::integer as others, call_ids, tool_call_id,
               characters
        from messages where tenant = p_tenant and session_id = p_session_id
          and (thread, seq) <= (p_thread, p_upto) and (thread, seq) > (p_thread, p_last)
        order by thread desc, seq desc limit p_examined
    ), summed as (
        select seq, sum(coalesce(tokens, others)) over newer as upto, row_number() over newer as place
        from newest window newer as (order by seq desc rows unbounded preceding)
    ), gap as materialized (
        select (select max(seq) from summed where p_tokens is not null and upto > p_tokens and place > p_newest) as tail,
               case when p_last > 0 then p_last else coalesce(max(first.seq), 0) end as head
        from (
            select seq from messages where tenant = p_tenant and session_id = p_session_id
              and (thread, seq) <= (p_thread, p_upto) and (thread, seq) > (p_thread, 0)
            order by thread, seq limit p_primers + 20
        ) as first
    ), hole as materialized (
        select head, tail, case when p_last > 0 then least(p_first, p_upto + 1) else head + 1 end as first,
               case when p_last > 0 then least(coalesce(tail, p_last), p_upto) else tail end as last
        from gap
    ), marked as (
        select seq from pin_marks where tenant = p_tenant and session_id = p_session_id and pinned
    ), first_request as (
        select seq from messages where tenant = p_tenant and session_id = p_session_id and role = 'user'
          and (thread, seq) <= (p_thread, p_upto) and (thread, seq) > (p_thread, 0)
        order by thread, seq limit 1
    ), refs as (
        select seq, role, (tokens ->> p_key)::integer as tokens, call_ids, tool_call_id, characters from messages
        where tenant = p_tenant and session_id = p_session_id and (thread, seq) > (p_thread, 0)
          and (thread, seq) < (p_thread, (select first from hole where last is not null))
        union all
        select seq, role, (tokens ->> p_key)::integer, call_ids, tool_call_id, characters from messages
        where tenant = p_tenant and session_id = p_session_id and thread = p_thread and role in ('system', 'developer')
          and seq between (select first from hole) and (select last from hole)
        union all
        select m.seq, m.role, (m.tokens ->> p_key)::integer, m.call_ids, m.tool_call_id, m.characters
        from (select seq from marked union select seq from first_request union select unnest(p_passed)) as retained
        cross join lateral session_message(p_tenant, p_session_id, retained.seq) as m
        where m.thread = p_thread and m.role not in ('system', 'developer')
          and m.seq between (select first from hole) and (select last from hole)
        union all
        select seq, role, tokens, call_ids, tool_call_id, characters from newest
        where seq > coalesce((select tail from hole), 0)
    )
    select refs.seq, refs.role, refs.tokens, refs.call_ids, refs.tool_call_id, refs.characters,
           marked.seq is not null as pinned, hole.head, hole.tail
    from hole cross join refs left join marked using (seq) order by refs.seq;
end $$;

-- Versions of summaries, claims of compressions, and compression health.

-- Each version covers everything that the last one covered, and more.
create table summaries (
    tenant        text not null,
    session_id    text not null,
    thread        text not null default '',
    version       integer not null check (version >= 1),
    first_seq     bigint not null,
    last_seq      bigint not null,
    text          text not null,
    tokens        jsonb not null default '{}',         -- of the message that shows it, by encoding
    tokens_before bigint not null,                     -- replaced in a window: the last version and newly covered messages
    tokens_after  bigint not null,
    method        text not null check (method in ('extractive', 'model')),
    model         text,                                -- the model that wrote it
    source_digest text not null,                       -- of its source
    key           text not null,                       -- of the compression and of its hold
    hold_id       text,
    layers        jsonb not null default '[]',         -- texts without header and facts, each with its range
    source_characters bigint not null default 0,       -- of all covered messages
    prompt_version text,                               -- version of the prompt
    language      text,                                -- ISO 639; null: mixed or unknown
    fidelity      double precision,                    -- 0 to 1: of its newest layer
    trigger       text not null default 'request',
    passed        bigint[] not null default '{}',      -- messages in its range that it passes over: they were pinned
    created_at    timestamptz not null default now(),
    primary key (tenant, session_id, thread, version),
    unique (tenant, session_id, key),
    foreign key (tenant, session_id) references sessions on delete cascade,
    check (first_seq <= last_seq)
);

-- Claims of running compressions. Rows, not Postgres locks: no transaction is open while a model writes.
create table compressions (
    tenant     text not null,
    session_id text not null,
    thread     text not null,
    key        text not null,
    expires_at timestamptz not null,
    primary key (tenant, session_id, thread)
);

-- Recent failures of compressions of a conversation; no row: none.
create table compression_health (
    tenant        text not null,
    session_id    text not null,
    thread        text not null,
    failures      integer not null default 0,          -- consecutive failures of the model
    cooling_until timestamptz,                         -- until then the model is not called
    fruitless_seq bigint not null default 0,           -- compressing up to this message frees too few tokens
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references sessions on delete cascade
);

-- Facts of sessions, word for word: subject, relation, value and source message.

create table facts (
    tenant        text not null,
    session_id    text not null,
    seq           bigint not null,
    thread        text not null default '',
    kind          text not null,
    subject       text not null,
    relation      text not null,
    value         text not null,
    text          text not null,                       -- the sentence of the value, redacted
    speaker       text not null,
    superseded_by bigint,                              -- a later message with another value of its topic
    foreign key (tenant, session_id, seq) references messages on delete cascade
);
-- Texts are indexed by digest: the size of an index entry is limited, that of a text is not.
create unique index facts_once on facts
    (tenant, session_id, thread, seq, kind, md5(subject), md5(relation), md5(value));

-- Progress of the facts of a thread. They are derived when they are read, never by an append.
create table fact_progress (
    tenant     text not null,
    session_id text not null,
    thread     text not null,
    last_seq   bigint not null,                        -- facts of every message up to here are stored …
    rules      integer not null,                       -- … by this version of the rules
    primary key (tenant, session_id, thread),
    foreign key (tenant, session_id) references sessions on delete cascade
);

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

-- Calibration of token counts by reported usage.

create table token_calibrations (
    tenant     text not null,
    model      text not null,
    encoding   text not null,                          -- how it was counted; another margin is learned separately
    ratio      integer not null default 1000000 check (ratio > 0), -- reported by counted, parts per million
    calls      bigint not null default 0,
    updated_at timestamptz not null default now(),
    primary key (tenant, model, encoding)
);

-- Publishes each new summary as a `compression` event: ids, figures and codes, never a text.
create function emit_compression_event() returns trigger language plpgsql as $$
begin
    perform put_event(new.tenant, 'compression', 'session:' || new.session_id,
                      jsonb_build_object('session_id', new.session_id, 'thread', new.thread, 'version', new.version,
                                         'tokens_before', new.tokens_before, 'tokens_after', new.tokens_after,
                                         'method', new.method, 'trigger', new.trigger, 'model', new.model));
    return null;
end $$;
create trigger emit_compression after insert on summaries for each row execute function emit_compression_event();

-- Views of conversations for other packages.

create view summary_facts as
select s.tenant, s.session_id, s.thread, s.version, s.key, s.created_at, s.tokens_before, s.tokens_after, s.method, s.trigger,
       s.model, s.text,
       (select count(*) from messages m where m.tenant = s.tenant and m.session_id = s.session_id and m.thread = s.thread
        and m.seq between s.first_seq and s.last_seq) as messages
from summaries s;
