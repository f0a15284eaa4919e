-- The pace of requests to providers: one row for each limit in use, of all tenants, which share the provider's quota.

create table pacing (
    name         text primary key,                        -- provider and model, or a prefix of them with a `*`
    requests_at  timestamptz not null default '-infinity', -- when the requests so far are paid off
    tokens_at    timestamptz not null default '-infinity', -- the same of their tokens
    paused_until timestamptz not null default '-infinity'  -- the provider asked to wait until then
);

-- Gives a request its slot under all of its limits, as `Spacing` describes. Returns the seconds until the slot, 0 to send
-- now; null if it is further away than p_most_s: then nothing was changed. A call (p_tenant, p_key) keeps its slot while it
-- waits; a slot that it missed, or that is within a pause, is replaced.
create function pacing_wait(
    p_names text[], p_request_s double precision[], p_request_burst_s double precision[], p_token_s double precision[],
    p_token_burst_s double precision[], p_tokens bigint, p_slack_s double precision, p_most_s double precision,
    p_tenant text, p_key text, p_now timestamptz
) returns double precision language plpgsql as $$
declare
    v_now timestamptz;
    v_paused timestamptz;
    v_slot timestamptz;
    v_start timestamptz;
begin
    insert into pacing (name) select unnest(p_names) on conflict do nothing;
    perform from pacing p where p.name = any (p_names) order by p.name for update;
    v_now := coalesce(p_now, clock_timestamp());
    select max(p.paused_until), greatest(v_now, max(p.paused_until),
               max(case when l.request_s is not null then p.requests_at - make_interval(secs => l.request_burst_s) end),
               max(case when l.token_s is not null then p.tokens_at - make_interval(secs => l.token_burst_s) end))
    into v_paused, v_start
    from unnest(p_names, p_request_s, p_request_burst_s, p_token_s, p_token_burst_s)
           as l (name, request_s, request_burst_s, token_s, token_burst_s)
    join pacing p using (name);
    select c.slot_at into v_slot from calls c where c.tenant = p_tenant and c.key = p_key;
    if v_now <= v_slot + make_interval(secs => p_slack_s) and v_paused <= greatest(v_slot, v_now) then
        v_start := greatest(v_now, v_slot);
    elsif v_start > v_now + make_interval(secs => p_most_s) then
        return null;
    else
        update pacing p
        set requests_at = case when l.request_s is null then p.requests_at
                               else greatest(p.requests_at, v_start) + make_interval(secs => l.request_s) end,
            tokens_at = case when l.token_s is null then p.tokens_at
                             else greatest(p.tokens_at, v_start) + make_interval(secs => l.token_s * p_tokens) end
        from unnest(p_names, p_request_s, p_token_s) as l (name, request_s, token_s)
        where p.name = l.name;
        update calls c set paced_ms = c.paced_ms + extract(epoch from v_start - v_now) * 1000
        where c.tenant = p_tenant and c.key = p_key and v_start > v_now;
    end if;
    update calls c set slot_at = nullif(v_start, v_now)
    where c.tenant = p_tenant and c.key = p_key and c.slot_at is distinct from nullif(v_start, v_now);
    return extract(epoch from v_start - v_now);
end $$;
