-- Corrects the amount of a refused addition.

-- Renews the lease of an open hold and, through the gate, adds to it; p_nano as in ledger_top_up. Returns the amount that is
-- held, or the addition if it does not fit.
create or replace function ledger_extend(p_tenant text, p_hold bigint, p_tokens bigint, p_nano bigint, p_lease interval,
    p_defaults jsonb, p_now timestamptz)
returns table (outcome text, state text, tokens bigint, nano bigint, expires_at timestamptz, views jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    elsif h.state <> 'held' then
        return query select 'closed', h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    if p_tokens > 0 or p_nano > 0 then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        select * into t from ledger_top_up(h, 'top_up', p_tokens, p_nano, p_defaults, v_now);
        if not t.fits then
            return query select 'short', h.state, p_tokens, coalesce(p_nano, 0), h.expires_at, t.views;
            return;
        end if;
    end if;
    update holds x set expires_at = greatest(x.expires_at, v_now + coalesce(p_lease, x.lease))
    where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'extended', 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;
