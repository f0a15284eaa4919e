-- Facts: what sessions keep word for word, as subject, relation and value, and the message that told it.

create table facts (
    tenant        text not null,
    session_id    text not null,
    seq           bigint not null,
    thread        text not null default '',
    kind          text not null,
    subject       text not null,
    relation      text not null,
    value         text not null,
    text          text not null,                       -- the sentence that it stands in, redacted
    speaker       text not null,
    single        boolean not null,                    -- whether a later value of its subject and relation replaces it
    superseded_by bigint,                              -- the message with that value
    foreign key (tenant, session_id, seq) references messages on delete cascade
);
-- Of texts their digest: an index entry is bounded, a relation is not.
create unique index facts_once on facts
    (tenant, session_id, thread, seq, kind, md5(subject), md5(relation), md5(value));
create index facts_topic on facts (tenant, session_id, thread, md5(subject), md5(relation)) where single;
