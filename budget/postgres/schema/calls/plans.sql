-- Plans of the calls: kept, not made anew in each call.
--
-- The planner takes the lists of a call for ten or a hundred members, so a plan for any lists looks dearer to it than the plan
-- for these plus planning. It planned every statement in every call, which took two thirds of the time of a hold.

do $$
declare
    name regprocedure;
begin
    for name in
        select oid from pg_proc where pronamespace = current_schema()::regnamespace and proname in (
            'ledger_hold', 'ledger_hold_unpriced', 'ledger_hold_many', 'ledger_start_attempt', 'ledger_start_many',
            'ledger_settle', 'ledger_settle_unpriced', 'ledger_settle_many', 'ledger_extend', 'ledger_extend_many',
            'ledger_release', 'ledger_release_many'
        )
    loop
        execute format('alter function %s set plan_cache_mode = force_generic_plan', name);
    end loop;
end $$;
