-- name: waiting
-- A call waits for a decision while nothing was held under its key; $3 is preferred to none.
select coalesce(
    (select c.key from approval_calls c join hold_facts h on h.tenant = c.tenant and h.key = c.key and h.state = 'none'
     where c.tenant = $1 and c.state = 'pending' and c.left_at is null and starts_with(c.key, $2) order by c.since, c.key limit 1),
    (select h.key from hold_facts h where h.tenant = $1 and h.key = $3 and h.state = 'none'));
