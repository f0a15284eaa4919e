-- The index for retrieval over stored messages.
select 1;
