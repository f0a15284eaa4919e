-- name: append
-- Finds nothing when another transaction appended this origin meanwhile: a second run then finds its messages.
-- $5 tells about each message, $6 holds the bodies, which are never parsed here: they may hold what `text` cannot.
with known as (
    select seq, part, digest from messages where tenant = $1 and session_id = $2 and origin = $4
), place as (
    insert into sessions (tenant, session_id, next_seq)
    select $1, $2, 1 + json_array_length($5) where not exists (select from known)
    on conflict (tenant, session_id) do update set next_seq = sessions.next_seq + json_array_length($5)
    returning next_seq - json_array_length($5) as first_seq
), added as (
    insert into messages
        (tenant, session_id, seq, thread, role, body, call_ids, tool_call_id, pinned, digest, tokens, origin, part)
    select $1, $2, place.first_seq + item.number - 1, $3, item.about ->> 'role', body.value,
           array(select json_array_elements_text(item.about -> 'call_ids')), item.about ->> 'tool_call_id',
           (item.about ->> 'pinned')::boolean, item.about ->> 'digest', (item.about -> 'tokens')::jsonb, $4, item.number
    from place, json_array_elements($5) with ordinality as item (about, number)
    join unnest($6::json[]) with ordinality as body (value, number) using (number)
    on conflict (tenant, session_id, origin, part) do nothing
    returning seq, part, digest
)
select seq, digest from (select * from known union all select * from added) as stored order by part;

-- name: last_seq
select next_seq - 1 from sessions where tenant = $1 and session_id = $2;

-- name: read
select seq, thread, body, tokens from messages where tenant = $1 and session_id = $2 and seq = any($3) order by seq;

-- name: read_thread
select seq, thread, body, tokens from messages
where tenant = $1 and session_id = $2 and thread = $3 and seq between $4 and $5 order by seq;

-- name: refs
select seq, role, (tokens ->> $4)::integer as tokens, call_ids, tool_call_id, pinned from messages
where tenant = $1 and session_id = $2 and thread = $3 and seq <= $5
order by seq;

-- name: uncovered_refs
-- $6 and $7: the range of a summary, of which only messages that always stay verbatim are told. Three ranges of an
-- index, so that the work does not grow with what is covered.
select seq, role, (tokens ->> $4)::integer as tokens, call_ids, tool_call_id, pinned from (
    select * from messages where tenant = $1 and session_id = $2 and thread = $3 and seq < $6 and seq <= $5
    union all
    select * from messages where tenant = $1 and session_id = $2 and thread = $3 and seq between $6 and $7 and seq <= $5
    and (pinned or role in ('system', 'developer'))
    union all
    select * from messages where tenant = $1 and session_id = $2 and thread = $3 and seq > $7 and seq <= $5
) as told order by seq;

-- name: counts
select seq, (tokens ->> $4)::integer as tokens from messages where tenant = $1 and session_id = $2 and seq = any($3);

-- name: add_counts
update messages set tokens = messages.tokens || jsonb_build_object($3::text, counted.tokens)
from unnest($4::bigint[], $5::integer[]) as counted (seq, tokens)
where tenant = $1 and session_id = $2 and messages.seq = counted.seq;
