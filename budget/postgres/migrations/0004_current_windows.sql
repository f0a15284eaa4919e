-- The scopes with a window or a time zone of their own. All others of a kind share its default, except further limits.
create or replace view own_windows as
    select tenant, scope_id from policies where "window" is not null or timezone is not null
    union all
    select tenant, scope_id from templated_policies where "window" is not null or timezone is not null;

-- The start of the current window of one scope. What its own task requests for it counts.
create or replace function ledger_current_window(p_tenant text, p_scope bigint, p_kind text, p_id text, p_defaults jsonb, p_now timestamptz)
returns table (start timestamptz) language sql stable as $$
    select ledger_window_start(e.win, e.zone, p_now)
    from (select (
        select p.task from policies p where p.tenant = p_tenant and p.scope_id = p_scope and p.task <> ''
          and p.task = requesting_task(p_kind, p_id)
        order by p.updated_at desc limit 1) as task offset 0) request
    cross join lateral ledger_policies(p_tenant, array[p_scope], coalesce(request.task, ''), p_defaults) e
$$;
