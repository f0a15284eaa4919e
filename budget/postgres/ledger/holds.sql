-- name: get
select hold_id::text, key, path, labels, task, model, state, asked_nano, tokens, nano, charged_tokens, charged_nano, attempts,
       expires_at, created_at, ended_at
from holds where tenant = $1 and hold_id = $2 and views is not null;
-- name: asking_for
-- The time in which a person decided is not counted.
select clock_timestamp() - greatest(h.created_at, (select max(w.left_at) from approval_waiters w where w.tenant = $1 and w.key = $2))
from holds h where h.tenant = $1 and h.key = $2;
-- name: ended_tries
-- How many of a key that has ended, key/2, key/3 … have, one after the other. $3 at most. Each is one lookup by index.
with recursive tried (number) as (
    select 1 union all
    select t.number + 1 from tried t
    where t.number < $3 and (select h.state from holds h where h.tenant = $1 and h.key = $2 || '/' || (t.number + 1))
                            in ('settled', 'released', 'expired'))
select max(number) from tried;
-- name: open_of_task
select hold_id::text from holds
where tenant = $1 and task = $2 and state = 'held' and ($3::text is null or path[cardinality(path)] = $3) order by hold_id;
