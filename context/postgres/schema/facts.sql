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
