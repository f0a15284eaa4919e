-- name: plans
-- The best plan depends on the parameters: no generic plan is used.
set local plan_cache_mode = force_custom_plan;

-- name: report
-- Usage from entries, so that every figure is one that the ledger posted. A late report replaces the presumed charge
-- with classes: in each range the classes and the presumed charges add up to the total charge.
-- $1 tenant, $2 kind of scope, `tag`, `tool`, `model` or `day`, $3 from, $4 to, $5 after this id, $6 page size, $7 scopes or null: only
-- holds with all of these on their path, $8 time zone of days.
with within as (
    select array_agg(s.scope_id) as ids from unnest($7::text[]) w (name)
    join scopes s on s.tenant = $1 and s.kind = kind_of(w.name) and s.id = id_of(w.name)
), moved as (
    select s.id, e.kind, e.hold_id, e.attempt, e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
    from moves e join scopes s on s.tenant = e.tenant and s.scope_id = e.scope_id
    where e.tenant = $1 and s.kind = $2 and not is_label(s.kind) and strpos(s.id, '@') = 0 and e.at >= $3 and e.at < $4
    union all
    -- Each event once, or once for each tag of its hold. A call without a model, tool or tag has the id ''.
    select l.id, e.kind, e.hold_id, e.attempt, e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
    from journal e join holds h on h.tenant = e.tenant and h.hold_id = e.hold_id
    cross join lateral (
        select coalesce(h.model, '') as id where $2 = 'model'
        union all select to_char(e.at at time zone $8, 'YYYY-MM-DD') where $2 = 'day'
        union all select coalesce(id_of(t.name), '') from (select) one left join unnest(h.labels) t (name) on kind_of(t.name) = $2
                  where $2 in ('tag', 'tool')) l
    where $2 in ('tag', 'tool', 'model', 'day') and e.tenant = $1 and e.at >= $3 and e.at < $4
)
select m.id,
       sum((a.usage ->> 'input')::bigint)::bigint as input, sum((a.usage ->> 'cache_read')::bigint)::bigint as cache_read,
       sum((a.usage ->> 'cache_write_5m')::bigint)::bigint as cache_write_5m, sum((a.usage ->> 'cache_write_1h')::bigint)::bigint as cache_write_1h,
       sum((a.usage ->> 'output')::bigint)::bigint as output, sum((a.usage ->> 'reasoning')::bigint)::bigint as reasoning,
       sum(coalesce((a.usage ->> 'unsplit')::bigint, case m.kind when 'correction' then m.d_spent_tokens end))::bigint as unsplit,
       sum(m.d_spent_tokens)::bigint as charged_tokens, sum(m.d_spent_nano)::bigint as nano_usd,
       count(*) filter (where m.kind in ('settle', 'presumed', 'late')) - count(*) filter (where p.was) as attempts,
       count(*) filter (where m.kind = 'presumed') - count(*) filter (where p.was) as presumed,
       sum(case m.kind when 'presumed' then m.d_spent_tokens when 'late' then m.d_spent_tokens - a.tokens end)::bigint as presumed_tokens,
       sum(case m.kind when 'presumed' then m.d_spent_nano when 'late' then m.d_spent_nano - a.nano end)::bigint as presumed_nano,
       count(*) filter (where (a.usage ->> 'unpriced')::boolean) as unpriced,
       sum(m.d_overrun_tokens)::bigint as overrun_tokens, sum(m.d_overrun_nano)::bigint as overrun_nano
from moved m
left join attempts a on m.kind in ('settle', 'late') and a.tenant = $1 and a.hold_id = m.hold_id and a.attempt = m.attempt
left join lateral (
    select true as was where m.kind = 'late' and exists (
        select from hold_moves x
        where x.tenant = $1 and x.hold_id = m.hold_id and x.attempt = m.attempt and x.kind = 'presumed')) p on true
where m.kind in ('settle', 'overrun', 'presumed', 'late', 'correction') and ($5::text is null or m.id collate "C" > $5)
  and ($7::text[] is null or exists (
        select from holds h, within w
        where h.tenant = $1 and h.hold_id = m.hold_id and cardinality(w.ids) = cardinality($7) and h.scope_ids @> w.ids))
group by m.id order by m.id collate "C" limit $6;
