-- name: sessions
-- Sessions that a search may read, and whether their index is behind: the session $2, unless it belongs to another
-- user, and all sessions of the user $3, if there is one.
select s.session_id, s.next_seq - 1 > coalesce(i.last_seq, 0) as behind
from sessions s left join memory_sessions i using (tenant, session_id)
where s.tenant = $1 and (s.session_id = $2 or s.user_id = $3) and (s.user_id = $3) is not false;

-- name: threads
select session_id, thread, turns, terms from memory_threads where tenant = $1 and session_id = any($2);

-- name: postings
-- The rarest terms first, until they reach $4 postings.
with held as (
    select session_id, term, thread, postings from memory_postings
    where tenant = $1 and session_id = any($2) and term = any($3)
), counted as (
    select term, sum(octet_length(postings) / 8) as turns from held group by term
), running as (
    select term, sum(turns) over (order by turns, term) - turns as before from counted
)
select session_id, term, thread, postings from held join running using (term) where before < $4;

-- name: places
select session_id, thread, place from memory_turns
where tenant = $1 and session_id = any($2) and session_id = $3 and seq = any($4);

-- name: seqs
-- `offset 0` forces a lookup of each turn by its key, whatever the planner estimates for the session.
select w.session_id, t.seq, w.rank
from unnest($2::text[], $3::text[], $4::integer[]) with ordinality as w (session_id, thread, place, rank)
cross join lateral (
    select seq from memory_turns
    where tenant = $1 and session_id = w.session_id and thread = w.thread and place = w.place offset 0
) as t
order by rank;

-- name: read
select w.session_id, w.seq, m.thread, m.body, m.created_at
from unnest($2::text[], $3::bigint[]) as w (session_id, seq)
cross join lateral (
    select thread, body, created_at from messages
    where tenant = $1 and session_id = w.session_id and seq = w.seq offset 0
) as m
order by m.created_at, w.session_id, w.seq;

-- name: follow
-- Serializes indexers: the row stays locked until the transaction ends.
insert into memory_sessions (tenant, session_id) values ($1, $2)
on conflict (tenant, session_id) do update set last_seq = memory_sessions.last_seq
returning last_seq;

-- name: unindexed
select seq, thread, case when role in ('user', 'assistant') then body end as body
from messages where tenant = $1 and session_id = $2 and seq > $3 order by seq limit $4;

-- name: thread_turns
select thread, turns from memory_threads where tenant = $1 and session_id = $2 and thread = any($3);

-- name: add_turns
insert into memory_turns (tenant, session_id, seq, thread, place)
select $1, $2, seq, $3, $4::integer + number - 1 from unnest($5::bigint[]) with ordinality as t (seq, number);

-- name: add_postings
insert into memory_postings (tenant, session_id, thread, term, block, postings)
select $1, $2, $3, term, block, postings from unnest($4::text[], $5::integer[], $6::bytea[]) as p (term, block, postings)
on conflict (tenant, session_id, term, thread, block)
do update set postings = memory_postings.postings || excluded.postings;

-- name: add_thread
insert into memory_threads (tenant, session_id, thread, turns, terms) values ($1, $2, $3, $4, $5)
on conflict (tenant, session_id, thread)
do update set turns = memory_threads.turns + excluded.turns, terms = memory_threads.terms + excluded.terms;

-- name: followed
update memory_sessions set last_seq = $3 where tenant = $1 and session_id = $2;
