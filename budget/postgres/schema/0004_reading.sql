-- What reports read: usage, entries, burn rates; and answers kept by idempotency key.
select 1; -- to be replaced
