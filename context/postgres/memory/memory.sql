-- name: words
-- Sessions, threads and postings in one statement, so that they are consistent while others index.
-- Without a term: the sessions that a search may read, which are $2, unless it belongs to another user, and all sessions of the
-- user $3, if there is one; by how many messages the index of each is behind; and its indexed threads, if it has any, with the
-- flags of all turns, of the session $2 the numbers of messages in blocks that reach $4, and the number of the last turn if it is
-- the reply of an agent that its task published in the session's own conversation, under an origin like $7.
-- Of the terms $5: their postings, the rarest terms first, until they reach $6 postings. A term among $8 that no turn has gets
-- those of all terms that contain it, if there are at most $9 turns: this reads the terms of whole sessions.
with searched as materialized (
    select s.session_id, s.next_seq - 1 - coalesce(i.last_seq, 0) as behind
    from sessions s left join memory_sessions i using (tenant, session_id)
    where s.tenant = $1 and (s.session_id = $2 or s.user_id = $3) and (s.user_id = $3) is not false
), threads as (
    select h.session_id, h.thread, h.terms, h.size, h.user_size, h.tool_messages,
           string_agg(t.flags, '' order by t.block) as flags,
           string_agg(case when t.session_id = $2 and t.last_seq >= $4 then t.seqs end, '' order by t.block) as seqs,
           (select l.seq from session_message(h.tenant, h.session_id, max(t.last_seq)) as l
            cross join (select replace($7, '%', split_part(h.thread, '/', 1)) as origin) as o
            -- As a range, in order, for the same reason as in `session_message`.
            cross join lateral (
                select c.body from messages c where c.tenant = h.tenant and c.session_id = h.session_id
                    and c.origin >= o.origin and c.origin <= o.origin order by c.origin, c.part offset 0
            ) as p
            where h.thread <> '' and p.body ->> 'content' = l.body ->> 'content' limit 1) as published
    from memory_threads h
    join memory_turns t on t.tenant = h.tenant and t.session_id = h.session_id and t.thread = h.thread
    where h.tenant = $1 and h.session_id = any(array(select session_id from searched))
    group by h.tenant, h.session_id, h.thread
), written as (
    select session_id, term, thread, postings from memory_postings
    where tenant = $1 and session_id = any(array(select session_id from searched)) and term = any($5)
), absent as materialized (
    select term from unnest($8::text[]) as t (term)
    where term <> all(array(select term from written)) and (select sum(octet_length(flags)) from threads) <= $9
), held as (
    select session_id, term, thread, postings from written
    union all
    select p.session_id, a.term, p.thread, p.postings from memory_postings p join absent a on strpos(p.term, a.term) > 0
    where p.tenant = $1 and p.session_id = any(array(select session_id from searched))
        and p.term like any(array(select '%' || term || '%' from absent)) and p.term not like '@%'
        -- Reads none of them without such a term.
        and exists (select from absent)
), counted as (
    select term, sum(octet_length(postings) / 8) as turns from held group by term
), running as (
    select term, sum(turns) over (order by turns, term) - turns as before from counted
)
select session_id, behind, thread, terms, size, user_size, tool_messages, flags, seqs, published, null as term, null::bytea as postings
from searched left join threads using (session_id)
union all
select session_id, null, thread, null, null, null, null, null, null, null, term, postings
from held join running using (term) where before < $6;

-- name: found
-- Messages by their places, in time order.
select w.rank, w.session_id, t.seq, m.thread, m.body, m.created_at
from unnest($2::text[], $3::text[], $4::integer[], $5::integer[]) with ordinality as w (session_id, thread, block, at, rank)
cross join lateral (
    select ('x' || encode(substring(b.seqs from 8 * w.at + 1 for 8), 'hex'))::bit(64)::bigint as seq from memory_turns b
    where b.tenant = $1 and b.session_id = w.session_id and b.thread = w.thread and b.block = w.block offset 0
) as t
cross join lateral session_message($1, w.session_id, t.seq) as m
order by m.created_at, w.session_id, t.seq;

-- name: read
select w.session_id, w.seq, m.thread, m.body, m.created_at
from unnest($2::text[], $3::bigint[]) as w (session_id, seq)
cross join lateral session_message($1, w.session_id, w.seq) as m
order by m.created_at, w.session_id, w.seq;

-- name: indexed
-- How far a session is indexed: null if that was not begun. No row if there is no such session.
select i.last_seq from sessions s left join memory_sessions i using (tenant, session_id)
where s.tenant = $1 and s.session_id = $2;

-- name: begin
-- Does nothing while the session is being deleted.
insert into memory_sessions (tenant, session_id)
select tenant, session_id from sessions where tenant = $1 and session_id = $2 for key share skip locked
on conflict do nothing;

-- name: claim
-- Returns no row if the session was indexed further than $3, or another transaction indexes or deletes it. Otherwise the row
-- stays locked until the transaction ends.
select last_seq from memory_sessions where tenant = $1 and session_id = $2 and last_seq = $3 for update skip locked;

-- name: unindexed
-- At most $4 messages of together $5 bytes, with texts of together $6 characters, but at least one.
select seq, thread, role, body, calls, day from (
    select seq, thread, role, case when role in ('user', 'assistant') then body end as body, call_ids <> '{}' as calls,
           (created_at at time zone 'utc')::date as day,
           sum(pg_column_size(body)) over so_far - pg_column_size(body) as bytes,
           sum(characters) over so_far - characters as characters
    from messages where tenant = $1 and session_id = $2 and seq > $3
    window so_far as (order by seq rows unbounded preceding) order by seq limit $4
) as next where bytes < $5 and characters < $6 order by seq;

-- name: thread_turns
select thread, turns from memory_threads where tenant = $1 and session_id = $2 and thread = any($3);

-- name: add_turns
insert into memory_turns as t (tenant, session_id, thread, block, last_seq, seqs, flags) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (tenant, session_id, thread, block)
do update set last_seq = excluded.last_seq, seqs = t.seqs || excluded.seqs, flags = t.flags || excluded.flags;

-- name: add_postings
insert into memory_postings (tenant, session_id, thread, term, block, postings)
select $1, $2, $3, term, block, postings from unnest($4::text[], $5::integer[], $6::bytea[]) as p (term, block, postings)
on conflict (tenant, session_id, term, thread, block)
do update set postings = memory_postings.postings || excluded.postings;

-- name: add_thread
insert into memory_threads as t (tenant, session_id, thread, turns, terms, size, user_size, tool_messages)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (tenant, session_id, thread)
do update set turns = t.turns + excluded.turns, terms = t.terms + excluded.terms, size = t.size + excluded.size,
              user_size = t.user_size + excluded.user_size, tool_messages = t.tool_messages + excluded.tool_messages;

-- name: followed
update memory_sessions set last_seq = $3 where tenant = $1 and session_id = $2;
