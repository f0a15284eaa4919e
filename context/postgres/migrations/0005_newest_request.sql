-- The newest user message of a thread, which no summary covers; null if there is none.
create function newest_request(p_tenant text, p_session_id text, p_thread text) returns bigint
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
    return (
        select seq from messages where tenant = p_tenant and session_id = p_session_id and role = 'user'
          and (thread, seq) <= (p_thread, 9223372036854775807) and (thread, seq) > (p_thread, 0)
        order by thread desc, seq desc limit 1
    );
end $$;
