-- What pages look up.
select 1; -- to be replaced
