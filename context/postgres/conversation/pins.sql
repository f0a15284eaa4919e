-- name: live
select seq, author, reason, pinned_at, until from pins
where tenant = $1 and session_id = $2 and ended_at is null and coalesce(until > now(), true)
order by seq;

-- name: message
select seq from messages where tenant = $1 and session_id = $2 and seq = $3;

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
    select m.thread, m.seq, cardinality(m.call_ids) > 0 or m.tool_call_id is not null as linked
    from pins p join messages m using (tenant, session_id, seq)
    where p.tenant = $1 and p.session_id = $2 and p.ended_at is null and coalesce(p.until > now(), true)
)
select m.thread, m.seq, m.role, (m.tokens ->> $3)::integer as tokens, m.call_ids, m.tool_call_id,
       m.seq in (select seq from pinned) as pinned
from messages m
where m.tenant = $1 and m.session_id = $2
  and (m.seq in (select seq from pinned) or m.thread in (select thread from pinned where linked))
order by m.seq;
