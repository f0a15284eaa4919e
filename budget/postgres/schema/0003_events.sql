-- Events in an order that readers can continue from, and changes of policies as events.

-- Identity values are taken before commit, so whoever reads on from the highest id misses what commits late. A position
-- is given after commit, by one numberer at a time: all positions below one that is seen are seen too.
create sequence event_positions;
alter table events add column position bigint;
with ordered as materialized (select event_id from events order by event_id),
numbered as (select event_id, nextval('event_positions') as position from ordered)
update events e set position = n.position from numbered n where n.event_id = e.event_id;
alter table events add constraint events_position unique (position);
alter sequence event_positions owned by events.position;
create index events_unnumbered on events (event_id) where position is null;
create index events_feed on events (tenant, position);

-- The last position of each tenant that retention has deleted: who continues from before it has missed something.
create table forgotten_events (
    tenant   text primary key,
    position bigint not null
);

-- Gives positions to committed events, oldest id first; returns how many got one. Whoever comes second does nothing.
-- The lock is of the transaction: it works behind a pooler, and it ends after what it guards has become visible.
create function number_events(p_limit integer) returns integer language plpgsql as $$
declare
    v_count integer;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser events', 0)) then
        return 0;
    end if;
    with due as materialized (select event_id from events where position is null order by event_id limit p_limit),
    numbered as (select event_id, nextval('event_positions') as position from due)
    update events e set position = n.position from numbered n where n.event_id = e.event_id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;

create function event_amount(p_tokens bigint, p_nano bigint) returns jsonb language sql immutable as
$$ select jsonb_build_object('tokens', p_tokens, 'nano_usd', p_nano) $$;

-- Amounts were pairs.
update events set data = data || coalesce((
    select jsonb_object_agg(case key when 'granted' then case kind when 'approval' then 'given' else key end else key end,
                            event_amount((value ->> 0)::bigint, (value ->> 1)::bigint))
    from jsonb_each(data) where jsonb_typeof(value) = 'array'), '{}')
where kind in ('threshold', 'approval');
update events set data = data - 'granted' where kind = 'approval';

-- A threshold that is added in mid-window is told although a higher one was: each is remembered, no longer the highest alone
-- (`warned`, which nothing reads any more).
alter table balances add column warned_at numeric[] not null default '{}';
update balances b set warned_at = w.thresholds
from (select s.scope_id, e.window_start, array_agg(e.threshold) as thresholds
      from events e join scopes s on s.tenant = e.tenant and s.kind = split_part(e.scope, ':', 1)
                                 and s.id = substr(e.scope, strpos(e.scope, ':') + 1)
      where e.kind = 'threshold' group by 1, 2) w
where b.scope_id = w.scope_id and b.window_start = w.window_start;

-- A stored policy has changed, by whatever way. What one task asks for is no such change.
create function tell_policy() returns trigger language plpgsql as $$
declare
    v_old jsonb := case when tg_op = 'UPDATE' then to_jsonb(old) else '{}' end;
    v_new jsonb := to_jsonb(new);
    v_fields jsonb;
begin
    select jsonb_object_agg(name, jsonb_build_object('before', v_old -> name, 'after', v_new -> name)) into v_fields
    from unnest(array['limit_tokens', 'limit_nano_usd', 'mode', 'window', 'timezone', 'warn_at', 'backpressure', 'approval', 'frozen']) name
    where coalesce(v_old -> name, 'null') <> coalesce(v_new -> name, 'null');
    if v_fields is not null then
        insert into events (at, tenant, kind, scope, data)
        select new.updated_at, s.tenant, 'budget', s.kind || ':' || s.id, jsonb_build_object('by', new.updated_by, 'fields', v_fields)
        from scopes s where s.scope_id = new.scope_id;
    end if;
    return null;
end $$;
create trigger tell_policy after insert or update on policies for each row when (new.task = '') execute function tell_policy();
