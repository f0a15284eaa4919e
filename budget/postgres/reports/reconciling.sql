-- name: by_request
-- $1: tenants; null: all, because one account of a provider may serve several.
-- $2: ids of requests, the provider's or those that Purser sent. Only a person who compares a file reads this: no index.
select array[a.hold_id || '-' || a.attempt, a.usage ->> 'provider_request_id'] as ids, coalesce(h.model, '') as model, a.tokens
from attempts a join holds h on h.tenant = a.tenant and h.hold_id = a.hold_id
where a.tenant = any (coalesce($1, array[a.tenant]))
  and (a.usage ->> 'provider_request_id' = any ($2) or a.hold_id || '-' || a.attempt = any ($2));
-- name: by_day
-- $1: tenants; null: all.
-- Attempts that cost nothing never reached a model. Days are UTC, as those of providers.
select (a.started_at at time zone 'UTC')::date as day, coalesce(h.model, '') as model, count(*) as calls, sum(a.tokens)::bigint as tokens
from attempts a join holds h on h.tenant = a.tenant and h.hold_id = a.hold_id
where a.tenant = any (coalesce($1, array[a.tenant])) and a.tokens > 0
  and a.started_at >= $2::date::timestamp at time zone 'UTC' and a.started_at < ($3::date + 1)::timestamp at time zone 'UTC'
group by 1, 2;
