-- What metrics are computed from.
select 1; -- to be replaced
