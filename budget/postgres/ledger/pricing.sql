-- name: recorded
select usage, nano from attempts where tenant = $1 and hold_id = $2 and attempt = $3 and state = 'reported';
