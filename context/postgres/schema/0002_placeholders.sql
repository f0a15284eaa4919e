-- Placeholders of redacted values.
select 1;
