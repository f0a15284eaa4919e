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
