-- name: plans
-- The best plan depends on the parameters: no generic plan is used.
set local plan_cache_mode = force_custom_plan;

-- name: list
with page as (
    select * from sessions
    where tenant = $1 and ($6::text is null or user_id = $6)
      and ($2::text is null or strpos(lower(session_id), $2) > 0 or strpos(lower(user_id), $2) > 0)
      and ($3::timestamptz is null or (created_at, session_id) < ($3, $4))
    order by created_at desc, session_id desc limit $5
)
select p.session_id, p.user_id, p.next_seq - 1 as messages, p.created_at, p.active_on,
       s.summaries, s.saved_tokens, k.pins
from page p
cross join lateral (
    select count(*) as summaries, coalesce(sum(tokens_before - tokens_after), 0)::bigint as saved_tokens from summaries
    where tenant = p.tenant and session_id = p.session_id) s
cross join lateral (
    select count(*) as pins from pins
    where tenant = p.tenant and session_id = p.session_id and ended_at is null and coalesce(until > now(), true)) k
order by p.created_at desc, p.session_id desc;

-- name: threads
select thread, count(*) as messages, coalesce(sum((tokens ->> $3)::bigint), 0)::bigint as tokens, max(seq) as last_seq
from messages where tenant = $1 and session_id = $2
group by thread order by thread limit $4;

-- name: growth
-- The messages of a thread in at most $5 groups of equal size. Times never decrease, whatever imported messages say.
select max(seq) as seq, max(max(created_at)) over (order by part) as at, count(*) as messages,
       coalesce(sum((tokens ->> $4)::bigint), 0)::bigint as tokens
from (
    select seq, created_at, tokens, ntile($5) over (order by seq) as part from messages
    where tenant = $1 and session_id = $2 and thread = $3
) as parts
group by part order by seq;

-- name: newest
-- First of the newest $5 messages of a thread before $4; null if there are none.
select min(seq) from (
    select seq from messages
    where tenant = $1 and session_id = $2 and thread = $3 and ($4::bigint is null or seq < $4)
    order by seq desc limit $5
) as newest;
