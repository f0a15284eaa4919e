-- Events in a total order from which readers can resume.

-- Identity values are taken before commit, so a reader that resumes after the highest id misses late commits. A
-- position is assigned after commit, by one transaction at a time: whenever a position is visible, all lower ones are
-- too.
create sequence event_positions;

-- Events for pages and webhooks. A warning fires once per scope, window and threshold.
create table events (
    tenant       text not null,
    event_id     bigint generated always as identity,
    at           timestamptz not null,
    kind         text not null,
    scope        text,
    window_start timestamptz,
    threshold    numeric,
    data         jsonb not null default '{}',
    position     bigint,
    primary key (tenant, event_id),
    constraint events_position unique (tenant, position)
);
alter sequence event_positions owned by events.position;
create unique index events_once on events (tenant, scope, window_start, threshold) where kind = 'threshold';
create index events_unnumbered on events (event_id) where position is null;
create index events_in_order on events (position);

-- The highest position of each tenant that retention has deleted: a reader that resumes before it has missed events.
create table forgotten_events (
    tenant   text primary key,
    position bigint not null
);

-- Assigns positions to committed events, oldest id first; returns how many. A concurrent call does nothing.
-- The lock belongs to the transaction: it works behind a pooler, and it is released after its rows have become visible.
create function number_events(p_limit integer) returns integer language plpgsql as $$
declare
    v_count integer;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser events', 0)) then
        return 0;
    end if;
    with due as materialized (select tenant, event_id from events where position is null order by event_id limit p_limit),
    numbered as (select tenant, event_id, nextval('event_positions') as position from due)
    update events e set position = n.position from numbered n where e.tenant = n.tenant and e.event_id = n.event_id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;

-- Inserts an event. Only ledger_warn inserts events in another way, because it inserts sets.
create function put_event(p_tenant text, p_kind text, p_scope text, p_data jsonb, p_at timestamptz default clock_timestamp(),
                          p_window_start timestamptz default null) returns void language sql as $$
    insert into events (tenant, at, kind, scope, window_start, data)
    values (p_tenant, p_at, p_kind, p_scope, p_window_start, p_data)
$$;

create function event_amount(p_tokens bigint, p_nano bigint) returns jsonb language sql immutable as
$$ select jsonb_build_object('tokens', p_tokens, 'nano_usd', p_nano) $$;

-- Writes an event for every change of a stored policy, but not for the request of a task.
create function emit_policy_event() returns trigger language plpgsql as $$
declare
    v_old jsonb := case when tg_op = 'UPDATE' then to_jsonb(old) else '{}' end;
    v_new jsonb := to_jsonb(new);
    v_fields jsonb;
begin
    select jsonb_object_agg(name, jsonb_build_object('before', v_old -> name, 'after', v_new -> name)) into v_fields
    from unnest(array['limit_tokens', 'limit_nano_usd', 'mode', 'window', 'timezone', 'warn_at', 'backpressure', 'approval', 'frozen', 'shadow',
                      'learned_holds', 'last_answer', 'rollover', 'ladder']) name
    where coalesce(v_old -> name, 'null') <> coalesce(v_new -> name, 'null');
    if v_fields is not null then
        perform put_event(new.tenant, 'budget', s.kind || ':' || s.id,
                          jsonb_build_object('by', new.updated_by, 'fields', v_fields), p_at => new.updated_at)
        from scopes s where s.tenant = new.tenant and s.scope_id = new.scope_id;
    end if;
    return null;
end $$;
create trigger emit_policy after insert or update on policies for each row when (new.task = '') execute function emit_policy_event();
