-- name: live
select seq, author, reason, pinned_at, until from pins
where tenant = $1 and session_id = $2 and ended_at is null and coalesce(until > now(), true)
order by seq;

-- name: message
select seq from session_message($1, $2, $3);

-- name: live_of
select seq, author, reason, pinned_at, until from pins
where tenant = $1 and session_id = $2 and seq = $3 and ended_at is null and coalesce(until > now(), true);

-- name: end
-- Also records the end of a pin that has expired.
update pins set ended_at = least(now(), until), ended_by = $4
where tenant = $1 and session_id = $2 and seq = $3 and ended_at is null;

-- name: add
insert into pins (tenant, session_id, seq, author, reason, until) values ($1, $2, $3, $4, $5, $6)
returning seq, author, reason, pinned_at, until;

-- name: pinned_groups
-- Pinned messages, plus the whole thread if a pinned message belongs to a tool call.
with pinned as (
    select m.*, m.call_ids <> '{}' or m.tool_call_id is not null as linked
    from pins p cross join lateral session_message($1, $2, p.seq) as m
    where p.tenant = $1 and p.session_id = $2 and p.ended_at is null and coalesce(p.until > now(), true)
), groups as (
    select thread, seq, role, tokens, call_ids, tool_call_id from pinned
    where thread not in (select thread from pinned where linked)
    union all
    select m.thread, m.seq, m.role, m.tokens, m.call_ids, m.tool_call_id
    from (select distinct thread from pinned where linked) as t
    join messages m on m.tenant = $1 and m.session_id = $2 and m.thread = t.thread
)
select thread, seq, role, (tokens ->> $3)::integer as tokens, call_ids, tool_call_id,
       seq in (select seq from pinned) as pinned
from groups order by seq;
