-- Users, pins, settings, retention and deletion of sessions.
-- What belongs to a session references it, so that deleting its row deletes all of it.

alter table sessions
    add column user_id   text,                         -- whose session it is, once an append has told
    add column active_on date not null default (now() at time zone 'utc')::date;  -- day of the last append: no index
                                                       -- entry is written twice a day
create index sessions_of_user on sessions (tenant, user_id) where user_id is not null;
create index sessions_idle on sessions (tenant, active_on);

alter table messages
    drop constraint messages_tenant_session_id_fkey,
    add foreign key (tenant, session_id) references sessions on delete cascade;
alter table summaries
    drop constraint summaries_tenant_session_id_fkey,
    add foreign key (tenant, session_id) references sessions on delete cascade;

-- Who keeps a message verbatim, and until when. A pin is never changed: another one takes its place.
create table pins (
    pin_id     bigint generated always as identity primary key,
    tenant     text not null,
    session_id text not null,
    seq        bigint not null,
    author     text not null,                          -- name of a key; empty: the message came pinned
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

insert into pins (tenant, session_id, seq, author, pinned_at)
select tenant, session_id, seq, '', created_at from messages where pinned;

-- What pins mean for each message that ever had one. `spared`: it was pinned while the first summary over its place was
-- written, so no summary says what it says. A compression takes a while: a pin that ended during one counts.
create view pin_marks as
select p.tenant, p.session_id, p.seq,
       bool_or(p.ended_at is null and coalesce(p.until > now(), true)) as pinned,
       bool_or(coalesce(p.pinned_at < s.created_at
                        and least(p.ended_at, p.until, 'infinity') > s.created_at - interval '10 minutes', false)) as spared
from pins p
join messages m on m.tenant = p.tenant and m.session_id = p.session_id and m.seq = p.seq
left join lateral (
    select created_at from summaries
    where tenant = p.tenant and session_id = p.session_id and thread = m.thread and p.seq between first_seq and last_seq
    order by version limit 1) s on true
group by p.tenant, p.session_id, p.seq;

-- Personal settings, each change a version of its own.
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

-- How long sessions of a tenant are kept, each change a version of its own; the last one holds.
create table retention (
    tenant     text not null,
    version    integer not null check (version >= 1),
    days       integer check (days >= 1),              -- after the day of the last append; null: for ever
    changed_by text not null,
    changed_at timestamptz not null default now(),
    primary key (tenant, version)
);

-- What is left of a deleted session: figures, no text. Its id is never used again.
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

-- Runs after the row stands, because an append that waited for the deletion began before it: only now does it see it.
create function deleted_sessions_stay_deleted() returns trigger language plpgsql as $$
begin
    if exists (select from deleted_sessions d where d.tenant = new.tenant and d.session_id = new.session_id) then
        raise unique_violation using message = 'the session was deleted', constraint = 'deleted_sessions_stay_deleted';
    end if;
    return null;
end $$;
create trigger deleted_sessions_stay_deleted after insert on sessions
    for each row execute function deleted_sessions_stay_deleted();
