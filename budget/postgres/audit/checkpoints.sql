-- name: make
select ledger_checkpoint($1, null);
