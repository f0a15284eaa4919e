-- name: progress
select last_seq, rules from fact_progress where tenant = $1 and session_id = $2 and thread = $3;

-- name: unread
select seq, body, created_at from messages
where tenant = $1 and session_id = $2 and thread = $3 and seq > $4 order by seq limit $5;

-- name: live
select seq, kind, subject, relation, value, text, speaker, superseded_by from facts
where tenant = $1 and session_id = $2 and thread = $3 and superseded_by is null
order by seq, kind, subject, relation, value;

-- name: begin
-- Returns no row if another reader was faster. Otherwise the row stays locked until the transaction ends.
insert into fact_progress (tenant, session_id, thread, last_seq, rules) values ($1, $2, $3, $4, $5)
on conflict do nothing returning last_seq;

-- name: advance
-- Returns no row if another reader was faster. Otherwise the row stays locked until the transaction ends.
update fact_progress set last_seq = $4, rules = $5
where tenant = $1 and session_id = $2 and thread = $3 and last_seq = $6 and rules = $7 returning last_seq;

-- name: forget
delete from facts where tenant = $1 and session_id = $2 and thread = $3;

-- name: add
-- $4 holds an object for each fact.
insert into facts (tenant, session_id, thread, seq, kind, subject, relation, value, text, speaker, superseded_by)
select $1, $2, $3, given.seq, given.kind, given.subject, given.relation, given.value, given.text, given.speaker,
       given.superseded_by
from jsonb_to_recordset($4) as given (seq bigint, kind text, subject text, relation text, value text, text text,
                                     speaker text, superseded_by bigint)
on conflict (tenant, session_id, thread, seq, kind, md5(subject), md5(relation), md5(value))
do update set superseded_by = excluded.superseded_by;

-- name: all
select seq, kind, subject, relation, value, text, speaker, superseded_by from facts
where tenant = $1 and session_id = $2 and thread = $3 order by seq, kind, subject, relation, value;
