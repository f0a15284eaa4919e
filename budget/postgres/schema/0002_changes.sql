-- Sign-in links, browser sessions, keys that end, and who changed what.
select 1; -- to be replaced
