-- name: append
-- Fails if another transaction appended this origin concurrently: a second run then finds its messages. Returns no row if the
-- session belongs to another user than $14.
-- $5 to $13 describe the messages, a column each. Bodies are JSON, in which escapes may represent what `text` cannot hold.
-- Most messages call nothing: a query in each row for the ids of its calls would take a tenth of the time.
with known as (
    select m.seq, m.part, m.digest, s.user_id from sessions s cross join lateral (
        -- As a range, in order, for the same reason as in `session_message`.
        select seq, part, digest from messages
        where tenant = s.tenant and session_id = s.session_id and origin >= $4 and origin <= $4
        order by origin, part offset 0
    ) as m
    where s.tenant = $1 and s.session_id = $2
), place as (
    insert into sessions as s (tenant, session_id, next_seq, user_id)
    select $1, $2, 1 + cardinality($5::text[]), $14::text where not exists (select from known)
    on conflict (tenant, session_id) do update
    set next_seq = s.next_seq + cardinality($5::text[]), user_id = coalesce(s.user_id, excluded.user_id),
        active_on = excluded.active_on
    where (s.user_id = excluded.user_id) is not false
    returning next_seq - cardinality($5::text[]) as first_seq, user_id
), added as (
    insert into messages
        (tenant, session_id, seq, thread, role, body, call_ids, tool_call_id, pinned, digest, tokens, origin, part,
         created_at, characters)
    select $1, $2, place.first_seq + item.number - 1, $3, item.role, item.body::json,
           case when item.call_ids = '[]' then '{}' else array(select json_array_elements_text(item.call_ids::json)) end,
           item.tool_call_id, item.pinned, item.digest, item.tokens::jsonb, $4, item.number,
           coalesce(item.created_at, now()), item.characters
    from place, unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::text[], $11::text[],
                       $12::timestamptz[], $13::integer[]) with ordinality
    as item (role, body, call_ids, tool_call_id, pinned, digest, tokens, created_at, characters, number)
    returning seq, part, digest, pinned
), pinned as (
    insert into pins (tenant, session_id, seq, author) select $1, $2, seq, $15 from added where pinned
)
select seq, digest, user_id from (
    select seq, part, digest, user_id from known
    union all
    select seq, part, digest, user_id from added, place
) as stored order by part;

-- name: own
-- Returns the owner, who is $3 unless another one was named before.
update sessions set user_id = coalesce(user_id, $3) where tenant = $1 and session_id = $2 returning user_id;

-- name: times
select m.seq, m.created_at
from unnest($3::bigint[]) as wanted (seq) cross join lateral session_message($1, $2, wanted.seq) as m;

-- name: last_seq
select next_seq - 1 from sessions where tenant = $1 and session_id = $2;

-- name: read
select m.seq, m.thread, m.body, m.tokens, m.created_at
from unnest($3::bigint[]) as wanted (seq) cross join lateral session_message($1, $2, wanted.seq) as m order by m.seq;

-- name: texts
select m.seq, m.body
from unnest($3::bigint[]) as wanted (seq) cross join lateral session_message($1, $2, wanted.seq) as m;

-- name: names
select m.seq, m.body ->> 'name' as name
from unnest($3::bigint[]) as wanted (seq) cross join lateral session_message($1, $2, wanted.seq) as m
where m.origin like $4 and m.body ->> 'name' is not null;

-- name: read_thread
select seq, thread, body, tokens, created_at from messages
where tenant = $1 and session_id = $2 and thread = $3 and seq between $4 and $5 order by seq;

-- name: page
-- Of the thread $3, or of all threads if it is null: each by its own index.
with page as (
    (select * from messages where tenant = $1 and session_id = $2 and $3::text is null and seq > $4 order by seq limit $5)
    union all
    (select * from messages
     where tenant = $1 and session_id = $2 and (thread, seq) > ($3, $4) and (thread, seq) <= ($3, 9223372036854775807)
     order by thread, seq limit $5)
)
select m.seq, m.thread, m.body, m.tokens, m.created_at, coalesce(k.pinned, false) as pinned
from page m
left join pin_marks k on k.tenant = m.tenant and k.session_id = m.session_id and k.seq = m.seq
order by m.seq;

-- name: callers
-- Ids of $4 that belong to a tool call of the thread.
select distinct called.id from messages m, unnest(m.call_ids) as called (id)
where m.tenant = $1 and m.session_id = $2 and m.thread = $3 and called.id = any($4) and m.seq < $5;

-- name: counts
select m.seq, (m.tokens ->> $4)::integer as tokens
from unnest($3::bigint[]) as wanted (seq) cross join lateral session_message($1, $2, wanted.seq) as m;

-- name: add_counts
-- Finds its rows as `session_message` does. A row that changes meanwhile is left out, and is counted again when it is asked for.
update messages set tokens = messages.tokens || jsonb_build_object($3::text, found.tokens)
from (
    select m.ctid, counted.tokens from unnest($4::bigint[], $5::integer[]) as counted (seq, tokens)
    cross join lateral (
        select ctid from messages
        where tenant = $1 and session_id = $2 and seq >= counted.seq and seq <= counted.seq order by seq limit 1
    ) as m
) as found
where messages.tenant = $1 and messages.ctid = found.ctid;
