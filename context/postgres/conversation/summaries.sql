-- name: latest
-- The newest version, or the newest that covers nothing after $4.
select * from summaries where tenant = $1 and session_id = $2 and thread = $3 and last_seq <= coalesce($4, last_seq)
order by version desc limit 1;

-- name: versions
select * from summaries where tenant = $1 and session_id = $2 and ($3::text is null or thread = $3)
order by thread, version;

-- name: by_key
select * from summaries where tenant = $1 and session_id = $2 and key = $3;

-- name: texts
select thread, text from summaries
join unnest($3::text[], $4::integer[]) as wanted (thread, version) using (thread, version)
where tenant = $1 and session_id = $2;

-- name: store
-- Compare-and-set: inserts only if the last version is the previous one and its range lies inside the new one.
insert into summaries (tenant, session_id, thread, version, first_seq, last_seq, text, tokens, tokens_before,
                       tokens_after, method, model, source_digest, key, hold_id, layers, source_characters,
                       prompt_version, language, fidelity, trigger, passed)
select $1, $2, $3, $4::integer, $5::bigint, $6::bigint, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
       $20, $21, $22::bigint[]
where $4::integer = 1 + coalesce((
    select max(version) from summaries where tenant = $1 and session_id = $2 and thread = $3), 0)
  and not exists (
    select from summaries where tenant = $1 and session_id = $2 and thread = $3 and version = $4::integer - 1
    and (first_seq < $5::bigint or last_seq >= $6::bigint))
on conflict do nothing
returning version;

-- name: add_counts
update summaries set tokens = tokens || $5::jsonb
where tenant = $1 and session_id = $2 and thread = $3 and version = $4;

-- name: claim
-- A retry of the same compression retains its claim; another one gets it only after it has expired.
insert into compressions (tenant, session_id, thread, key, expires_at)
values ($1, $2, $3, $4, clock_timestamp() + $5::interval)
on conflict (tenant, session_id, thread) do update set key = excluded.key, expires_at = excluded.expires_at
where compressions.key = excluded.key or compressions.expires_at < clock_timestamp()
returning true;

-- name: unclaim
delete from compressions where tenant = $1 and session_id = $2 and thread = $3 and key = $4;

-- name: cooling
select 1 from compression_health
where tenant = $1 and session_id = $2 and thread = $3 and cooling_until > clock_timestamp();

-- name: fruitless
select 1 from compression_health where tenant = $1 and session_id = $2 and thread = $3 and fruitless_seq >= $4;

-- name: uncovered
-- Number and tokens of what a window shows: the last summary and all messages after it, and of those before its range.
with summary as (
    select first_seq, last_seq, tokens_after from summaries
    where tenant = $1 and session_id = $2 and thread = $3 order by version desc limit 1
), shown as (
    select seq, tokens from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq > coalesce((select last_seq from summary), 0)
    union all
    select seq, tokens from messages
    where tenant = $1 and session_id = $2 and thread = $3 and seq < (select first_seq from summary)
)
select count(*) as messages,
       (coalesce(sum(coalesce((tokens ->> $4)::bigint, (select max(value::bigint) from jsonb_each_text(tokens)))), 0)
        + coalesce((select tokens_after from summary), 0))::bigint as tokens,
       coalesce(max(seq), 0) as last_seq,
       coalesce((select fruitless_seq from compression_health where tenant = $1 and session_id = $2 and thread = $3), 0)
       as fruitless_seq
from shown;

-- name: failed
-- The last consecutive failure begins the cooldown; the next failure counts from 1.
insert into compression_health as h (tenant, session_id, thread, failures) values ($1, $2, $3, 1)
on conflict (tenant, session_id, thread) do update set
    failures = case when h.failures + 1 < $4 then h.failures + 1 else 0 end,
    cooling_until = case when h.failures + 1 < $4 then null else clock_timestamp() + $5::interval end
returning cooling_until is not null as cools;

-- name: succeeded
update compression_health set failures = 0, cooling_until = null where tenant = $1 and session_id = $2 and thread = $3;

-- name: gained_nothing
insert into compression_health (tenant, session_id, thread, fruitless_seq) values ($1, $2, $3, $4)
on conflict (tenant, session_id, thread) do update set fruitless_seq = excluded.fruitless_seq;
