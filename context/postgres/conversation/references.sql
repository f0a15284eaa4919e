-- name: excerpt
-- The newest user message is that of the whole thread: once a task's input follows $5, a summary may cover the messages before it.
select e.seq, e.role, e.tokens, e.call_ids, e.tool_call_id, e.characters, e.pinned,
       e.seq = any($13) or e.seq is not distinct from newest.seq as passed_over, e.head, e.tail
from newest_request($1, $2, $3) as newest (seq)
cross join lateral thread_excerpt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::bigint[] || newest.seq) as e;

-- name: whole
-- All messages of a thread up to $5. A function would hold them all before it returns the first.
select seq, role, (tokens ->> $4)::integer as tokens, call_ids, tool_call_id, characters,
       seq = any(array(select k.seq from pin_marks k where k.tenant = $1 and k.session_id = $2 and k.pinned)) as pinned,
       seq = any(array(select unnest($6::bigint[]) union all select newest_request($1, $2, $3))) as passed_over
from messages
where tenant = $1 and session_id = $2 and (thread, seq) <= ($3, $5) and (thread, seq) > ($3, 0)
order by thread, seq;

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
