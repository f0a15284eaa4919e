-- name: refs
select m.seq, m.role, (m.tokens ->> $4)::integer as tokens, m.call_ids, m.tool_call_id, m.characters,
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
    select seq, role, tokens, call_ids, tool_call_id, characters from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq < $6 and seq <= $5
    union all
    select seq, role, tokens, call_ids, tool_call_id, characters from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq between $6 and $7 and seq <= $5
      and role in ('system', 'developer')
    union all
    select m.seq, m.role, m.tokens, m.call_ids, m.tool_call_id, m.characters
    from (select seq from marked union select seq from first_request union select unnest($8::bigint[])) as retained
    cross join lateral (
        select * from messages where tenant = $1 and session_id = $2 and seq = retained.seq offset 0
    ) as m
    where m.thread = $3 and m.seq between $6 and $7 and m.seq <= $5 and m.role not in ('system', 'developer')
    union all
    select seq, role, tokens, call_ids, tool_call_id, characters from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq > $7 and seq <= $5
)
select refs.seq, refs.role, (refs.tokens ->> $4)::integer as tokens, refs.call_ids, refs.tool_call_id, refs.characters,
       marked.seq is not null as pinned
from refs left join marked using (seq) order by refs.seq;

-- name: excerpt
select * from thread_excerpt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: steps
-- Sums over the messages of each step of $9 sequence numbers, after $7 and up to $8. $4 to $6: key, vocabulary and
-- percent of the tokenizer.
select (seq - 1) / $9::bigint as step, count(*) as messages,
       count(*) filter (where role not in ('system', 'developer')) as dialogue,
       count(*) filter (where call_ids <> '{}' or tool_call_id is not null) as tool_messages,
       coalesce(sum(coalesce((tokens ->> $4)::bigint, ((tokens ->> $5)::bigint * $6::integer + 99) / 100)), 0)::bigint
       as tokens,
       coalesce(sum(characters), 0)::bigint as characters
from messages where tenant = $1 and session_id = $2 and thread = $3 and seq > $7 and seq <= $8
group by step;

-- name: rest
-- The same sums up to each of $7, after the number in $8.
select wanted.upto, found.* from unnest($7::bigint[], $8::bigint[]) as wanted (upto, since),
lateral (
    select count(*) as messages,
           count(*) filter (where role not in ('system', 'developer')) as dialogue,
           count(*) filter (where call_ids <> '{}' or tool_call_id is not null) as tool_messages,
           coalesce(sum(coalesce((tokens ->> $4)::bigint, ((tokens ->> $5)::bigint * $6::integer + 99) / 100)), 0)::bigint
           as tokens,
           coalesce(sum(characters), 0)::bigint as characters
    from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq > wanted.since and seq <= wanted.upto
) as found;
