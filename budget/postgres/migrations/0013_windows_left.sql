-- A balance whose window is the current one again gets the limit and mode that were set in between.

alter type applied_policy add attribute zone text;

-- Locks the balances of the scopes, and returns the policies that apply to them.
create or replace function ledger_applied_policies(p_tenant text, p_scopes bigint[], p_defaults jsonb) returns applied_policy[] language plpgsql as $$
begin
    perform 1 from balances b where b.tenant = p_tenant and b.scope_id = any (p_scopes) order by b.scope_id, b.window_start for update;
    return array(select row(p.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win, p.zone)::applied_policy
                 from ledger_policies(p_tenant, p_scopes, '', p_defaults) p);
end $$;

-- Posts an entry for each balance in use whose limit or mode differs from `p_before`. A scope that has ended gets none. A
-- calendar window of another kind may go on with the balance of one that began at the same instant, as a month with that of
-- its first day: the grants in it were for that window, so they end.
-- A balance whose window was not the current one until now may have missed changes: its own limit and mode are those that
-- differ, unless they may be those that a task requested. One of which no entry says a limit, such as of a grant alone, has none.
create or replace function ledger_post_policies(p_tenant text, p_before applied_policy[], p_by text, p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    b record;
    v_change text;
begin
    for b in select n.scope_id, x.window_start, case when m.moved then x.limit_tokens else o.limit_tokens end as old_tokens,
                    case when m.moved then x.limit_nano else o.limit_nano end as old_nano,
                    case when m.moved then x.mode else o.mode end as old_mode,
                    n.limit_tokens as new_tokens, n.limit_nano as new_nano, n.mode as new_mode,
                    n.win <> o.win and calendar_start(x.window_start) is not null as other_window
             from ledger_policies(p_tenant, array(select u.scope_id from unnest(p_before) u), '', p_defaults) n
             join unnest(p_before) o on o.scope_id = n.scope_id
             join scopes s on s.tenant = p_tenant and s.scope_id = n.scope_id and s.ended_at is null
             join balances x on x.tenant = p_tenant and x.scope_id = n.scope_id and x.window_start = ledger_window_start(n.win, n.zone, p_now)
             cross join lateral (
                 select x.window_start <> ledger_window_start(o.win, o.zone, p_now)
                    and (exists (select from balance_moves e where e.tenant = p_tenant and e.scope_id = x.scope_id and e.window_start = x.window_start
                                   and e.kind in ('hold', 'top_up', 'limit_raised', 'limit_lowered', 'mode_changed'))
                         or exists (select from closings c where c.tenant = p_tenant and c.scope_id = x.scope_id and c.window_start = x.window_start))
                    and not exists (
                        select from policies r where r.tenant = p_tenant and r.scope_id = n.scope_id and r.task <> ''
                        and (r.limit_tokens = x.limit_tokens or r.limit_nano_usd = x.limit_nano or r.mode = x.mode)) as moved) m
             order by n.scope_id loop
        v_change := case
            when (b.new_tokens < coalesce(b.old_tokens, b.new_tokens + 1)) is true
              or (b.new_nano < coalesce(b.old_nano, b.new_nano + 1)) is true then 'limit_lowered'
            when b.new_tokens is distinct from b.old_tokens or b.new_nano is distinct from b.old_nano then 'limit_raised'
            when b.new_mode <> b.old_mode then 'mode_changed' end;
        if v_change is not null then
            perform ledger_post(p_tenant, v_change, array[b.scope_id], array[b.window_start], p_now, p_ref => p_by,
                                p_limits => array[b.new_tokens], p_nanos => array[b.new_nano], p_modes => array[b.new_mode]);
        end if;
        if b.other_window then
            perform ledger_end_grants(p_tenant, array[b.scope_id], array[b.window_start], p_now, p_all => true);
        end if;
    end loop;
end $$;
