-- Attempts: the requests to a provider under a hold.

-- Charges an attempt that started and never reported, if there is one, with the amount held for it, or with the most that
-- its request can use if that is more: nobody saw how much of it was produced.
create function ledger_presume(p_tenant text, p_hold bigint, p_now timestamptz) returns void language plpgsql as $$
declare
    h holds%rowtype;
    a attempts%rowtype;
begin
    select * into h from holds t where t.tenant = p_tenant and t.hold_id = p_hold;
    update attempts t set state = 'presumed', tokens = greatest(h.tokens, t.most_tokens), nano = greatest(h.nano, t.most_nano),
           overrun_tokens = greatest(0, t.most_tokens - h.tokens), overrun_nano = greatest(0, t.most_nano - h.nano)
    where t.tenant = p_tenant and t.hold_id = p_hold and t.state = 'started' returning * into a;
    if not found then
        return;
    end if;
    update holds t set tokens = 0, nano = 0, charged_tokens = t.charged_tokens + a.tokens, charged_nano = t.charged_nano + a.nano
    where t.tenant = p_tenant and t.hold_id = p_hold;
    perform ledger_post(p_tenant, 'presumed', h.scope_ids, h.window_starts, p_now, p_hold => p_hold, p_attempt => a.attempt,
                        p_spent => row(a.tokens, a.nano)::amount, p_held => row(-h.tokens, -h.nano)::amount,
                        p_overrun => row(a.overrun_tokens, a.overrun_nano)::amount);
end $$;

-- Starts attempt p_attempt (null: the next one) and renews the lease. Presumes an unreported one and tops up the hold.
-- p_most_… is the most that its request can use, if that may be more than is held.
create function ledger_start_attempt(p_tenant text, p_hold bigint, p_attempt integer, p_defaults jsonb, p_now timestamptz,
                                     p_most_tokens bigint default null, p_most_nano bigint default null)
returns table (outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_attempt integer;
    v_state text;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', p_attempt, null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    end if;
    v_attempt := coalesce(p_attempt, h.attempts + 1);
    select a.state into v_state from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = v_attempt;
    if h.state <> 'held' then
        return query select 'closed', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state = 'started' then
        return query select 'started', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state is not null or v_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.attempts, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    -- Most attempts are the first of a full hold. They move no balance, so they wait for none.
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano
       or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.state = 'started') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        perform ledger_presume(p_tenant, p_hold, v_now);
        select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    end if;
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano then
        select * into t from ledger_top_up(h, 'top_up', greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
            p_defaults, v_now);
        if not t.fits then
            return query select 'short', v_attempt, h.state, greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
                h.expires_at, t.views;
            return;
        end if;
    end if;
    insert into attempts (tenant, hold_id, attempt, state, most_tokens, most_nano, started_at)
    values (p_tenant, p_hold, v_attempt, 'started', p_most_tokens, p_most_nano, v_now);
    update holds x set attempts = v_attempt, expires_at = greatest(x.expires_at, v_now + x.lease) where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'started', v_attempt, 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;

-- Starts attempt 1 of holds that this transaction has just made: they are locked and full, and their lease is new.
create function ledger_start_made(p_tenant text, p_holds bigint[]) returns void language sql as $$
    insert into attempts (tenant, hold_id, attempt, state, started_at)
    select h.tenant, h.hold_id, 1, 'started', h.created_at from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds);
    update holds h set attempts = 1 where h.tenant = p_tenant and h.hold_id = any (p_holds);
$$;
