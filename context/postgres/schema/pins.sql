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
