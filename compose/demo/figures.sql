-- name: scopes
-- What was set aside of each scope: in all, and at most at one moment.
select s.kind || ':' || s.id as scope, sum(greatest(e.d_held_tokens, 0))::bigint as held, max(e.held_tokens) as most_held
from entries e join scopes s using (scope_id) group by 1;
-- name: holds
select count(*) as holds from holds where cardinality(scope_ids) > 0;
-- name: delays
select count(*) as calls, coalesce(sum(delay_ms), 0)::bigint as ms from calls where delay_ms > 0;
-- name: warnings
select scope, threshold::text as ratio from events where kind = 'threshold' order by event_id;
-- name: compressions
-- Each version of the session's summary, and the calls whose prompt showed it.
select version, tokens_before, tokens_after, method, text,
       (select count(*) from messages g where g.session_id = m.session_id and g.thread = ''
        and g.seq between m.first_seq and m.last_seq) as messages,
       (select count(*) from messages g where g.session_id = m.session_id and g.thread = '' and g.seq < t.input_seq)
        as of_messages,
       (select count(*) from calls c where c.task_id = t.task_id and c.reply_seq is not null
        and c.plan #>> '{session,summary,version}' = m.version::text) as calls
from summaries m join tasks t using (tenant, session_id) where m.thread = '' order by version;
