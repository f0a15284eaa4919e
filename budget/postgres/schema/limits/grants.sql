-- Grants: extra limit for a scope in one window.

-- Ends overdue grants of locked balances, or all of them.
create function ledger_end_grants(p_tenant text, p_scopes bigint[], p_windows timestamptz[], p_now timestamptz,
                                  p_all boolean default false)
returns integer language plpgsql as $$
declare
    g record;
    v_ended integer := 0;
begin
    if not p_all and not exists (select 1 from balances b join unnest(p_scopes, p_windows) x (s, w)
                   on b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w where b.grants_end_at <= p_now) then
        return 0;
    end if;
    for g in update grants t set ended_at = p_now
             from unnest(p_scopes, p_windows) x (s, w)
             where t.tenant = p_tenant and t.scope_id = x.s and t.window_start = x.w and t.ended_at is null and (p_all or t.until <= p_now)
             returning t.* loop
        perform ledger_post(p_tenant, 'grant_ended', array[g.scope_id], array[g.window_start], p_now, p_ref => g.grant_id::text,
                            p_granted => row(-g.tokens, -g.nano)::amount);
        v_ended := v_ended + 1;
    end loop;
    update balances b set grants_end_at = (select min(t.until) from grants t
                                           where t.tenant = b.tenant and t.scope_id = b.scope_id and t.window_start = b.window_start
                                             and t.ended_at is null)
    from unnest(p_scopes, p_windows) x (s, w) where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w;
    return v_ended;
end $$;

-- Ends overdue grants of balances that no ask locks, one tenant after the other.
create function ledger_sweep_grants(p_limit integer, p_now timestamptz) returns integer language plpgsql as $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_tenant text;
    b record;
    v_count integer := 0;
begin
    for v_tenant in select distinct due.tenant
                    from (select g.tenant from grants g where g.ended_at is null and g.until <= v_now order by g.until limit p_limit) due
                    order by 1 loop
        for b in select x.scope_id, x.window_start
                 from (select distinct g.scope_id, g.window_start
                       from (select * from grants g where g.tenant = v_tenant and g.ended_at is null and g.until <= v_now
                             order by g.until limit greatest(0, p_limit - v_count)) g) due
                 join balances x on x.tenant = v_tenant and x.scope_id = due.scope_id and x.window_start = due.window_start
                 order by x.scope_id, x.window_start for update of x skip locked loop
            v_count := v_count + ledger_end_grants(v_tenant, array[b.scope_id], array[b.window_start], v_now);
        end loop;
    end loop;
    return v_count;
end $$;

-- Grants extra limit to a scope in one window; in a rolling one at most for its length.
create function ledger_grant(p_tenant text, p_scope bigint, p_window timestamptz, p_tokens bigint, p_nano bigint, p_until timestamptz,
                             p_approval text, p_decision text, p_by text, p_now timestamptz)
returns bigint language plpgsql as $$
declare
    v_grant bigint;
begin
    perform ledger_open(p_tenant, array[p_scope], array[p_window], p_now);
    perform ledger_countable(p_tenant, array[p_scope], array[p_window], p_tokens, p_nano);
    p_until := least(p_until, p_now + rolling_length(p_window));
    insert into grants (tenant, scope_id, window_start, tokens, nano, until, approval_id, decision_id, granted_by, created_at)
    values (p_tenant, p_scope, p_window, p_tokens, p_nano, p_until, p_approval, p_decision, p_by, p_now) returning grant_id into v_grant;
    perform ledger_post(p_tenant, 'grant', array[p_scope], array[p_window], p_now, p_ref => v_grant::text,
                        p_granted => row(p_tokens, p_nano)::amount);
    update balances b set grants_end_at = least(b.grants_end_at, p_until)
    where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start = p_window;
    return v_grant;
end $$;
