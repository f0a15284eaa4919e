-- Settling attempts.

-- Records the full cost of an attempt. p_keep leaves the hold open for another attempt.
create function ledger_settle(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb, p_digest bytea,
                              p_keep boolean, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    a attempts%rowtype;
    v_state text;
    v_over bigint := 0;
    v_over_nano bigint := 0;
    v_late boolean := false;
    v_free bigint;
    v_free_nano bigint;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found or h.state = 'none' or h.views is null then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, 0;
        return;
    end if;
    select * into a from attempts x where x.tenant = p_tenant and x.hold_id = p_hold and x.attempt = p_attempt;
    if a.state = 'reported' then
        return query select case when a.digest = p_digest then 'repeat' else 'conflict' end,
                            h.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, h.attempts;
        return;
    elsif a.state is null and p_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts;
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_countable(p_tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
    if a.state is null then
        if h.attempts > 0 then
            perform ledger_presume(p_tenant, p_hold, v_now);
            select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
        end if;
        a.tokens := 0;
        a.nano := 0;
        a.overrun_tokens := 0;
        a.overrun_nano := 0;
        h.attempts := p_attempt;
    end if;
    v_state := h.state;
    if h.state <> 'held' or a.state = 'presumed' then
        v_late := true;
        -- Without its overrun, what was presumed is what was held.
        v_over := greatest(0, p_tokens - a.tokens + a.overrun_tokens);
        v_over_nano := greatest(0, p_nano - a.nano + a.overrun_nano);
        perform ledger_post(p_tenant, 'late', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - a.tokens, p_nano - a.nano)::amount,
                            p_overrun => row(v_over - a.overrun_tokens, v_over_nano - a.overrun_nano)::amount);
        -- The charge that it replaces may have fallen out of a rolling window: then the next ask takes this out, too, even one
        -- whose time is before that of this report.
        update balances b set rolls_at = '-infinity' from unnest(h.scope_ids, h.window_starts) x (s, w)
        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolls_at is not null;
    else
        v_over := greatest(0, p_tokens - h.tokens);
        v_over_nano := greatest(0, p_nano - h.nano);
        v_free := case when p_keep then p_tokens - v_over else h.tokens end;
        v_free_nano := case when p_keep then p_nano - v_over_nano else h.nano end;
        perform ledger_post(p_tenant, 'settle', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - v_over, p_nano - v_over_nano)::amount,
                            p_held => row(-v_free, -v_free_nano)::amount);
        if v_over > 0 or v_over_nano > 0 then
            perform ledger_post(p_tenant, 'overrun', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                                p_spent => row(v_over, v_over_nano)::amount, p_overrun => row(v_over, v_over_nano)::amount);
        end if;
        h.tokens := h.tokens - v_free;
        h.nano := h.nano - v_free_nano;
        v_state := case when p_keep then 'held' else 'settled' end;
    end if;
    update holds x set state = v_state, tokens = h.tokens, nano = h.nano, attempts = h.attempts,
           charged_tokens = h.charged_tokens + p_tokens - a.tokens, charged_nano = h.charged_nano + p_nano - a.nano,
           ended_at = case when v_state = 'held' then null else coalesce(h.ended_at, v_now) end
    where x.tenant = p_tenant and x.hold_id = p_hold;
    insert into attempts (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, late, usage, digest,
                          started_at, reported_at)
    values (p_tenant, p_hold, p_attempt, 'reported', p_tokens, p_nano, v_over, v_over_nano, v_late, p_usage, p_digest, v_now, v_now)
    on conflict (tenant, hold_id, attempt) do update set state = excluded.state, tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano, late = excluded.late,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    if v_over > 0 or v_over_nano > 0 then
        perform ledger_warn(p_tenant, h.scope_ids, h.window_starts, array(
            select jsonb_build_object('scope', p.scope, 'mode', p.shared_mode, 'limit', jsonb_build_array(p.shared_tokens, p.shared_nano),
                                      'warn_at', p.warn_at) || p.shadow
            from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p order by p.ord), v_now);
    end if;
    return query select 'settled', v_state, p_tokens, p_nano, v_over, v_over_nano, v_late, h.attempts;
end $$;

-- Settles an attempt whose price is unknown, unless a scope of its path limits money: then nothing is written, and the
-- outermost such scope is returned with its limit.
create function ledger_settle_unpriced(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb,
                                       p_digest bytea, p_keep boolean, p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer,
               model text, scope text, limit_nano bigint)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if h.views is not null
       and not exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = p_attempt
                       and a.state = 'reported') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        return query select 'price_needed', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts, h.model, p.scope, p.limit_nano
                     from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p where p.limit_nano is not null and p.shadow = '{}'
                     order by p.ord limit 1;
        if found then
            return;
        end if;
    end if;
    return query select s.*, null::text, null::text, null::bigint
                 from ledger_settle(p_tenant, p_hold, p_attempt, p_tokens, p_nano, p_usage, p_digest, p_keep, p_defaults, p_now) s;
end $$;
