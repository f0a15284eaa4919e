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
    single        boolean not null,                    -- whether a later value of its subject and relation replaces it
    superseded_by bigint,                              -- the message with that value
    foreign key (tenant, session_id, seq) references messages on delete cascade
);
-- Texts are indexed by digest: the size of an index entry is limited, that of a text is not.
create unique index facts_once on facts
    (tenant, session_id, thread, seq, kind, md5(subject), md5(relation), md5(value));
create index facts_topic on facts (tenant, session_id, thread, md5(subject), md5(relation)) where single;
