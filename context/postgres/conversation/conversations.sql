-- name: append
-- Returns no row if another transaction appended this origin concurrently: a second run then finds its messages. Returns
-- no row either if the session belongs to another user than $7.
-- $5 describes each message; $6 holds the bodies as JSON, in which escapes may represent what `text` cannot hold.
with known as (
    select m.seq, m.part, m.digest, s.user_id from messages m join sessions s using (tenant, session_id)
    where m.tenant = $1 and m.session_id = $2 and m.origin = $4
), place as (
    insert into sessions as s (tenant, session_id, next_seq, user_id)
    select $1, $2, 1 + json_array_length($5), $7::text where not exists (select from known)
    on conflict (tenant, session_id) do update
    set next_seq = s.next_seq + json_array_length($5), user_id = coalesce(s.user_id, excluded.user_id),
        active_on = excluded.active_on
    where (s.user_id = excluded.user_id) is not false
    returning next_seq - json_array_length($5) as first_seq, user_id
), added as (
    insert into messages
        (tenant, session_id, seq, thread, role, body, call_ids, tool_call_id, pinned, digest, tokens, origin, part)
    select $1, $2, place.first_seq + item.number - 1, $3, item.about ->> 'role', body.value::json,
           array(select json_array_elements_text(item.about -> 'call_ids')), item.about ->> 'tool_call_id',
           (item.about ->> 'pinned')::boolean, item.about ->> 'digest', (item.about -> 'tokens')::jsonb, $4, item.number
    from place, json_array_elements($5) with ordinality as item (about, number)
    join unnest($6::text[]) with ordinality as body (value, number) using (number)
    on conflict (tenant, session_id, origin, part) do nothing
    returning seq, part, digest, pinned
), pinned as (
    insert into pins (tenant, session_id, seq, author) select $1, $2, seq, $8 from added where pinned
)
select seq, digest, user_id from (
    select seq, part, digest, user_id from known
    union all
    select seq, part, digest, user_id from added, place
) as stored order by part;

-- name: last_seq
select next_seq - 1 from sessions where tenant = $1 and session_id = $2;

-- name: read
select seq, thread, body, tokens from messages where tenant = $1 and session_id = $2 and seq = any($3) order by seq;

-- name: read_thread
select seq, thread, body, tokens from messages
where tenant = $1 and session_id = $2 and thread = $3 and seq between $4 and $5 order by seq;

-- name: page
select m.seq, m.thread, m.body, m.tokens, m.created_at, coalesce(k.pinned, false) as pinned
from messages m
left join pin_marks k on k.tenant = m.tenant and k.session_id = m.session_id and k.seq = m.seq
where m.tenant = $1 and m.session_id = $2 and ($3::text is null or m.thread = $3) and m.seq > $4
order by m.seq limit $5;

-- name: callers
-- Ids of $4 that belong to a tool call of the thread.
select distinct called.id from messages m, unnest(m.call_ids) as called (id)
where m.tenant = $1 and m.session_id = $2 and m.thread = $3 and called.id = any($4) and m.seq < $5;

-- name: refs
select m.seq, m.role, (m.tokens ->> $4)::integer as tokens, m.call_ids, m.tool_call_id,
       coalesce(k.pinned, false) as pinned
from messages m
left join pin_marks k on k.tenant = m.tenant and k.session_id = m.session_id and k.seq = m.seq
where m.tenant = $1 and m.session_id = $2 and m.thread = $3 and m.seq <= $5
order by m.seq;

-- name: uncovered_refs
-- $6 and $7: the range of a summary, of which only these messages are included: those that stay verbatim, those that it
-- passed over ($8), and the first user message. Index range scans keep the cost independent of the covered messages.
with marked as (
    select seq from pin_marks where tenant = $1 and session_id = $2 and pinned
), first_request as (
    select seq from messages where tenant = $1 and session_id = $2 and thread = $3 and role = 'user' order by seq limit 1
), refs as (
    select seq, role, tokens, call_ids, tool_call_id from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq < $6 and seq <= $5
    union all
    select seq, role, tokens, call_ids, tool_call_id from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq between $6 and $7 and seq <= $5
      and role in ('system', 'developer')
    union all
    select m.seq, m.role, m.tokens, m.call_ids, m.tool_call_id
    from (select seq from marked union select seq from first_request union select unnest($8::bigint[])) as retained
    join messages m on m.tenant = $1 and m.session_id = $2 and m.seq = retained.seq
    where m.thread = $3 and m.seq between $6 and $7 and m.seq <= $5 and m.role not in ('system', 'developer')
    union all
    select seq, role, tokens, call_ids, tool_call_id from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq > $7 and seq <= $5
)
select refs.seq, refs.role, (refs.tokens ->> $4)::integer as tokens, refs.call_ids, refs.tool_call_id,
       marked.seq is not null as pinned
from refs left join marked using (seq) order by refs.seq;

-- name: excerpt
-- The range that planning may omit. `head`: the last of the first $7 messages and 20 more, as system messages do not
-- count. `tail`: the newest message that together with all later ones takes more than $6 tokens and is not among the
-- newest $8; null if the newest 1,000 messages do not take so many.
with newest as (
    select seq, sum((tokens ->> $4)::integer) over (order by seq desc) as tokens, row_number() over (order by seq desc)
    from (
        select seq, tokens from messages where tenant = $1 and session_id = $2 and thread = $3 and seq <= $5
        order by seq desc limit 1000
    ) as rows
)
select coalesce(max(seq), 0) as head, (select max(seq) from newest where tokens > $6 and row_number > $8::integer) as tail
from (
    select seq from messages where tenant = $1 and session_id = $2 and thread = $3 and seq <= $5 order by seq
    limit $7::integer + 20
) as first;

-- name: counts
select seq, (tokens ->> $4)::integer as tokens from messages where tenant = $1 and session_id = $2 and seq = any($3);

-- name: add_counts
update messages set tokens = messages.tokens || jsonb_build_object($3::text, counted.tokens)
from unnest($4::bigint[], $5::integer[]) as counted (seq, tokens)
where tenant = $1 and session_id = $2 and messages.seq = counted.seq;
