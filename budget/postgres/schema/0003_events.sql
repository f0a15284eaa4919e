-- Events in an order that readers can continue from, changes of policies as events, and warnings that remember which
-- thresholds were told.

-- Identity values are taken before commit, so whoever reads on from the highest id misses what commits late. A position
-- is given after commit, by one numberer at a time: all positions below one that is seen are seen too.
create sequence event_positions;
alter table events add column position bigint;
with ordered as materialized (select event_id from events order by event_id),
numbered as (select event_id, nextval('event_positions') as position from ordered)
update events e set position = n.position from numbered n where n.event_id = e.event_id;
alter table events add constraint events_position unique (position);
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
update events set data = data || (
    select jsonb_object_agg(case key when 'granted' then case kind when 'approval' then 'given' else key end else key end,
                            event_amount((value ->> 0)::bigint, (value ->> 1)::bigint))
    from jsonb_each(data) where jsonb_typeof(value) = 'array')
where kind in ('threshold', 'approval') and jsonb_path_exists(data, '$.* ? (@.type() == "array")');
update events set data = data - 'granted' where kind = 'approval';

-- A threshold that is added in mid-window is told although a higher one was: each is remembered, not the highest.
alter table balances add column warned_at numeric[] not null default '{}';
update balances b set warned_at = w.thresholds
from (select s.scope_id, e.window_start, array_agg(e.threshold) as thresholds
      from events e join scopes s on s.tenant = e.tenant and s.kind = split_part(e.scope, ':', 1)
                                 and s.id = substr(e.scope, strpos(e.scope, ':') + 1)
      where e.kind = 'threshold' group by 1, 2) w
where b.scope_id = w.scope_id and b.window_start = w.window_start;
alter table balances drop column warned;

-- Fires each warning threshold that a locked balance has reached, once per scope and window.
-- p_policies: for each balance an object with `scope`, `mode`, `limit` and `warn_at`, as ledger_views shows it.
create or replace function ledger_warn(p_scopes bigint[], p_windows timestamptz[], p_policies jsonb[], p_now timestamptz) returns void language sql as $$
    with reached as (
        select b.*, p.policy, t.threshold::numeric as threshold
        from unnest(p_scopes, p_windows, p_policies) p (scope_id, window_start, policy)
        join balances b on b.scope_id = p.scope_id and b.window_start = p.window_start
        cross join lateral jsonb_array_elements_text(p.policy -> 'warn_at') t (threshold)
        where t.threshold::numeric <> all (b.warned_at)
          and ((b.spent_tokens + b.held_tokens >= t.threshold::numeric * ((p.policy -> 'limit' ->> 0)::bigint + b.granted_tokens)) is true
            or (b.spent_nano + b.held_nano >= t.threshold::numeric * ((p.policy -> 'limit' ->> 1)::bigint + b.granted_nano)) is true)
    ), fired as (
        insert into events (at, tenant, kind, scope, window_start, threshold, data)
        select p_now, c.tenant, 'threshold', r.policy ->> 'scope', r.window_start, r.threshold, jsonb_build_object(
                   'mode', r.policy -> 'mode',
                   'limit', event_amount((r.policy -> 'limit' ->> 0)::bigint, (r.policy -> 'limit' ->> 1)::bigint),
                   'granted', event_amount(r.granted_tokens, r.granted_nano),
                   'spent', event_amount(r.spent_tokens, r.spent_nano), 'held', event_amount(r.held_tokens, r.held_nano))
        from reached r join scopes c on c.scope_id = r.scope_id order by r.scope_id, r.threshold
        on conflict do nothing
    )
    update balances b set warned_at = b.warned_at || r.thresholds
    from (select scope_id, window_start, array_agg(threshold) as thresholds from reached group by 1, 2) r
    where b.scope_id = r.scope_id and b.window_start = r.window_start
$$;

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
