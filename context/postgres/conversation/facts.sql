-- name: lock
-- Serializes writers of a session's facts: each sees the values that it supersedes or that supersede its own.
select from sessions where tenant = $1 and session_id = $2 for no key update;

-- name: add
-- $4 holds an object for each fact.
insert into facts (tenant, session_id, thread, seq, kind, subject, relation, value, text, speaker, single)
select $1, $2, $3, given.seq, given.kind, given.subject, given.relation, given.value, given.text, given.speaker, given.single
from jsonb_to_recordset($4) as given (seq bigint, kind text, subject text, relation text, value text, text text,
                                     speaker text, single boolean)
on conflict do nothing;

-- name: supersede
-- Recomputed for every topic in $4, because facts may arrive in any order.
with topics as (
    select distinct given.subject, given.relation
    from jsonb_to_recordset($4) as given (subject text, relation text, single boolean) where given.single
)
update facts set superseded_by = (
    select min(newer.seq) from facts as newer
    where newer.tenant = $1 and newer.session_id = $2 and newer.thread = $3 and newer.single
      and md5(newer.subject) = md5(facts.subject) and md5(newer.relation) = md5(facts.relation)
      and newer.seq > facts.seq and newer.value <> facts.value)
from topics
where facts.tenant = $1 and facts.session_id = $2 and facts.thread = $3 and facts.single
  and md5(facts.subject) = md5(topics.subject) and md5(facts.relation) = md5(topics.relation);

-- name: all
select seq, kind, subject, relation, value, text, speaker, superseded_by from facts
where tenant = $1 and session_id = $2 and ($3::text is null or thread = $3)
order by seq, kind, subject, relation, value;
