-- name: roll_off
select ledger_roll_off_range($1, $2, $3);

-- name: close
select outcome, first_number, last_number, events from ledger_close_range($1, $2);
