-- name: wait
select pacing_wait($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: pause
-- $1 limit, $2 seconds, $3 now.
insert into pacing as p (name, paused_until)
values ($1, coalesce($3, clock_timestamp()) + make_interval(secs => $2))
on conflict (name) do update set paused_until = greatest(p.paused_until, excluded.paused_until);
