-- name: scopes
-- Tokens held of each scope: in total, and the maximum at one moment.
select kind || ':' || id as scope, sum(greatest(tokens, 0))::bigint as held, max(held_after) as most_held
from scope_entries group by 1;
-- name: holds
select count(*) as holds from hold_facts where cardinality(path) > 0;
-- name: delays
select count(*) as calls, coalesce(sum(delay_ms), 0)::bigint as ms from call_facts where delay_ms > 0;
-- name: warnings
select scope, threshold::text as ratio from threshold_events order by event_id;
-- name: compressions
-- Each version of the session's summary, and the number of calls whose prompt contained it.
select s.version, s.tokens_before, s.tokens_after, s.method, s.text, s.messages, t.input_seq - 1 as of_messages,
       (select count(*) from call_facts c where c.tenant = t.tenant and c.task_id = t.task_id and c.reply_seq is not null
        and c.plan #>> '{session,summary,version}' = s.version::text) as calls
from summary_facts s join task_states t using (tenant, session_id) where s.thread = '' order by s.version;
