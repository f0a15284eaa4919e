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
    join messages m on m.tenant = $1 and m.session_id = $2 and m.seq = retained.seq
    where m.thread = $3 and m.seq between $6 and $7 and m.seq <= $5 and m.role not in ('system', 'developer')
    union all
    select seq, role, tokens, call_ids, tool_call_id, characters from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq > $7 and seq <= $5
)
select refs.seq, refs.role, (refs.tokens ->> $4)::integer as tokens, refs.call_ids, refs.tool_call_id, refs.characters,
       marked.seq is not null as pinned
from refs left join marked using (seq) order by refs.seq;

-- name: excerpt
-- What a window may show of the newest $10 messages after $12, which a summary covers from $11 on (0: there is none), and of
-- the messages before them. `tail`: the newest message that together with all later ones takes more than $7 tokens and is not
-- among the newest $9; null if the newest $10 do not take so many. `head`: $12, or else the last of the first $8 messages and
-- 20 more, as system messages do not count. Up to `tail` or $12, from $11 or the message after `head` on, only required
-- messages are included, as above ($13: those that the summary passed over). A message not yet counted for $4 counts as its
-- vocabulary does, $6, which is never more. Subqueries hide the session and the limit from the planner, which otherwise plans
-- every run anew, for as long as the run takes.
with newest as materialized (
    select seq, role, (tokens ->> $4)::integer as tokens, (tokens ->> $6)::integer as others, call_ids, tool_call_id,
           characters
    from messages where tenant = $1 and session_id = (select $2::text) and thread = $3 and seq <= $5 and seq > $12::bigint
    order by seq desc limit (select $10::bigint)
), summed as (
    select seq, sum(coalesce(tokens, others)) over newer as upto, row_number() over newer as place
    from newest window newer as (order by seq desc rows unbounded preceding)
), gap as materialized (
    select (select max(seq) from summed where upto > $7 and place > $9::integer) as tail,
           case when $12::bigint > 0 then $12::bigint else coalesce(max(first.seq), 0) end as head
    from (
        select seq from messages where tenant = $1 and session_id = (select $2::text) and thread = $3 and seq <= $5 order by seq
        limit $8::integer + 20
    ) as first
), hole as materialized (
    select head, tail, case when $12::bigint > 0 then $11::bigint else head + 1 end as first,
           case when $12::bigint > 0 then coalesce(tail, $12::bigint) else tail end as last
    from gap
), marked as (
    select seq from pin_marks where tenant = $1 and session_id = (select $2::text) and pinned
), first_request as (
    select seq from messages where tenant = $1 and session_id = (select $2::text) and thread = $3 and role = 'user' order by seq limit 1
), refs as (
    select seq, role, (tokens ->> $4)::integer as tokens, call_ids, tool_call_id, characters from messages
    where tenant = $1 and session_id = (select $2::text) and thread = $3 and seq < (select first from hole where last is not null)
    union all
    select seq, role, (tokens ->> $4)::integer, call_ids, tool_call_id, characters from messages
    where tenant = $1 and session_id = (select $2::text) and thread = $3 and role in ('system', 'developer')
      and seq between (select first from hole) and (select last from hole)
    union all
    select m.seq, m.role, (m.tokens ->> $4)::integer, m.call_ids, m.tool_call_id, m.characters
    from (select seq from marked union select seq from first_request union select unnest($13::bigint[])) as retained
    join messages m on m.tenant = $1 and m.session_id = (select $2::text) and m.seq = retained.seq
    where m.thread = $3 and m.role not in ('system', 'developer')
      and m.seq between (select first from hole) and (select last from hole)
    union all
    select seq, role, tokens, call_ids, tool_call_id, characters from newest
    where seq > coalesce((select tail from hole), 0)
)
select refs.seq, refs.role, refs.tokens, refs.call_ids, refs.tool_call_id, refs.characters,
       marked.seq is not null as pinned, hole.head, hole.tail
from hole cross join refs left join marked using (seq) order by refs.seq;

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
