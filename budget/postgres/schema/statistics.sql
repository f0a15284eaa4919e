-- What the planner assumes about tenants.

-- One tenant owns every row. Sampled while each tenant had a row or two, a tenant alone would seem to select one: the
-- planner would take any index that begins with it, and each foreign key check of a large tenant would read all its rows.
do $$
declare
    one text;
    col name;
begin
    foreach one in array array[
        'scopes', 'scope_parents', 'policies', 'policy_templates', 'templated_policies',
        'balances', 'holds', 'attempts', 'journal', 'postings', 'grants', 'waiters', 'approvals',
        'approval_waiters', 'decisions', 'outbox', 'balance_samples', 'events', 'forgotten_events', 'changes',
        'shadow_counts', 'closings', 'carried_events', 'dormant_totals', 'shadow_totals', 'approval_totals']
    loop
        execute format('alter table %I alter column tenant set (n_distinct = 1)', one);
        -- What `analyze` will find: without any statistics a tenant seems to select half a percent of a table, and
        -- connections keep the plans that they make in the first minutes of a database. Where a tenant selects all rows
        -- its ids have to select one, or an index without them looks better than a primary key. Postgres 17 cannot be told.
        if to_regproc('pg_restore_attribute_stats') is not null then
            for col in select attname from pg_attribute
                       where attrelid = one::regclass and attname in ('tenant', 'scope_id', 'hold_id', 'key', 'approval_id', 'number') loop
                perform pg_restore_attribute_stats(
                    'schemaname', current_schema()::text, 'relname', one, 'attname', col::text, 'inherited', false,
                    'n_distinct', case col when 'tenant' then 1 else -1 end::real);
            end loop;
        end if;
    end loop;
end $$;
