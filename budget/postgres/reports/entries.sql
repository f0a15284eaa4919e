-- name: plans
-- The best plan depends on the filters that are set: no generic plan is used.
set local plan_cache_mode = force_custom_plan;

-- name: deleted_until
-- When the last event was that retention has deleted.
select nullif(r.last_at, '-infinity') from closed_ranges r order by r.checkpoint_id desc limit 1;

-- name: list
-- Entries of a tenant, newest first. $2 scope, $3 kind, $4 hold, $5 task, $6 since, $7 until, $8 before this entry, $9
-- page size. A page takes the latest events, or the latest entries of each window of the scope that has entries before $8. The
-- start of a window does not tell: calls that wait for each other are posted later than their time.
with page_before as materialized (
    select m.scope_id, m.window_start, m.seq from moves m where m.tenant = $1 and m.number = $8::bigint / 1000
), page as materialized (
    select e.* from (
        select m.*
        from (select s.scope_id, b.window_start, coalesce((
                  select p.last_seq from page_before l cross join lateral ledger_posting($1, l.scope_id, l.window_start, l.seq) p
                  where l.scope_id = b.scope_id and l.window_start = b.window_start), b.seq) as last_seq
              from scopes s join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id
              where s.tenant = $1 and s.kind = kind_of($2) and s.id = id_of($2)
                and ($8::bigint is null or $8::bigint / 1000 >= (
                    select p.first_number from postings p
                    where p.tenant = $1 and p.scope_id = b.scope_id and p.window_start = b.window_start order by p.last_seq limit 1))) w
        cross join lateral (
            select * from balance_moves e
            where e.tenant = $1 and e.scope_id = w.scope_id and e.window_start = w.window_start
              and ($3::text is null or e.kind = $3) and ($4::bigint is null or e.hold_id = $4)
              and ($5::text is null or exists (
                  select from holds h where h.tenant = $1 and h.hold_id = e.hold_id and h.task = nullif($5, '')))
              and ($6::timestamptz is null or e.at >= $6) and ($7::timestamptz is null or e.at < $7)
              and ($8::bigint is null or e.entry_id < $8 and e.last_seq <= w.last_seq)
            order by e.last_seq desc, e.seq desc limit $9) m
        where $2::text is not null
        union all
        select m.*, null from (
            select e.number from journal e
            where e.tenant = $1 and $2::text is null
              and ($3::text is null or e.kind = $3) and ($4::bigint is null or e.hold_id = $4)
              and ($5::text is null or exists (
                  select from holds h where h.tenant = $1 and h.hold_id = e.hold_id and h.task = nullif($5, '')))
              and ($6::timestamptz is null or e.at >= $6) and ($7::timestamptz is null or e.at < $7)
              and ($8::bigint is null or e.number <= $8::bigint / 1000)
            order by e.number desc limit $9 + 1) j
        join moves m on m.tenant = $1 and m.number = j.number and ($8::bigint is null or m.entry_id < $8)) e
    order by e.entry_id desc limit $9
)
select e.*, a.*, l.*, calendar_start(e.window_start) as began, rolling_length(e.window_start) as length,
       s.kind || ':' || s.id as scope, h.key, h.path, h.model, h.task
from page e
join scopes s on s.tenant = e.tenant and s.scope_id = e.scope_id
left join holds h on h.tenant = e.tenant and h.hold_id = e.hold_id
cross join lateral ledger_posting(e.tenant, e.scope_id, e.window_start, e.seq) p
cross join lateral ledger_after(p, e.number) a
cross join lateral ledger_limits(e.gate_tokens, e.gate_nano, e.gate_mode, p) l
order by e.entry_id desc;
