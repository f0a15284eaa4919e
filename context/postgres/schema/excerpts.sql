-- Excerpts of threads, for windows.

-- What a window may show of the newest p_examined messages after p_last, which a summary covers from p_first on (0: there is
-- none), and of the messages before them. `tail`: the newest message that together with all later ones takes more than p_tokens
-- and is not among the newest p_newest; null if the newest p_examined do not take so many. `head`: p_last, or else the last of
-- the first p_primers messages and 20 more, as system messages do not count. Up to `tail` or p_last, from p_first or the message
-- after `head` on, only required messages are included: those that stay verbatim, those that the summary passed over
-- (p_passed), and the first user message. A message not yet counted for p_key counts as its vocabulary does, p_vocabulary, which
-- is never more. Without p_tokens and p_examined, everything but the range of the summary is included.
-- Planned once: planning takes as long as reading. Comparisons of rows leave only the index of threads, because another in the
-- same order would read all other threads of the session.
create function thread_excerpt(p_tenant text, p_session_id text, p_thread text, p_key text, p_upto bigint, p_vocabulary text,
                               p_tokens bigint, p_primers integer, p_newest integer, p_examined bigint, p_first bigint,
                               p_last bigint, p_passed bigint[])
returns table (seq bigint, role text, tokens integer, call_ids text[], tool_call_id text, characters integer, pinned boolean,
               head bigint, tail bigint)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    return query
    with newest as materialized (
        select seq, role, (tokens ->> p_key)::integer as tokens, (tokens ->> p_vocabulary)::integer as others, call_ids, tool_call_id,
               characters
        from messages where tenant = p_tenant and session_id = p_session_id
          and (thread, seq) <= (p_thread, p_upto) and (thread, seq) > (p_thread, p_last)
        order by thread desc, seq desc limit p_examined
    ), summed as (
        select seq, sum(coalesce(tokens, others)) over newer as upto, row_number() over newer as place
        from newest window newer as (order by seq desc rows unbounded preceding)
    ), gap as materialized (
        select (select max(seq) from summed where p_tokens is not null and upto > p_tokens and place > p_newest) as tail,
               case when p_last > 0 then p_last else coalesce(max(first.seq), 0) end as head
        from (
            select seq from messages where tenant = p_tenant and session_id = p_session_id
              and (thread, seq) <= (p_thread, p_upto) and (thread, seq) > (p_thread, 0)
            order by thread, seq limit p_primers + 20
        ) as first
    ), hole as materialized (
        select head, tail, case when p_last > 0 then least(p_first, p_upto + 1) else head + 1 end as first,
               case when p_last > 0 then least(coalesce(tail, p_last), p_upto) else tail end as last
        from gap
    ), marked as (
        select seq from pin_marks where tenant = p_tenant and session_id = p_session_id and pinned
    ), first_request as (
        select seq from messages where tenant = p_tenant and session_id = p_session_id and role = 'user'
          and (thread, seq) <= (p_thread, p_upto) and (thread, seq) > (p_thread, 0)
        order by thread, seq limit 1
    ), refs as (
        select seq, role, (tokens ->> p_key)::integer as tokens, call_ids, tool_call_id, characters from messages
        where tenant = p_tenant and session_id = p_session_id and (thread, seq) > (p_thread, 0)
          and (thread, seq) < (p_thread, (select first from hole where last is not null))
        union all
        select seq, role, (tokens ->> p_key)::integer, call_ids, tool_call_id, characters from messages
        where tenant = p_tenant and session_id = p_session_id and thread = p_thread and role in ('system', 'developer')
          and seq between (select first from hole) and (select last from hole)
        union all
        select m.seq, m.role, (m.tokens ->> p_key)::integer, m.call_ids, m.tool_call_id, m.characters
        from (select seq from marked union select seq from first_request union select unnest(p_passed)) as retained
        cross join lateral session_message(p_tenant, p_session_id, retained.seq) as m
        where m.thread = p_thread and m.role not in ('system', 'developer')
          and m.seq between (select first from hole) and (select last from hole)
        union all
        select seq, role, tokens, call_ids, tool_call_id, characters from newest
        where seq > coalesce((select tail from hole), 0)
    )
    select refs.seq, refs.role, refs.tokens, refs.call_ids, refs.tool_call_id, refs.characters,
           marked.seq is not null as pinned, hole.head, hole.tail
    from hole cross join refs left join marked using (seq) order by refs.seq;
end $$;

-- The newest user message of a thread, which no summary covers; null if there is none. Planned once, and comparisons of rows, as
-- above: otherwise each statement that calls it would be planned anew.
create function newest_request(p_tenant text, p_session_id text, p_thread text) returns bigint
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
    return (
        select seq from messages where tenant = p_tenant and session_id = p_session_id and role = 'user'
          and (thread, seq) <= (p_thread, 9223372036854775807) and (thread, seq) > (p_thread, 0)
        order by thread desc, seq desc limit 1
    );
end $$;
