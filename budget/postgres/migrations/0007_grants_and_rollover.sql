-- A window of another kind that goes on with a balance, because it began at the same instant, has none of its grants; and
-- `rollover` may be 0, so that a scope can differ from its template.

alter table policies drop constraint policies_rollover_check,
    add constraint policies_rollover_check check (rollover >= 0 and rollover <= 1);
alter type applied_policy add attribute win text;
drop function ledger_end_grants(text, bigint[], timestamptz[], timestamptz);

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

-- Locks the balances of the scopes, and returns the policies that apply to them.
create or replace function ledger_applied_policies(p_tenant text, p_scopes bigint[], p_defaults jsonb) returns applied_policy[] language plpgsql as $$
begin
    perform 1 from balances b where b.tenant = p_tenant and b.scope_id = any (p_scopes) order by b.scope_id, b.window_start for update;
    return array(select row(p.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win)::applied_policy
                 from ledger_policies(p_tenant, p_scopes, '', p_defaults) p);
end $$;

-- Posts an entry for each balance in use whose limit or mode differs from `p_before`. A scope that has ended gets none. A
-- calendar window of another kind may go on with the balance of one that began at the same instant, as a month with that of
-- its first day: the grants in it were for that window, so they end.
create or replace function ledger_post_policies(p_tenant text, p_before applied_policy[], p_by text, p_defaults jsonb, p_now timestamptz)
returns void language plpgsql as $$
declare
    b record;
    v_change text;
begin
    for b in select n.scope_id, x.window_start, o.limit_tokens as old_tokens, o.limit_nano as old_nano, o.mode as old_mode,
                    n.limit_tokens as new_tokens, n.limit_nano as new_nano, n.mode as new_mode,
                    n.win <> o.win and calendar_start(x.window_start) is not null as other_window
             from ledger_policies(p_tenant, array(select u.scope_id from unnest(p_before) u), '', p_defaults) n
             join unnest(p_before) o on o.scope_id = n.scope_id
             join scopes s on s.tenant = p_tenant and s.scope_id = n.scope_id and s.ended_at is null
             join balances x on x.tenant = p_tenant and x.scope_id = n.scope_id and x.window_start = ledger_window_start(n.win, n.zone, p_now)
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

-- What rolls over into the calendar window that begins at p_start: what is left in the one before of the limit (the lower
-- of its own and today's) and of what had rolled over into it; other grants do not. A window without a balance was not
-- used: then the whole limit is left. Nothing rolls over into the first window of a scope, nor from one of another kind.
-- Only today's limit counts where the window's own is not known: nothing was admitted in it, or what was admitted last may
-- have had the limit of a task.
create or replace function ledger_left_over(p_tenant text, p_scope bigint, p_window text, p_zone text, p_start timestamptz,
                                 p_tokens bigint, p_nano bigint, p_share numeric)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select coalesce(least(floor(p_tokens * p_share), greatest(0, l.tokens)), 0)::bigint,
           coalesce(least(floor(p_nano * p_share), greatest(0, l.nano)), 0)::bigint
    from (select ledger_window_start(p_window, p_zone, p_start - interval '1 microsecond') as start) before
    cross join lateral (
        select b.* from balances b
        where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start < p_start
          -- A batch opens the balance of an ask that it leaves alone, and that may not reach the gate's rules.
          and (b.seq > 0 or b.limit_tokens is not null or b.limit_nano is not null)
        order by b.window_start desc limit 1) b
    cross join lateral (
        select coalesce(sum(g.tokens), 0) as tokens, coalesce(sum(g.nano), 0) as nano from grants g
        where g.tenant = p_tenant and g.scope_id = p_scope and g.ended_at is null
          and g.window_start = b.window_start and g.rolled_over) carried
    cross join lateral (select case when b.window_start = before.start then 1 else 0 end as used) u
    cross join lateral (
        select exists (select from policies r where r.tenant = p_tenant and r.scope_id = p_scope and r.task <> '')
               or (b.limit_tokens is null and b.limit_nano is null
                   and (b.spent_tokens, b.held_tokens, b.spent_nano, b.held_nano) = (0, 0, 0, 0)) as unknown offset 0) w
    cross join lateral (
        select case when w.unknown then p_tokens when b.limit_tokens is not null then least(p_tokens, b.limit_tokens) end as tokens,
               case when w.unknown then p_nano when b.limit_nano is not null then least(p_nano, b.limit_nano) end as nano) o
    cross join lateral (
        select case when p_tokens is not null then o.tokens + u.used * (carried.tokens - b.spent_tokens - b.held_tokens) end as tokens,
               case when p_nano is not null then o.nano + u.used * (carried.nano - b.spent_nano - b.held_nano) end as nano) l
    where b.window_start <= before.start and calendar_start(b.window_start) is not null
$$;
