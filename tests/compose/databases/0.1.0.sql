--
-- PostgreSQL database dump
--


-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: vector; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;


--
-- Name: EXTENSION vector; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';


--
-- Name: amount; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.amount AS (
	tokens bigint,
	nano bigint
);


--
-- Name: applied_policy; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.applied_policy AS (
	scope_id bigint,
	limit_tokens bigint,
	limit_nano bigint,
	mode text
);


--
-- Name: apply_templates_to_new_scopes(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.apply_templates_to_new_scopes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    one record;
begin
    for one in select m.tenant, array_agg(m.scope_id) as scope_ids from made m group by m.tenant order by m.tenant loop
        perform pg_advisory_xact_lock_shared(template_lock(one.tenant));
        if exists (select from policy_templates t where t.tenant = one.tenant) then
            perform ledger_apply_templates(one.tenant, one.scope_ids);
        end if;
    end loop;
    return null;
end $$;


--
-- Name: binds(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.binds(p_fields jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((p_fields ->> 'shadow'::text) IS DISTINCT FROM 'true'::text) AND (jsonb_strip_nulls(p_fields) ?| ARRAY['limit_tokens'::text, 'limit_nano_usd'::text, 'mode'::text, 'frozen'::text, 'shadow'::text]));


--
-- Name: calendar_start(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.calendar_start(p_start timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (p_start >= '1000-01-01 00:00:00+00'::timestamp with time zone) THEN p_start ELSE NULL::timestamp with time zone END;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: carried_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.carried_events (
    tenant text NOT NULL,
    hold_id bigint NOT NULL,
    kind text NOT NULL,
    attempt integer NOT NULL,
    events bigint NOT NULL,
    d_spent_tokens bigint NOT NULL,
    d_held_tokens bigint NOT NULL,
    d_overrun_tokens bigint NOT NULL,
    d_spent_nano bigint NOT NULL,
    d_held_nano bigint NOT NULL,
    d_overrun_nano bigint NOT NULL,
    seen jsonb
);
ALTER TABLE ONLY public.carried_events ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: carried_hash(public.carried_events); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.carried_hash(c public.carried_events) RETURNS bit
    LANGUAGE sql STABLE
    AS $$
    select ('x' || encode(sha256(convert_to(row(
        c.tenant, c.hold_id, c.kind, c.attempt, c.events, c.d_spent_tokens, c.d_held_tokens, c.d_overrun_tokens,
        c.d_spent_nano, c.d_held_nano, c.d_overrun_nano, c.seen)::text, 'UTF8')), 'hex'))::bit(256)
$$;


--
-- Name: changes_are_append_only(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.changes_are_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'changes are append-only: a change back is another change';
end $$;


--
-- Name: checkpoints_are_append_only(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.checkpoints_are_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'checkpoints are append-only';
end $$;


--
-- Name: closed_ranges; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.closed_ranges (
    checkpoint_id bigint NOT NULL,
    last_number bigint NOT NULL,
    last_at timestamp with time zone NOT NULL,
    presumed bigint NOT NULL,
    late bigint NOT NULL,
    expired bigint NOT NULL,
    total bit(256) NOT NULL,
    previous bytea NOT NULL,
    digest bytea NOT NULL,
    closed_at timestamp with time zone NOT NULL
);


--
-- Name: closed_digest(public.closed_ranges, bytea, bytea); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.closed_digest(r public.closed_ranges, p_checkpoint bytea, p_previous bytea) RETURNS bytea
    LANGUAGE sql STABLE
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO'
    AS $$
    select sha256(p_previous || convert_to(row(
        r.checkpoint_id, p_checkpoint, r.last_number, r.last_at, r.presumed, r.late, r.expired, r.total, r.closed_at)::text, 'UTF8'))
$$;


--
-- Name: closed_ranges_are_append_only(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.closed_ranges_are_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'the record of deleted ranges is append-only';
end $$;


--
-- Name: closings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.closings (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    first_at timestamp with time zone NOT NULL,
    at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    number bigint NOT NULL,
    posted_seq bigint NOT NULL,
    spent_tokens bigint NOT NULL,
    held_tokens bigint NOT NULL,
    granted_tokens bigint NOT NULL,
    overrun_tokens bigint NOT NULL,
    spent_nano bigint NOT NULL,
    held_nano bigint NOT NULL,
    granted_nano bigint NOT NULL,
    overrun_nano bigint NOT NULL,
    limit_tokens bigint,
    limit_nano bigint,
    mode text NOT NULL,
    rolled_tokens bigint NOT NULL,
    rolled_nano bigint NOT NULL,
    gone_tokens bigint NOT NULL,
    gone_nano bigint NOT NULL,
    grants_made bigint NOT NULL,
    grants_ended bigint NOT NULL
);
ALTER TABLE ONLY public.closings ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: closing_hash(public.closings); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.closing_hash(c public.closings) RETURNS bit
    LANGUAGE sql STABLE
    AS $$
    select ('x' || encode(sha256(convert_to(row(
        c.tenant, c.scope_id, c.window_start, c.first_at, c.at, c.seq, c.number, c.posted_seq,
        c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano,
        c.limit_tokens, c.limit_nano, c.mode, c.rolled_tokens, c.rolled_nano,
        c.gone_tokens, c.gone_nano, c.grants_made, c.grants_ended)::text, 'UTF8')), 'hex'))::bit(256)
$$;


--
-- Name: closings_total(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.closings_total() RETURNS bit
    LANGUAGE sql STABLE
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO'
    AS $$
    select coalesce(bit_xor(h.hash), repeat('0', 256)::bit(256))
    from (select closing_hash(c) from closings c union all select carried_hash(e) from carried_events e) h (hash)
$$;


--
-- Name: deleted_sessions_stay_deleted(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.deleted_sessions_stay_deleted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if exists (select from deleted_sessions d where d.tenant = new.tenant and d.session_id = new.session_id) then
        raise unique_violation using message = 'the session was deleted', constraint = 'deleted_sessions_stay_deleted';
    end if;
    return null;
end $$;


--
-- Name: emit_agent_event(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.emit_agent_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform put_event(new.tenant, 'agent', 'agent:' || new.task_id || '/' || new.agent_id,
            jsonb_build_object('task_id', new.task_id, 'agent_id', new.agent_id, 'status', new.status, 'reason', nullif(new.reason, ''),
                               'short_scope', nullif(new.scope, '')));
    return null;
end $$;


--
-- Name: emit_compression_event(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.emit_compression_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform put_event(new.tenant, 'compression', 'session:' || new.session_id,
                      jsonb_build_object('session_id', new.session_id, 'thread', new.thread, 'version', new.version,
                                         'tokens_before', new.tokens_before, 'tokens_after', new.tokens_after,
                                         'method', new.method, 'trigger', new.trigger, 'model', new.model));
    return null;
end $$;


--
-- Name: emit_policy_event(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.emit_policy_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: emit_task_event(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.emit_task_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform put_event(new.tenant, 'task', 'task:' || new.task_id,
            jsonb_build_object('task_id', new.task_id, 'session_id', new.session_id, 'status', new.status));
    return null;
end $$;


--
-- Name: emit_turn_event(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.emit_turn_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform put_event(new.tenant, 'turn', 'agent:' || new.task_id || '/' || new.agent_id,
            jsonb_build_object('task_id', new.task_id, 'agent_id', new.agent_id, 'turn', new.turn, 'model', new.model,
                               'hold_id', new.hold_id::text)
            || case when tg_argv[0] = 'admitted' then
                   jsonb_build_object('step', 'admitted', 'delay_ms', new.delay_ms, 'asked', event_amount(new.tokens, new.nano))
               when tg_argv[0] = 'settled' then
                   jsonb_build_object('step', 'settled', 'usage', new.usage, 'output_capped', new.output_capped)
               else jsonb_build_object('step', 'rejected', 'reason', new.rejected) end);
    return null;
end $$;


--
-- Name: event_amount(bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.event_amount(p_tokens bigint, p_nano bigint) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$ select jsonb_build_object('tokens', p_tokens, 'nano_usd', p_nano) $$;


--
-- Name: id_of(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.id_of(p_scope text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substr(p_scope, (strpos(p_scope, ':'::text) + 1));


--
-- Name: kind_rank(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.kind_rank(p_kind text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(ARRAY['tenant'::text, 'user'::text, 'session'::text, 'task'::text, 'agent'::text, 'tag'::text, 'model'::text, 'tool'::text], p_kind);


--
-- Name: is_label(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.is_label(p_kind text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (public.kind_rank(p_kind) >= public.kind_rank('tag'::text));


--
-- Name: is_shared(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.is_shared(p_kind text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_kind <> ALL (ARRAY['task'::text, 'agent'::text]));


--
-- Name: is_window(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.is_window(p_window text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((p_window = ANY (ARRAY['lifetime'::text, 'hour'::text, 'day'::text, 'week'::text, 'month'::text])) OR ((p_window ~ '^[1-9][0-9]{0,2}[hd]$'::text) AND ((replace(replace(p_window, 'd'::text, ' days'::text), 'h'::text, ' hours'::text))::interval <= '31 days'::interval)));


--
-- Name: journal_is_append_only(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.journal_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'the journal is append-only: write a correction instead';
end $$;


--
-- Name: journal_is_closed(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.journal_is_closed() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
declare
    v_closed bigint := coalesce((select max(r.last_number) from closed_ranges r), 0);
    v_open boolean;
begin
    execute format('select exists (select from deleted d where d.%I > $1)', tg_argv[0]) into v_open using v_closed;
    if v_open then
        raise exception 'the journal is append-only: write a correction instead';
    end if;
    return null;
end $_$;


--
-- Name: kind_of(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.kind_of(p_scope text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN split_part(p_scope, ':'::text, 1);


--
-- Name: postings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.postings (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    first_number bigint NOT NULL,
    last_number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    late boolean NOT NULL,
    spent_tokens bigint NOT NULL,
    held_tokens bigint NOT NULL,
    granted_tokens bigint NOT NULL,
    overrun_tokens bigint NOT NULL,
    spent_nano bigint NOT NULL,
    held_nano bigint NOT NULL,
    granted_nano bigint NOT NULL,
    overrun_nano bigint NOT NULL,
    limit_tokens bigint,
    limit_nano bigint,
    mode text NOT NULL
);
ALTER TABLE ONLY public.postings ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: ledger_after(public.postings, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_after(p public.postings, p_number bigint) RETURNS TABLE(spent_tokens bigint, held_tokens bigint, granted_tokens bigint, overrun_tokens bigint, spent_nano bigint, held_nano bigint, granted_nano bigint, overrun_nano bigint)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    select p.spent_tokens - l.spent_tokens, p.held_tokens - l.held_tokens, p.granted_tokens - l.granted_tokens, p.overrun_tokens - l.overrun_tokens,
           p.spent_nano - l.spent_nano, p.held_nano - l.held_nano, p.granted_nano - l.granted_nano, p.overrun_nano - l.overrun_nano
    from (
        select coalesce(sum(m.d_spent_tokens), 0)::bigint as spent_tokens, coalesce(sum(m.d_held_tokens), 0)::bigint as held_tokens,
               coalesce(sum(m.d_granted_tokens), 0)::bigint as granted_tokens, coalesce(sum(m.d_overrun_tokens), 0)::bigint as overrun_tokens,
               coalesce(sum(m.d_spent_nano), 0)::bigint as spent_nano, coalesce(sum(m.d_held_nano), 0)::bigint as held_nano,
               coalesce(sum(m.d_granted_nano), 0)::bigint as granted_nano, coalesce(sum(m.d_overrun_nano), 0)::bigint as overrun_nano
        from moves m where m.tenant = p.tenant and m.number > p_number and m.number <= p.last_number
                       and m.scope_id = p.scope_id and m.window_start = p.window_start) l
$$;


--
-- Name: ledger_applied_policies(text, bigint[], jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_applied_policies(p_tenant text, p_scopes bigint[], p_defaults jsonb) RETURNS public.applied_policy[]
    LANGUAGE plpgsql
    AS $$
begin
    perform 1 from balances b where b.tenant = p_tenant and b.scope_id = any (p_scopes) order by b.scope_id, b.window_start for update;
    return array(select row(p.scope_id, p.limit_tokens, p.limit_nano, p.mode)::applied_policy
                 from ledger_policies(p_tenant, p_scopes, '', p_defaults) p);
end $$;


--
-- Name: ledger_apply_templates(text, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_apply_templates(p_tenant text, p_scopes bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
    delete from templated_policies where tenant = p_tenant and scope_id = any (p_scopes);
    insert into templated_policies (tenant, scope_id, limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure,
                                    approval, frozen, shadow, learned_holds, last_answer, rollover, ladder, sources)
    select p_tenant, s.scope_id, f.limit_tokens, f.limit_nano_usd, f.mode, f."window", f.timezone, f.warn_at, f.backpressure,
           f.approval, f.frozen, f.shadow, f.learned_holds, f.last_answer, f.rollover, f.ladder, m.sources
    from scopes s
    cross join lateral merged_templates(p_tenant, s.kind, s.id) m
    cross join lateral jsonb_populate_record(null::templated_policies, m.fields) f
    where s.tenant = p_tenant and s.scope_id = any (p_scopes) and m.fields is not null;
$$;


--
-- Name: ledger_attempts_move(text, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_attempts_move(p_tenant text, p_holds bigint[]) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    select exists (
        select from unnest(p_holds) x (hold_id)
        cross join lateral (select h.hold_id from holds h
                            where h.tenant = p_tenant and h.hold_id = x.hold_id and h.state = 'held'
                              and (h.tokens < h.asked_tokens or h.nano < h.asked_nano
                                   or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = h.hold_id and a.state = 'started'))
                            offset 0) h)
$$;


--
-- Name: ledger_batch_rooms(text, bigint[], timestamp with time zone[], jsonb[], interval, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_batch_rooms(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_policies jsonb[], p_lapse interval, p_now timestamp with time zone) RETURNS TABLE(pos bigint, scope_id bigint, window_start timestamp with time zone, shut boolean, frozen boolean, needs_price boolean, room_tokens bigint, room_nano bigint, later_tokens bigint, later_nano bigint)
    LANGUAGE sql STABLE
    AS $$
    select f.pos, f.scope_id, f.start,
           (f.policy ->> 'frozen')::boolean or ledger_due(b, p_now) is true
           or (l.bounded and (l.tokens + b.granted_tokens = 0) is true)
           or (l.bounded and exists (select 1 from waiters w where w.tenant = p_tenant and w.scope_id = f.scope_id
                                     and w.last_asked > p_now - p_lapse and w.asks >= 2)),
           (f.policy ->> 'frozen')::boolean,
           l.nano is not null and not f.policy ? 'shadow',
           r.tokens - b.held_tokens, r.nano - b.held_nano, r.tokens, r.nano
    from unnest(p_scopes, p_windows, p_policies) with ordinality f (scope_id, start, policy, pos)
    cross join lateral (select * from balances t
                        where t.tenant = p_tenant and t.scope_id = f.scope_id and t.window_start = f.start offset 0) b
    cross join lateral (select f.policy ->> 'mode' <> 'soft' as bounded, (f.policy -> 'limit' ->> 0)::bigint as tokens,
                               (f.policy -> 'limit' ->> 1)::bigint as nano offset 0) l
    cross join lateral (
        select case when l.bounded then l.tokens + b.granted_tokens - b.spent_tokens
                                        - coalesce((f.policy -> 'reserve' ->> 0)::bigint, 0) end as tokens,
               case when l.bounded then l.nano + b.granted_nano - b.spent_nano
                                        - coalesce((f.policy -> 'reserve' ->> 1)::bigint, 0) end as nano
        offset 0) r
$$;


--
-- Name: ledger_batch_scopes(text, text[], bigint[], text[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_batch_scopes(p_tenant text, p_keys text[], p_groups bigint[], p_paths text[], p_labels text[], p_fresh bigint[]) RETURNS bigint[]
    LANGUAGE sql
    AS $$
    with lacking as (
        select g.grp, kind_of(t.name) as kind, id_of(t.name) as id
        from (select distinct a.grp from unnest(p_keys, p_groups) a (key, grp)
              where a.grp = any (p_fresh) and not exists (select from holds h where h.tenant = p_tenant and h.key = a.key)) g
        cross join lateral ledger_expand(p_tenant, string_to_array(p_paths[g.grp], ' '), string_to_array(p_labels[g.grp], ' ')) t
        where t.scope_id is null
    ), made as (
        insert into scopes (tenant, kind, id) select distinct p_tenant, l.kind, l.id from lacking l order by 2, 3 on conflict do nothing
    )
    select array_agg(distinct l.grp) from lacking l
$$;


--
-- Name: ledger_began(text, bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_began(p_tenant text, p_scope bigint, p_window timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    select coalesce(
        (select c.first_at from closings c where c.tenant = p_tenant and c.scope_id = p_scope and c.window_start = p_window),
        (select p.at from postings p where p.tenant = p_tenant and p.scope_id = p_scope and p.window_start = p_window order by p.last_seq limit 1))
$$;


--
-- Name: ledger_budgets(text, text, jsonb, timestamp with time zone, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_budgets(p_tenant text, p_task text, p_defaults jsonb, p_now timestamp with time zone, p_scopes bigint[]) RETURNS TABLE(scope_id bigint, scope text, stored jsonb, template jsonb, request jsonb, window_start timestamp with time zone, window_end timestamp with time zone, spent_tokens bigint, spent_nano bigint, held_tokens bigint, held_nano bigint, granted_tokens bigint, granted_nano bigint, overrun_tokens bigint, overrun_nano bigint, limit_tokens bigint, limit_nano bigint, would jsonb)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
    return query
    select s.scope_id, s.kind || ':' || s.id, to_jsonb(f), to_jsonb(m), to_jsonb(q),
           calendar_start(w.start), ledger_window_end(e.win, e.zone, w.start),
           coalesce(b.spent_tokens, 0) - coalesce(r.tokens, 0), coalesce(b.spent_nano, 0) - coalesce(r.nano, 0),
           coalesce(b.held_tokens, 0), coalesce(b.held_nano, 0),
           coalesce(b.granted_tokens, 0) - o.tokens + coalesce(v.tokens, 0),
           coalesce(b.granted_nano, 0) - o.nano + coalesce(v.nano, 0),
           coalesce(b.overrun_tokens, 0) - coalesce(r.overrun_tokens, 0),
           coalesce(b.overrun_nano, 0) - coalesce(r.overrun_nano, 0), e.limit_tokens, e.limit_nano,
           (select jsonb_object_agg(c.outcome, c.calls) from shadow_counts c
            where c.tenant = p_tenant and c.scope_id = x.scope_id and c.window_start = w.start)
    from unnest(p_scopes) x (scope_id)
    cross join lateral (select * from scopes t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) s
    left join lateral (select * from policies t where t.tenant = p_tenant and t.scope_id = x.scope_id and t.task = '' offset 0) f on true
    left join lateral (select * from templated_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) m on true
    left join lateral (
        select p.* from policies p where p.tenant = p_tenant and p.scope_id = x.scope_id and p.task <> ''
          and p.task = coalesce(p_task, requesting_task(s.kind, s.id))
        order by p.updated_at desc limit 1) q on true
    cross join lateral (select * from ledger_policies(p_tenant, array[x.scope_id], coalesce(q.task, ''), p_defaults) offset 0) e
    cross join lateral (select ledger_window_start(e.win, e.zone, v_now) as start offset 0) w
    left join lateral (select t as of_window, t.* from balances t
                       where t.tenant = p_tenant and t.scope_id = x.scope_id and t.window_start = w.start offset 0) b on true
    left join lateral ledger_falls_out(case when b.rolls_at <= v_now then b.of_window end, v_now) r on true
    cross join lateral (
        select coalesce(sum(g.tokens), 0)::bigint as tokens, coalesce(sum(g.nano), 0)::bigint as nano from grants g
        where g.tenant = p_tenant and g.scope_id = x.scope_id and g.window_start = w.start
          and g.ended_at is null and g.until <= v_now) o
    -- What the first ask of the window will roll over.
    left join lateral (
        select l.* from ledger_left_over(p_tenant, x.scope_id, e.win, e.zone, w.start, e.limit_tokens, e.limit_nano, e.rollover) l
        where e.rollover is not null and b.rolled_over_at is null and calendar_start(w.start) is not null) v on true;
end $$;


--
-- Name: checkpoints; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkpoints (
    checkpoint_id bigint NOT NULL,
    first_number bigint NOT NULL,
    last_number bigint NOT NULL,
    events bigint NOT NULL,
    previous bytea NOT NULL,
    digest bytea NOT NULL,
    made_at timestamp with time zone NOT NULL
);


--
-- Name: ledger_carried(public.checkpoints, text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_carried(r public.checkpoints, p_tenants text[], p_holds bigint[]) RETURNS SETOF public.carried_events
    LANGUAGE sql STABLE
    AS $$
    select x.tenant, x.hold_id, x.kind, x.attempt, sum(x.events)::bigint, sum(x.d_spent_tokens)::bigint, sum(x.d_held_tokens)::bigint,
           sum(x.d_overrun_tokens)::bigint, sum(x.d_spent_nano)::bigint, sum(x.d_held_nano)::bigint, sum(x.d_overrun_nano)::bigint,
           (select case when x.kind = 'hold' then ledger_seen(h) end from holds h where h.tenant = x.tenant and h.hold_id = x.hold_id)
    from (select j.tenant, j.hold_id, j.kind, coalesce(j.attempt, 0) as attempt, 1 as events, j.d_spent_tokens, j.d_held_tokens, j.d_overrun_tokens,
                 j.d_spent_nano, j.d_held_nano, j.d_overrun_nano
          from unnest(p_tenants, p_holds) h (tenant, hold_id) join journal j on j.tenant = h.tenant and j.hold_id = h.hold_id
          where j.number <= r.last_number
          union all
          select c.tenant, c.hold_id, c.kind, c.attempt, c.events, c.d_spent_tokens, c.d_held_tokens, c.d_overrun_tokens,
                 c.d_spent_nano, c.d_held_nano, c.d_overrun_nano
          from unnest(p_tenants, p_holds) h (tenant, hold_id) join carried_events c on c.tenant = h.tenant and c.hold_id = h.hold_id) x
    group by x.tenant, x.hold_id, x.kind, x.attempt
$$;


--
-- Name: ledger_catch_up(text, bigint[], timestamp with time zone[], jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_catch_up(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_defaults jsonb, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    perform ledger_end_grants(p_tenant, p_scopes, p_windows, p_now);
    perform ledger_roll_off(p_tenant, p_scopes, p_windows, p_now);
    perform ledger_roll_over(p_tenant, p_scopes, p_windows, p_defaults, p_now);
end $$;


--
-- Name: ledger_checkpoint(bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_checkpoint(p_most bigint, p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
    v_snapshot pg_snapshot := pg_current_snapshot();
    -- Read before this transaction has an id: whoever took a number up to it has a lower transaction id.
    v_highest bigint := coalesce(pg_sequence_last_value(pg_get_serial_sequence('journal', 'number')::regclass), 0);
    v_horizon checkpoint_horizon%rowtype;
    v_before checkpoints%rowtype;
    v_first bigint;
    v_last bigint;
    v_closed bigint := 0;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser checkpoints', 0)) then
        return 0;
    end if;
    select * into v_horizon from checkpoint_horizon;
    if found and pg_snapshot_xmin(v_snapshot) >= v_horizon.xid then
        select * into v_before from checkpoints order by checkpoint_id desc limit 1;
        v_first := coalesce(v_before.last_number, 0) + 1;
        v_last := least(v_horizon.last_number, v_first + p_most - 1);
        if v_last >= v_first then
            v_closed := v_last - v_first + 1;
            insert into checkpoints (first_number, last_number, events, previous, digest, made_at)
            values (v_first, v_last, (select count(*) from journal j where 0 + j.number between v_first and v_last),
                coalesce(v_before.digest, ''), ledger_digest(v_first, v_last, coalesce(v_before.digest, '')),
                    coalesce(p_now, clock_timestamp()));
        end if;
    -- A horizon beyond all transactions comes from another cluster: the database was restored.
    elsif found and v_horizon.xid <= pg_snapshot_xmax(v_snapshot) then
        return 0;
    end if;
    -- The horizon only moves once all numbers up to it are closed.
    if v_horizon.last_number is null or v_last is null or v_last >= v_horizon.last_number then
        insert into checkpoint_horizon (last_number, xid) values (v_highest, pg_current_xact_id())
        on conflict (one) do update set last_number = excluded.last_number, xid = excluded.xid;
    end if;
    return v_closed;
end $$;


--
-- Name: ledger_close(text, bigint, text, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_close(p_tenant text, p_hold bigint, p_state text, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if h.state <> 'held' then
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_presume(p_tenant, p_hold, p_now);
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    perform ledger_post(p_tenant, case p_state when 'expired' then 'expire' else 'release' end, h.scope_ids, h.window_starts, p_now,
                        p_hold => p_hold, p_held => row(-h.tokens, -h.nano)::amount);
    update holds x set state = p_state, tokens = 0, nano = 0, ended_at = p_now where x.tenant = p_tenant and x.hold_id = p_hold;
end $$;


--
-- Name: ledger_close_range(interval, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_close_range(p_age interval, p_now timestamp with time zone) RETURNS TABLE(outcome text, first_number bigint, last_number bigint, events bigint)
    LANGUAGE plpgsql
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
declare
    r checkpoints%rowtype;
    v_before closed_ranges%rowtype;
    v_record closed_ranges%rowtype;
    v_tenants text[];                                 -- of the holds with events in the range
    v_holds bigint[];
    v_open boolean;
    v_ends boolean[];                                 -- whether no other event of the hold remains
    v_gone_of text[];
    v_gone bigint[];
    v_on_of text[];
    v_on bigint[];
    v_closings closings[];
    v_carried carried_events[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser retention', 0)) then
        return;
    end if;
    select * into r from ledger_next_range(p_age, p_now);
    if not found then
        return query select 'none', null::bigint, null::bigint, null::bigint;
        return;
    end if;
    select * into v_before from closed_ranges x order by x.checkpoint_id desc limit 1;
    if r.first_number <> coalesce(v_before.last_number, 0) + 1 or r.digest <> ledger_digest(r.first_number, r.last_number, r.previous) then
        return query select 'altered', r.first_number, r.last_number, r.events;
        return;
    end if;

    -- Nobody reports to a hold while its row is locked, so no event of it comes meanwhile.
    select array_agg(h.tenant order by h.tenant, h.hold_id), array_agg(h.hold_id order by h.tenant, h.hold_id), bool_or(h.state = 'held')
    into v_tenants, v_holds, v_open
    from (select h.tenant, h.hold_id, h.state
          from (select distinct j.tenant, j.hold_id from journal j
                where 0 + j.number between r.first_number and r.last_number and j.hold_id is not null) x
          join holds h on h.tenant = x.tenant and h.hold_id = x.hold_id order by h.tenant, h.hold_id for update of h) h;
    if v_open then
        return query select 'held', r.first_number, r.last_number, r.events;
        return;
    elsif exists (select from ledger_not_rolled(r)) then
        return query select 'rolling', r.first_number, r.last_number, r.events;
        return;
    end if;
    select array_agg(x.tenant) filter (where x.ends), array_agg(x.hold_id) filter (where x.ends),
           array_agg(x.tenant) filter (where not x.ends), array_agg(x.hold_id) filter (where not x.ends)
    into v_gone_of, v_gone, v_on_of, v_on
    from (select h.tenant, h.hold_id, not exists (select from journal j where j.tenant = h.tenant and j.hold_id = h.hold_id
                                                                          and j.number > r.last_number) as ends
          from unnest(v_tenants, v_holds) h (tenant, hold_id)) x;

    v_closings := array(select c from ledger_closings(r, v_gone_of, v_gone) c);
    v_carried := array(select c from ledger_carried(r, v_on_of, v_on) c);
    if exists (select from unnest(v_closings) c where ledger_proves(c, r) is not true) then
        return query select 'unproven', r.first_number, r.last_number, r.events;
        return;
    end if;
    -- What the closings were before counts out, even if somebody changed them: then the total stays wrong.
    v_record.checkpoint_id := r.checkpoint_id;
    v_record.last_number := r.last_number;
    v_record.previous := coalesce(v_before.digest, '');
    v_record.closed_at := coalesce(p_now, clock_timestamp());
    select bit_xor(x.hash) into v_record.total
    from (select coalesce(v_before.total, repeat('0', 256)::bit(256))
          union all select closing_hash(c) from unnest(v_closings) n
                    join closings c on c.tenant = n.tenant and c.scope_id = n.scope_id and c.window_start = n.window_start
          union all select closing_hash(n) from unnest(v_closings) n
          union all select carried_hash(e) from unnest(v_tenants, v_holds) h (tenant, hold_id)
                    join carried_events e on e.tenant = h.tenant and e.hold_id = h.hold_id
          union all select carried_hash(n) from unnest(v_carried) n) x (hash);
    select greatest(v_before.last_at, max(j.at), '-infinity'), coalesce(v_before.presumed, 0) + count(*) filter (where j.kind = 'presumed'),
           coalesce(v_before.late, 0) + count(*) filter (where j.kind = 'late'),
           coalesce(v_before.expired, 0) + count(*) filter (where j.kind = 'expire')
    into v_record.last_at, v_record.presumed, v_record.late, v_record.expired
    from journal j where 0 + j.number between r.first_number and r.last_number;
    v_record.digest := closed_digest(v_record, r.digest, v_record.previous);
    insert into closed_ranges select v_record.*;

    insert into closings as c (tenant, scope_id, window_start, first_at, at, seq, number, posted_seq,
                               spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano,
                               limit_tokens, limit_nano, mode, rolled_tokens, rolled_nano, gone_tokens, gone_nano, grants_made, grants_ended)
    select n.* from unnest(v_closings) n on conflict (tenant, scope_id, window_start) do update set
        at = excluded.at, seq = excluded.seq, number = excluded.number, posted_seq = excluded.posted_seq,
        spent_tokens = excluded.spent_tokens, held_tokens = excluded.held_tokens,
        granted_tokens = excluded.granted_tokens, overrun_tokens = excluded.overrun_tokens,
        spent_nano = excluded.spent_nano, held_nano = excluded.held_nano,
        granted_nano = excluded.granted_nano, overrun_nano = excluded.overrun_nano,
        limit_tokens = excluded.limit_tokens, limit_nano = excluded.limit_nano, mode = excluded.mode,
        rolled_tokens = excluded.rolled_tokens, rolled_nano = excluded.rolled_nano,
        gone_tokens = excluded.gone_tokens, gone_nano = excluded.gone_nano,
        grants_made = excluded.grants_made, grants_ended = excluded.grants_ended;
    delete from carried_events e using unnest(v_tenants, v_holds) h (tenant, hold_id) where e.tenant = h.tenant and e.hold_id = h.hold_id;
    insert into carried_events (tenant, hold_id, kind, attempt, events, d_spent_tokens, d_held_tokens, d_overrun_tokens,
                                d_spent_nano, d_held_nano, d_overrun_nano, seen)
    select n.* from unnest(v_carried) n;
    perform ledger_delete_range(r, v_gone_of, v_gone);
    return query select 'closed', r.first_number, r.last_number, r.events;
end $$;


--
-- Name: ledger_closings(public.checkpoints, text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_closings(r public.checkpoints, p_tenants text[], p_holds bigint[]) RETURNS SETOF public.closings
    LANGUAGE sql STABLE
    SET enable_nestloop TO 'off'
    AS $$
    with moved as materialized (
        select m.tenant, m.scope_id, m.window_start, min(m.at) as first_at, max(m.at) as at, count(*) as entries, max(m.number) as number,
               sum(m.d_spent_tokens) as spent_tokens, sum(m.d_held_tokens) as held_tokens,
               sum(m.d_granted_tokens) as granted_tokens, sum(m.d_overrun_tokens) as overrun_tokens,
               sum(m.d_spent_nano) as spent_nano, sum(m.d_held_nano) as held_nano,
               sum(m.d_granted_nano) as granted_nano, sum(m.d_overrun_nano) as overrun_nano,
               sum(-m.d_spent_tokens) filter (where m.kind = 'rolled_off') as rolled_tokens,
               sum(-m.d_spent_nano) filter (where m.kind = 'rolled_off') as rolled_nano,
               count(*) filter (where m.kind = 'grant') as grants_made, count(*) filter (where m.kind = 'grant_ended') as grants_ended
        from moves m where 0 + m.number between r.first_number and r.last_number group by 1, 2, 3
    ), posted as materialized (
        select distinct on (p.tenant, p.scope_id, p.window_start) p.* from postings p
        where p.last_number between r.first_number and r.last_number order by p.tenant, p.scope_id, p.window_start, p.last_seq desc
    ), gone as materialized (
        select h.tenant, u.scope_id, u.window_start, sum(h.charged_tokens) as tokens, sum(h.charged_nano) as nano
        from unnest(p_tenants, p_holds) g (tenant, hold_id)
        cross join lateral (select * from holds h where h.tenant = g.tenant and h.hold_id = g.hold_id offset 0) h
        cross join lateral unnest(h.scope_ids, h.window_starts) u (scope_id, window_start) group by 1, 2, 3
    ), named as (
        select tenant, scope_id, window_start from moved union select tenant, scope_id, window_start from posted
        union select tenant, scope_id, window_start from gone
    )
    select n.tenant, n.scope_id, n.window_start, coalesce(c.first_at, m.first_at), greatest(c.at, m.at),
           coalesce(c.seq, 0) + coalesce(m.entries, 0), coalesce(m.number, c.number), coalesce(p.last_seq, c.posted_seq, 0),
           coalesce(c.spent_tokens, 0) + coalesce(m.spent_tokens, 0), coalesce(c.held_tokens, 0) + coalesce(m.held_tokens, 0),
           coalesce(c.granted_tokens, 0) + coalesce(m.granted_tokens, 0), coalesce(c.overrun_tokens, 0) + coalesce(m.overrun_tokens, 0),
           coalesce(c.spent_nano, 0) + coalesce(m.spent_nano, 0), coalesce(c.held_nano, 0) + coalesce(m.held_nano, 0),
           coalesce(c.granted_nano, 0) + coalesce(m.granted_nano, 0), coalesce(c.overrun_nano, 0) + coalesce(m.overrun_nano, 0),
           case when p.tenant is null then c.limit_tokens else p.limit_tokens end,
           case when p.tenant is null then c.limit_nano else p.limit_nano end, coalesce(p.mode, c.mode, 'soft'),
           coalesce(c.rolled_tokens, 0) + coalesce(m.rolled_tokens, 0), coalesce(c.rolled_nano, 0) + coalesce(m.rolled_nano, 0),
           coalesce(c.gone_tokens, 0) + coalesce(g.tokens, 0), coalesce(c.gone_nano, 0) + coalesce(g.nano, 0),
           coalesce(c.grants_made, 0) + coalesce(m.grants_made, 0), coalesce(c.grants_ended, 0) + coalesce(m.grants_ended, 0)
    from named n
    left join moved m on m.tenant = n.tenant and m.scope_id = n.scope_id and m.window_start = n.window_start
    left join posted p on p.tenant = n.tenant and p.scope_id = n.scope_id and p.window_start = n.window_start
    left join gone g on g.tenant = n.tenant and g.scope_id = n.scope_id and g.window_start = n.window_start
    left join closings c on c.tenant = n.tenant and c.scope_id = n.scope_id and c.window_start = n.window_start
$$;


--
-- Name: ledger_count_shadow(text, bigint[], text[], text[], bigint[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_count_shadow(p_tenant text, p_holds bigint[], p_scopes text[], p_outcomes text[], p_delays bigint[], p_now timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$
    with given as (
        select c.* from unnest(p_holds, p_scopes, p_outcomes, p_delays) c (hold_id, scope, outcome, delay_ms)
    ), locked as materialized (
        select h.hold_id from holds h
        where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.would is null order by h.hold_id for update
    ), uncounted as (
        update holds h set would = w.would
        from (select g.hold_id, jsonb_object_agg(g.scope, g.outcome) as would from given g group by 1) w
        join locked l on l.hold_id = w.hold_id
        where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = w.hold_id
        returning h.hold_id, h.scope_ids, h.window_starts, h.asked_tokens, h.asked_nano
    ), counted as (
        insert into shadow_counts as c (tenant, scope_id, window_start, outcome, calls, tokens, nano, delay_ms)
        select p_tenant, u.scope_id, u.window_start, g.outcome, count(*), sum(a.asked_tokens), sum(a.asked_nano), sum(g.delay_ms)
        from given g
        join uncounted a on a.hold_id = g.hold_id
        join scopes s on s.tenant = p_tenant and s.kind = kind_of(g.scope) and s.id = id_of(g.scope)
        join lateral unnest(a.scope_ids, a.window_starts) u (scope_id, window_start) on u.scope_id = s.scope_id
        group by 1, 2, 3, 4 order by 2, 3, 4
        on conflict (tenant, scope_id, window_start, outcome) do update set calls = c.calls + excluded.calls, tokens = c.tokens + excluded.tokens,
            nano = c.nano + excluded.nano, delay_ms = c.delay_ms + excluded.delay_ms
        returning c.*, xmax = 0 as first
    )
    select put_event(p_tenant, 'shadow', s.kind || ':' || s.id,
                     jsonb_build_object('outcome', f.outcome, 'window_start', calendar_start(f.window_start), 'calls', f.calls,
                                        'asked', event_amount(f.tokens, f.nano), 'delay_ms', f.delay_ms),
                     p_at => coalesce(p_now, clock_timestamp()), p_window_start => f.window_start)
    from counted f join scopes s on s.tenant = p_tenant and s.scope_id = f.scope_id where f.first order by f.scope_id, f.outcome
$$;


--
-- Name: ledger_countable(text, bigint[], timestamp with time zone[], bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_countable(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_tokens bigint, p_nano bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    -- In a condition of its own: together, the query would be started to find that it need not run.
    if p_tokens > 1000000000 or p_nano > 1000000000000 then
        if exists (
            select 1 from balances b
            join unnest(p_scopes, p_windows) x (s, w) on b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w
            where (p_tokens > 1000000000 and b.spent_tokens::numeric + b.held_tokens + b.granted_tokens + p_tokens > 4611686018427387904)
               or (p_nano > 1000000000000 and b.spent_nano::numeric + b.held_nano + b.granted_nano + p_nano > 4611686018427387904)) then
            raise numeric_value_out_of_range using message = 'beyond what a balance can count';
        end if;
    end if;
end $$;


--
-- Name: ledger_delete_range(public.checkpoints, text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_delete_range(r public.checkpoints, p_tenants text[], p_holds bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
begin
    insert into scope_parents (tenant, scope_id, parent_id)
    select x.tenant, x.scope_id, x.parent_id
    from (select distinct on (h.tenant, u.scope_id) h.tenant, u.scope_id, h.scope_ids[u.place - 1] as parent_id
          from unnest(p_tenants, p_holds) g (tenant, hold_id)
          cross join lateral (select * from holds h where h.tenant = g.tenant and h.hold_id = g.hold_id offset 0) h
          cross join lateral unnest(h.scope_ids) with ordinality u (scope_id, place)
          cross join lateral (select * from scopes s where s.tenant = h.tenant and s.scope_id = u.scope_id offset 0) s
          where not is_label(s.kind) and strpos(s.id, '@') = 0 and (u.place > 1 or s.kind <> 'agent')
          order by h.tenant, u.scope_id, h.hold_id desc) x
    order by x.tenant, x.scope_id desc on conflict do nothing;
    delete from attempts a using unnest(p_tenants, p_holds) g (tenant, hold_id) where a.tenant = g.tenant and a.hold_id = g.hold_id;
    delete from holds h using unnest(p_tenants, p_holds) g (tenant, hold_id) where h.tenant = g.tenant and h.hold_id = g.hold_id;
    -- Keys of the same time, as their ids are lower, under which nothing was ever held: they have no events.
    delete from holds h using (
        select j.tenant, max(j.hold_id) as hold_id from journal j where 0 + j.number between r.first_number and r.last_number group by 1) l
    where h.tenant = l.tenant and h.hold_id <= l.hold_id and h.views is null
      and not exists (select from waiters w where w.tenant = h.tenant and w.hold_id = h.hold_id);
    delete from journal j where 0 + j.number between r.first_number and r.last_number;
    delete from postings p where p.last_number between r.first_number and r.last_number;
end $$;


--
-- Name: ledger_digest(bigint, bigint, bytea); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_digest(p_first bigint, p_last bigint, p_previous bytea) RETURNS bytea
    LANGUAGE sql STABLE
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO'
    AS $$
    select sha256(p_previous || convert_to(e'\n' || coalesce((
        select string_agg(
            row(j.tenant, j.number, j.at, j.kind, j.hold_id, j.attempt, j.ref, j.scope_ids, j.window_starts, j.seqs,
                j.d_spent_tokens, j.d_held_tokens, j.d_granted_tokens, j.d_overrun_tokens,
                j.d_spent_nano, j.d_held_nano, j.d_granted_nano, j.d_overrun_nano, j.limits_tokens, j.limits_nano, j.modes)::text,
            e'\n' order by j.number)
        from journal j where 0 + j.number between p_first and p_last), '') || e'\n\n' || coalesce((
        select string_agg(
            row(p.tenant, p.scope_id, p.window_start, p.first_seq, p.last_seq, p.first_number, p.last_number, p.at, p.late,
                p.spent_tokens, p.held_tokens, p.granted_tokens, p.overrun_tokens,
                p.spent_nano, p.held_nano, p.granted_nano, p.overrun_nano, p.limit_tokens, p.limit_nano, p.mode)::text,
            e'\n' order by p.last_number, p.tenant, p.scope_id, p.window_start, p.last_seq)
        from postings p where p.last_number between p_first and p_last), ''), 'UTF8'))
$$;


--
-- Name: balances; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.balances (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    spent_tokens bigint DEFAULT 0 NOT NULL,
    held_tokens bigint DEFAULT 0 NOT NULL,
    granted_tokens bigint DEFAULT 0 NOT NULL,
    overrun_tokens bigint DEFAULT 0 NOT NULL,
    spent_nano bigint DEFAULT 0 NOT NULL,
    held_nano bigint DEFAULT 0 NOT NULL,
    granted_nano bigint DEFAULT 0 NOT NULL,
    overrun_nano bigint DEFAULT 0 NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    limit_tokens bigint,
    limit_nano bigint,
    mode text DEFAULT 'soft'::text NOT NULL,
    warned_at numeric[] DEFAULT '{}'::numeric[] NOT NULL,
    grants_end_at timestamp with time zone,
    rolls_at timestamp with time zone,
    rolled_to bigint DEFAULT 0 NOT NULL,
    rolled_seq bigint DEFAULT 0 NOT NULL,
    rolled_tokens bigint DEFAULT 0 NOT NULL,
    rolled_nano bigint DEFAULT 0 NOT NULL,
    rolled_over_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT balances_granted_nano_check CHECK ((granted_nano >= 0)),
    CONSTRAINT balances_granted_tokens_check CHECK ((granted_tokens >= 0)),
    CONSTRAINT balances_held_nano_check CHECK ((held_nano >= 0)),
    CONSTRAINT balances_held_tokens_check CHECK ((held_tokens >= 0))
)
WITH (fillfactor='60');
ALTER TABLE ONLY public.balances ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: ledger_due(public.balances, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_due(b public.balances, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    select b.grants_end_at <= p_now or b.rolls_at <= p_now or (b.rolled_over_at is null and calendar_start(b.window_start) is not null)
$$;


--
-- Name: ledger_end_grants(text, bigint[], timestamp with time zone[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_end_grants(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
    g record;
    v_ended integer := 0;
begin
    if not exists (select 1 from balances b join unnest(p_scopes, p_windows) x (s, w)
                   on b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w where b.grants_end_at <= p_now) then
        return 0;
    end if;
    for g in update grants t set ended_at = p_now
             from unnest(p_scopes, p_windows) x (s, w)
             where t.tenant = p_tenant and t.scope_id = x.s and t.window_start = x.w and t.ended_at is null and t.until <= p_now
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


--
-- Name: ledger_exhausting(text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_exhausting(p_tenant text, p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(tenant text, kind text, id text, mode text, lasts numeric)
    LANGUAGE sql STABLE
    AS $$
    with clock as materialized (
        select coalesce(p_now, now()) as now
    ), live as materialized (
        select b.tenant, b.scope_id, b.window_start, l.mode, n.spent_tokens, n.spent_nano,
               l.tokens + b.granted_tokens - n.spent_tokens - b.held_tokens as room_tokens,
               l.nano + b.granted_nano - n.spent_nano - b.held_nano as room_nano
        from clock c, balances b cross join lateral ledger_shared_limits(b, p_defaults) l
        left join lateral ledger_falls_out(case when b.rolls_at <= c.now then b end, c.now) o on true
        cross join lateral (select b.spent_tokens - coalesce(o.tokens, 0) as spent_tokens,
                                   b.spent_nano - coalesce(o.nano, 0) as spent_nano) n
        where (p_tenant is null or b.tenant = p_tenant) and b.updated_at > c.now - interval '24 hours'
          and (l.tokens is not null or l.nano is not null)
    ), paced as materialized (
        select l.tenant, l.scope_id, l.window_start, l.mode, c.now, r.lasts
        from live l cross join clock c
        join lateral (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
                      where s.tenant = l.tenant and s.scope_id = l.scope_id and s.window_start = l.window_start order by s.at limit 1) f
                          on f.at <= c.now - interval '60 seconds'
        left join lateral ledger_spent_at(l.tenant, l.scope_id, l.window_start, c.now - interval '1 hour', c.now,
            l.spent_tokens, l.spent_nano) h on true
        cross join lateral (select l.spent_tokens - coalesce(h.tokens, f.spent_tokens) as tokens,
            l.spent_nano - coalesce(h.nano, f.spent_nano) as nano) q
        -- If more is left than was ever spent, it lasts for more than a day at the rate of a day.
        left join lateral ledger_spent_at(l.tenant, l.scope_id, l.window_start,
            case when l.room_tokens <= l.spent_tokens or l.room_nano <= l.spent_nano then c.now - interval '24 hours' end,
            c.now, l.spent_tokens, l.spent_nano) d on true
        cross join lateral (values
            (l.room_tokens, q.tokens, q.tokens, least(interval '1 hour', c.now - f.at)),
            (l.room_tokens, q.tokens, l.spent_tokens - coalesce(d.tokens, f.spent_tokens), least(interval '24 hours', c.now - f.at)),
            (l.room_nano, q.nano, q.nano, least(interval '1 hour', c.now - f.at)),
            (l.room_nano, q.nano, l.spent_nano - coalesce(d.nano, f.spent_nano), least(interval '24 hours', c.now - f.at))) v (room, lately,
                burnt, over)
        cross join lateral (select div(v.room * extract(epoch from v.over) * 1000000, nullif(greatest(v.burnt, 0), 0)) as lasts) r
        where least(l.room_tokens, l.room_nano) > 0 and v.room > 0 and v.lately > 0 and r.lasts <= 86400000000
    ), soon as (
        select tenant, scope_id, window_start, mode, now, min(lasts) as lasts from paced group by 1, 2, 3, 4, 5
    )
    select s.tenant, s.kind, s.id, x.mode, x.lasts
    from soon x
    join scopes s on s.tenant = x.tenant and s.scope_id = x.scope_id
    left join lateral (
        select p.task from policies p where p.tenant = s.tenant and p.scope_id = s.scope_id and p.task <> ''
          and p.task = requesting_task(s.kind, s.id)
        order by p.updated_at desc limit 1) request on true
    cross join lateral ledger_policies(s.tenant, array[s.scope_id], coalesce(request.task, ''), p_defaults) e
    cross join lateral (select ledger_window_start(e.win, e.zone, x.now) as start) w
    where x.window_start = w.start and s.ended_at is null and not e.frozen
      and (calendar_start(w.start) is null or x.lasts < extract(epoch from ledger_window_end(e.win, e.zone, w.start) - x.now) * 1000000)
$$;


--
-- Name: ledger_expand(text, text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_expand(p_tenant text, p_path text[], p_labels text[]) RETURNS TABLE(ord bigint, name text, scope_id bigint)
    LANGUAGE sql STABLE
    AS $$
    select x.ord, x.name, s.scope_id
    from unnest(p_path) with ordinality x (name, ord)
    left join lateral (select t.scope_id from scopes t
                       where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true
    union all
    select cardinality(p_path) + x.ord, x.name, s.scope_id
    from unnest(p_labels) with ordinality x (name, ord)
    left join lateral (select t.scope_id from scopes t
                       where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true
    cross join lateral (select exists (select from policies p where p.tenant = p_tenant and p.scope_id = s.scope_id and p.task = '')
                            or exists (select from templated_policies t where t.tenant = p_tenant and t.scope_id = s.scope_id)
                            or (s.scope_id is null and exists (
                                   select from policy_templates t
                                   where t.tenant = p_tenant and template_matches(t.pattern, kind_of(x.name), id_of(x.name)))) as joins
                        offset 0) j
    where j.joins
    union all
    select cardinality(p_path) + coalesce(cardinality(p_labels), 0) + row_number() over (order by f.ord, f.id),
           kind_of(f.name) || ':' || f.id, f.scope_id
    from (
        select x.ord, x.name, s.id, s.scope_id
        from unnest(p_path || p_labels) with ordinality x (name, ord)
        cross join lateral (
            select t.id, t.scope_id from scopes t
            where t.tenant = p_tenant and t.kind = kind_of(x.name) and split_part(t.id, '@', 1) = id_of(x.name) and strpos(t.id, '@') > 0
            offset 0) s
        cross join lateral (select exists (select from policies p where p.tenant = p_tenant and p.scope_id = s.scope_id and p.task = '')
                                or exists (select from templated_policies t where t.tenant = p_tenant and t.scope_id = s.scope_id) as limits
                            offset 0) j
        where j.limits
        union
        select x.ord, x.name, n.id, null
        from policy_templates t
        cross join lateral unnest(p_path || p_labels) with ordinality x (name, ord)
        cross join lateral (select id_of(x.name) || '@' || split_part(t.pattern, '@', 2) as id) n
        where t.tenant = p_tenant and strpos(t.pattern, '@') > 0 and template_matches(t.pattern, kind_of(x.name), n.id)
          and not exists (select from scopes s where s.tenant = p_tenant and s.kind = kind_of(x.name) and s.id = n.id)) f
$$;


--
-- Name: ledger_expire(interval, integer, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_expire(p_grace interval, p_limit integer, p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_lapsed timestamptz := v_now - p_grace;
    v_tenant text;
    v_holds bigint[];
    v_count integer := 0;
begin
    for v_tenant in select distinct due.tenant
                    from (select y.tenant from holds y where y.state = 'held' and y.expires_at < v_lapsed
                          order by y.expires_at limit p_limit) due
                    order by 1 loop
        select array_agg(x.hold_id) into v_holds from (
            select y.hold_id from holds y where y.tenant = v_tenant and y.state = 'held' and y.expires_at < v_lapsed
            order by y.expires_at limit p_limit - v_count for update skip locked) x;
        -- To keep the lock order across holds, lock all their balances first.
        perform ledger_lock(v_tenant, array_agg(d.s), array_agg(d.w))
        from (select distinct u.s, u.w from holds x cross join lateral unnest(x.scope_ids, x.window_starts) u (s, w)
              where x.tenant = v_tenant and x.hold_id = any (v_holds)) d;
        perform ledger_close(v_tenant, x.h, 'expired', v_now) from unnest(v_holds) x (h);
        v_count := v_count + coalesce(cardinality(v_holds), 0);
    end loop;
    delete from waiters w where w.last_asked < v_now - interval '1 hour';
    return v_count;
end $$;


--
-- Name: ledger_extend(text, bigint, bigint, bigint, interval, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_extend(p_tenant text, p_hold bigint, p_tokens bigint, p_nano bigint, p_lease interval, p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(outcome text, state text, tokens bigint, nano bigint, expires_at timestamp with time zone, views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    elsif h.state <> 'held' then
        return query select 'closed', h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    if p_tokens > 0 or p_nano > 0 then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        select * into t from ledger_top_up(h, 'top_up', p_tokens, p_nano, p_defaults, v_now);
        if not t.fits then
            return query select 'short', h.state, h.tokens, h.nano, h.expires_at, t.views;
            return;
        end if;
    end if;
    update holds x set expires_at = greatest(x.expires_at, v_now + coalesce(p_lease, x.lease))
    where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'extended', 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;


--
-- Name: ledger_extend_many(text, bigint[], bigint[], bigint[], interval[], jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_extend_many(p_tenant text, p_holds bigint[], p_tokens bigint[], p_nanos bigint[], p_leases interval[], p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(ord bigint, outcome text, state text, tokens bigint, nano bigint, expires_at timestamp with time zone, views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
begin
    perform ledger_lock_holds(p_tenant, p_holds, (select bool_or(u.tokens > 0 or u.nano > 0) from unnest(p_tokens, p_nanos) u (tokens, nano)));
    return query select x.ord, e.* from unnest(p_holds, p_tokens, p_nanos, p_leases) with ordinality
                     x (hold_id, tokens, nano, lease, ord)
                 cross join lateral ledger_extend(p_tenant, x.hold_id, x.tokens, x.nano, x.lease, p_defaults, p_now) e;
end $$;


--
-- Name: ledger_falls_out(public.balances, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_falls_out(b public.balances, p_now timestamp with time zone) RETURNS TABLE(tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, rolled_to bigint, next_at timestamp with time zone)
    LANGUAGE sql STABLE STRICT ROWS 1
    AS $$
    with stays as materialized (
        select p.first_seq, p.at from postings p
        where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
          and p.at > p_now - rolling_length(b.window_start)
          and b.rolls_at <= p_now
        order by p.last_seq limit 1
    ), front as materialized (
        select coalesce((select s.first_seq - 1 from stays s), b.seq) as seq where b.rolls_at <= p_now
    ), out as (
        select e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
        from front f join balance_moves e on e.tenant = b.tenant and e.scope_id = b.scope_id and e.window_start = b.window_start
                                         and e.last_seq > b.rolled_to and e.last_seq <= f.seq
        where e.kind in ('settle', 'overrun', 'presumed')
        union all
        select e.d_spent_tokens, e.d_spent_nano, e.d_overrun_tokens, e.d_overrun_nano
        from front f
        join postings p on p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.late and p.last_seq > b.rolled_to
        join moves e on e.tenant = p.tenant and e.number = p.last_number and e.scope_id = p.scope_id and e.window_start = p.window_start
        cross join lateral (select ledger_first_charge(e) as seq) c
        where c.seq <= f.seq and (c.seq > b.rolled_to or e.seq > b.rolled_seq)
    )
    select coalesce(sum(o.d_spent_tokens), 0)::bigint, coalesce(sum(o.d_spent_nano), 0)::bigint,
           coalesce(sum(o.d_overrun_tokens), 0)::bigint, coalesce(sum(o.d_overrun_nano), 0)::bigint, (select f.seq from front f),
           coalesce((select greatest(s.at + rolling_length(b.window_start), p_now + rolling_length(b.window_start) / 60) from stays s),
                    p_now + rolling_length(b.window_start))
    from out o
$$;


--
-- Name: journal; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.journal (
    tenant text NOT NULL,
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    hold_id bigint,
    attempt integer,
    ref text,
    scope_ids bigint[] NOT NULL,
    window_starts timestamp with time zone[] NOT NULL,
    seqs bigint[] NOT NULL,
    d_spent_tokens bigint DEFAULT 0 NOT NULL,
    d_held_tokens bigint DEFAULT 0 NOT NULL,
    d_granted_tokens bigint DEFAULT 0 NOT NULL,
    d_overrun_tokens bigint DEFAULT 0 NOT NULL,
    d_spent_nano bigint DEFAULT 0 NOT NULL,
    d_held_nano bigint DEFAULT 0 NOT NULL,
    d_granted_nano bigint DEFAULT 0 NOT NULL,
    d_overrun_nano bigint DEFAULT 0 NOT NULL,
    limits_tokens bigint[],
    limits_nano bigint[],
    modes text[],
    CONSTRAINT journal_kind_check CHECK ((kind = ANY (ARRAY['hold'::text, 'top_up'::text, 'settle'::text, 'overrun'::text, 'presumed'::text, 'late'::text, 'correction'::text, 'release'::text, 'expire'::text, 'grant'::text, 'grant_ended'::text, 'limit_raised'::text, 'limit_lowered'::text, 'mode_changed'::text, 'rolled_off'::text]))),
    CONSTRAINT journal_scope_ids_check CHECK (((cardinality(scope_ids) >= 1) AND (cardinality(scope_ids) <= 999)))
);
ALTER TABLE ONLY public.journal ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: moves; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.moves AS
 SELECT j.tenant,
    j.number,
    ((j.number * 1000) + m.place) AS entry_id,
    j.at,
    m.scope_id,
    m.window_start,
    m.seq,
    j.kind,
    j.hold_id,
    j.attempt,
    j.ref,
    j.d_spent_tokens,
    j.d_held_tokens,
    j.d_granted_tokens,
    j.d_overrun_tokens,
    j.d_spent_nano,
    j.d_held_nano,
    j.d_granted_nano,
    j.d_overrun_nano,
    m.gate_tokens,
    m.gate_nano,
    m.gate_mode
   FROM (public.journal j
     CROSS JOIN LATERAL UNNEST(j.scope_ids, j.window_starts, j.seqs, j.limits_tokens, j.limits_nano, j.modes) WITH ORDINALITY m(scope_id, window_start, seq, gate_tokens, gate_nano, gate_mode, place));


--
-- Name: ledger_first_charge(public.moves); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_first_charge(e public.moves) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
    select case when exists (select from carried_events c
                             where c.tenant = e.tenant and c.hold_id = e.hold_id and c.attempt = e.attempt
                               and c.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')) then 0
           else coalesce(min(x.seq), e.seq) end
    from moves x
    where x.tenant = e.tenant and x.hold_id = e.hold_id and x.attempt = e.attempt and x.scope_id = e.scope_id and x.window_start = e.window_start
      and x.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')
$$;


--
-- Name: ledger_grant(text, bigint, timestamp with time zone, bigint, bigint, timestamp with time zone, text, text, text, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_grant(p_tenant text, p_scope bigint, p_window timestamp with time zone, p_tokens bigint, p_nano bigint, p_until timestamp with time zone, p_approval text, p_decision text, p_by text, p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
    v_grant bigint;
begin
    perform ledger_open(p_tenant, array[p_scope], array[p_window], p_now);
    perform ledger_countable(p_tenant, array[p_scope], array[p_window], p_tokens, p_nano);
    p_until := least(p_until, p_now + rolling_length(p_window));
    insert into grants (tenant, scope_id, window_start, tokens, nano, until, approval_id, decision_id, granted_by, created_at)
    values (p_tenant, p_scope, p_window, p_tokens, p_nano, p_until, p_approval, p_decision, p_by, p_now) returning grant_id into v_grant;
    perform ledger_post(p_tenant, 'grant', array[p_scope], array[p_window], p_now, p_ref => v_grant::text,
                        p_granted => row(p_tokens, p_nano)::amount);
    update balances b set grants_end_at = least(b.grants_end_at, p_until)
    where b.tenant = p_tenant and b.scope_id = p_scope and b.window_start = p_window;
    return v_grant;
end $$;


--
-- Name: ledger_hold(text, text, bytea, text[], text[], text, text, bigint, bigint, bigint, bigint, interval, boolean, interval, jsonb, timestamp with time zone, integer[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_hold(p_tenant text, p_key text, p_digest bytea, p_path text[], p_labels text[], p_task text, p_model text, p_tokens bigint, p_nano bigint, p_least_tokens bigint, p_least_nano bigint, p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamp with time zone, p_last_of integer[]) RETURNS TABLE(outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamp with time zone, views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_new boolean;
    v_scopes bigint[];
    v_windows timestamptz[];
    v_wanted timestamptz[];
    v_due boolean;
    v_short bigint[];
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_stopped boolean;
    v_needs_price boolean;
    v_waits boolean;
    v_since timestamptz;
    v_asks integer;
    v_room_tokens bigint;
    v_room_nano bigint;
    v_tokens bigint;
    v_nano bigint;
    v_views jsonb;
    v_calm_tokens numeric;
    v_calm_nano numeric;
begin
    -- New scopes come before the key, as in a batch: else two that ask with one key under new scopes could wait for each other.
    if not exists (select from holds t where t.tenant = p_tenant and t.key = p_key) then
        v_scopes := ledger_scopes(p_tenant, p_path, p_labels);
    end if;
    loop
        insert into holds (tenant, key, digest, state, created_at) values (p_tenant, p_key, p_digest, 'none', v_now)
        on conflict (tenant, key) where key is not null do nothing returning * into h;
        v_new := found;
        exit when v_new;
        select * into h from holds t where t.tenant = p_tenant and t.key = p_key for update;
        exit when found;  -- else retention has just deleted it
    end loop;
    if not v_new then
        if h.digest is not null and h.digest <> p_digest then
            return query select 'key_reused', h.hold_id, h.state, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
            return;
        elsif h.state <> 'none' then
            return query select case when h.views is null then 'closed' else 'repeat' end, h.hold_id, h.state, h.asked_tokens, h.asked_nano,
                                h.expires_at, ledger_seen(h);
            return;
        end if;
    end if;

    v_scopes := coalesce(v_scopes, ledger_scopes(p_tenant, p_path, p_labels));

    select array_agg(ledger_window_start(p.win, p.zone, v_now) order by p.ord) into v_wanted
    from ledger_policies(p_tenant, v_scopes, p_task, p_defaults) p;
    loop
        -- A policy may change its window while this waits for the locks, so look again under the locks.
        if v_windows is distinct from v_wanted then
            v_windows := v_wanted;
            perform ledger_open(p_tenant, v_scopes, v_windows, v_now);
        end if;
        select bool_or(v.closed or v.queued), bool_or(v.needs_price),
               min(v.room_tokens) filter (where v.bounded), min(v.room_nano) filter (where v.bounded),
               array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
               jsonb_agg(v.shown order by v.ord),
               -- Waiting helps if the ask fits everywhere once all open holds have ended.
               p_patient and not bool_or(v.closed or (v.bounded and ((v.later_tokens < p_least_tokens) is true
                                                                  or (v.later_nano < p_least_nano) is true))),
               array_agg(v.starts order by v.ord), bool_or(v.due), min(v.calm_tokens), min(v.calm_nano)
        into v_stopped, v_needs_price, v_room_tokens, v_room_nano, v_limits, v_nanos, v_modes, v_views, v_waits, v_wanted, v_due,
             v_calm_tokens, v_calm_nano
        from ledger_views(p_tenant, h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now, p_last_of) v;
        continue when v_windows is distinct from v_wanted;
        exit when v_due is not true;
        perform ledger_catch_up(p_tenant, v_scopes, v_windows, p_defaults, v_now);
    end loop;

    if p_nano is null then
        if v_needs_price then
            raise exception using errcode = 'PB002', message = 'a price is needed', detail = v_views::text;
        end if;
        p_nano := 0;
        p_least_nano := 0;
    end if;
    v_tokens := least(p_tokens, v_room_tokens);
    if p_nano > v_room_nano then
        v_tokens := case when p_least_nano > v_room_nano or p_nano = p_least_nano then -1
                    else least(v_tokens, p_least_tokens + div((v_room_nano - p_least_nano)::numeric * (p_tokens - p_least_tokens),
                        p_nano - p_least_nano)) end;
    end if;

    if v_stopped or v_tokens < p_least_tokens then
        -- A waiter keeps its age unless it has stopped asking.
        select min(w.since), max(w.asks) into v_since, v_asks
        from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id and w.last_asked > v_now - p_lapse;
        if v_waits then
            v_short := array(select v.scope_id
                             from ledger_views(p_tenant, h.hold_id, v_scopes, v_windows, p_task, p_defaults, p_patient, p_lapse, v_now,
                                               p_last_of) v
                             where v.bounded and (v.queued or v.room_tokens < p_least_tokens or v.room_nano < p_least_nano));
        end if;
        delete from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id;
        insert into waiters (tenant, hold_id, scope_id, since, last_asked, asks)
        select p_tenant, h.hold_id, x.s, coalesce(v_since, v_now), v_now, coalesce(v_asks, 0) + 1 from unnest(v_short) x (s);
        return query select 'short', null::bigint, 'none', p_tokens, p_nano, null::timestamptz, v_views;
        return;
    end if;

    v_nano := case when v_tokens = p_tokens then p_nano
              else p_least_nano + div((v_tokens - p_least_tokens)::numeric * (p_nano - p_least_nano) + (p_tokens - p_least_tokens - 1),
                                      p_tokens - p_least_tokens) end;
    perform ledger_countable(p_tenant, v_scopes, v_windows, v_tokens, v_nano);
    update holds t set path = p_path, labels = p_labels, task = p_task, model = p_model, scope_ids = v_scopes, window_starts = v_windows,
           state = 'held',
           asked_tokens = v_tokens, asked_nano = v_nano, tokens = v_tokens, nano = v_nano, views = v_views,
           lease = p_lease, expires_at = v_now + p_lease where t.tenant = p_tenant and t.hold_id = h.hold_id;
    perform ledger_post(p_tenant, 'hold', v_scopes, v_windows, v_now, p_hold => h.hold_id, p_held => row(v_tokens, v_nano)::amount,
                        p_limits => v_limits, p_nanos => v_nanos, p_modes => v_modes);
    if v_tokens >= v_calm_tokens or v_nano >= v_calm_nano then
        perform ledger_warn(p_tenant, v_scopes, v_windows, array(select jsonb_array_elements(v_views)), v_now);
    end if;
    if not v_new then
        delete from waiters w where w.tenant = p_tenant and w.hold_id = h.hold_id;
    end if;
    return query select 'held', h.hold_id, 'held', v_tokens, v_nano, v_now + p_lease, v_views;
end $$;


--
-- Name: ledger_hold_many(text, text[], text[], text[], text[], bytea[], bigint[], text[], bigint[], bigint[], interval[], interval, jsonb, timestamp with time zone, bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_hold_many(p_tenant text, p_paths text[], p_labels text[], p_tasks text[], p_keys text[], p_digests bytea[], p_groups bigint[], p_models text[], p_tokens bigint[], p_nanos bigint[], p_leases interval[], p_lapse interval, p_defaults jsonb, p_now timestamp with time zone, p_leasts bigint[], p_least_nanos bigint[]) RETURNS TABLE(grp bigint, place bigint, hold_id bigint, expires_at timestamp with time zone, scope_ids bigint[], window_starts timestamp with time zone[], views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    f_grp bigint[];                                   -- the scopes of all groups, flattened
    f_scope bigint[];
    f_task text[];
    f_start timestamptz[];
    f_limit bigint[];
    f_nano bigint[];
    f_mode text[];
    f_policy jsonb[];
    v_versions text[];
    v_places bigint[] := array(select generate_series(1, cardinality(p_keys)));
    v_nanos bigint[] := array(select coalesce(u.n, 0) from unnest(p_nanos) with ordinality u (n, ord) order by u.ord);
    v_fresh bigint[];                                 -- groups with a scope that does not exist
    v_made bigint[];                                  -- groups of which this batch creates scopes
    v_ids bigint[];
    v_held bigint[];                                  -- the hold of each ask; null for one that is not plain
    v_plain bigint[];                                 -- the asks that are plain
    v_short bigint[];                                 -- the asks that cannot fit, whatever ends
    v_asked bigint[] := '{}';                         -- the groups of these
    v_undone boolean;                                 -- whether a scope was created for an ask that needs a price
    v_seen jsonb;                                     -- the gate's views by group
    v_zeros bigint[];
begin
    loop
        select array_agg(g.grp order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(g.task order by g.grp, t.ord) filter (where t.scope_id is not null),
               array_agg(t.scope_id order by g.grp, t.ord) filter (where t.scope_id is not null),
               coalesce(array_agg(g.grp) filter (where t.scope_id is null), '{}')
        into f_grp, f_task, f_scope, v_fresh
        from unnest(p_paths, p_labels, p_tasks) with ordinality g (path, labels, task, grp)
        cross join lateral ledger_expand(p_tenant, string_to_array(g.path, ' '), string_to_array(g.labels, ' ')) t;
        exit when v_fresh = '{}' or v_made is not null;
        v_made := ledger_batch_scopes(p_tenant, p_keys, p_groups, p_paths, p_labels, v_fresh);
        exit when v_made is null;
    end loop;
    -- Amounts that may exceed the range of a balance are not plain.
    if f_scope is null or (select max(n) from unnest(v_nanos) n) > 1000000000000 then
        return;
    end if;
    v_versions := ledger_policy_versions(p_tenant, f_scope, f_task);
    select array_agg(ledger_window_start(split_part(p.window_of, ' ', 1), split_part(p.window_of, ' ', 2), v_now) order by p.ord),
           array_agg(p.limit_tokens order by p.ord), array_agg(p.limit_nano order by p.ord), array_agg(p.mode order by p.ord),
           array_agg(p.policy order by p.ord)
    into f_start, f_limit, f_nano, f_mode, f_policy from ledger_policies_of(p_tenant, f_scope, f_task, p_defaults) p;

    -- Their ids are taken before they are inserted, so that each ask knows its own.
    v_ids := array(select nextval('holds_hold_id_seq') from generate_series(1, cardinality(p_keys)));
    with paths as materialized (
        select f.grp, string_to_array(p_paths[f.grp], ' ') as path, string_to_array(p_labels[f.grp], ' ') as labels, p_tasks[f.grp] as task,
               array_agg(f.scope_id order by f.ord) as scope_ids, array_agg(f.start order by f.ord) as starts,
               jsonb_agg(f.policy order by f.ord) as policies
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, ord)
        where f.grp <> all (v_fresh) group by f.grp
    ), made as (
        insert into holds (tenant, hold_id, key, digest, path, labels, task, model, scope_ids, window_starts, state, asked_tokens, asked_nano,
                           tokens, nano, views, lease, expires_at, created_at) overriding system value
        select p_tenant, a.id, a.key, a.digest, p.path, p.labels, p.task, a.model, p.scope_ids, p.starts,
               'held', a.tokens, a.nano, a.tokens, a.nano, p.policies, a.lease, v_now + a.lease, v_now
        from unnest(v_ids, p_keys, p_digests, p_groups, p_models, p_tokens, v_nanos, p_leases)
             a (id, key, digest, grp, model, tokens, nano, lease)
        join paths p on p.grp = a.grp
        order by a.key on conflict (tenant, key) where key is not null do nothing returning hold_id
    )
    select array_agg(m.hold_id order by a.ord) into v_held
    from unnest(v_ids) with ordinality a (id, ord) left join made m on m.hold_id = a.id;

    perform ledger_open(p_tenant, array_agg(d.s), array_agg(d.w), v_now) from (select distinct s, w from unnest(f_scope, f_start) u (s, w)) d;
    if ledger_policy_versions(p_tenant, f_scope, f_task) is distinct from v_versions then
        raise exception using errcode = 'PB001', message = 'a policy changed';
    end if;
    if array_position(v_held, null) is not null or exists (
        select 1
        from ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r
        join (select f.scope_id, f.start, sum(g.tokens) as tokens, sum(g.nano) as nano, bool_or(g.unpriced) as unpriced
              from (select a.grp, sum(a.tokens) as tokens, sum(a.nano) as nano, bool_or(a.nano is null) as unpriced
                    from unnest(p_tokens, p_nanos, p_groups) a (tokens, nano, grp) group by 1) g
              join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start) on f.grp = g.grp
              group by 1, 2) d on d.scope_id = r.scope_id and d.start = r.window_start
        where r.shut or (d.unpriced and r.needs_price) or d.tokens > r.room_tokens or (d.nano > 0 and d.nano > r.room_nano))
    then
        with asks as (
            select a.*, r.scope_id, r.window_start, r.room_tokens, r.room_nano, r.later_tokens, r.later_nano, r.shut, r.needs_price, r.frozen
            from unnest(v_held, p_tokens, v_nanos, p_leasts, p_least_nanos, p_nanos, p_groups) with ordinality
                 a (hold_id, tokens, nano, least, least_nano, price, grp, ord)
            join unnest(f_grp) with ordinality f (grp, pos) on f.grp = a.grp
            join ledger_batch_rooms(p_tenant, f_scope, f_start, f_policy, p_lapse, v_now) r on r.pos = f.pos
        ), hopes as (
            -- An ask that cannot get even its minimum takes no room from those behind it.
            select a.*, bool_or(a.frozen or (not a.shut and ((a.least > a.room_tokens) is true
                                                             or (a.least_nano > 0 and a.least_nano > a.room_nano) is true)))
                            over (partition by a.ord) as hopeless
            from asks a
        ), running as (
            select h.*, sum(case when h.hopeless then 0 else h.tokens end) over w as sum_tokens,
                   sum(case when h.hopeless then 0 else h.nano end) over w as sum_nano
            from hopes h window w as (partition by h.scope_id, h.window_start order by h.ord)
        )
        select array_agg(x.ord order by x.ord) filter (where x.plain), coalesce(array_agg(x.ord) filter (where x.short), '{}'),
               bool_or(x.unpriced and x.grp = any (v_made))
        into v_plain, v_short, v_undone
        from (select r.ord, r.grp, bool_or(r.price is null and r.needs_price) as unpriced,
                     bool_and(r.hold_id is not null and not r.shut and not (r.price is null and r.needs_price))
                         and bool_or(r.least > r.later_tokens or (r.least_nano > 0 and r.least_nano > r.later_nano)) as short,
                     bool_and(r.hold_id is not null and not r.hopeless and not r.shut and not (r.price is null and r.needs_price)
                              and (r.sum_tokens > r.room_tokens) is not true and (r.nano > 0 and r.sum_nano > r.room_nano) is not true) as plain
              from running r group by r.ord, r.grp) x;
        -- Nothing of an ask that needs a price is written, not even the names of its scopes.
        if (v_plain is null and v_short = '{}') or v_undone then
            raise exception using errcode = 'PB001', message = 'no plain ask';
        end if;
        v_plain := coalesce(v_plain, '{}');
        delete from holds h using unnest(v_held) with ordinality x (hold_id, ord)
        where h.tenant = p_tenant and h.hold_id = any (v_held) and h.hold_id = x.hold_id and x.ord <> all (v_plain);
        insert into holds (tenant, hold_id, key, digest, state, created_at) overriding system value
        select p_tenant, v_held[x.ord], p_keys[x.ord], p_digests[x.ord], 'none', v_now from unnest(v_short) x (ord) order by p_keys[x.ord];
        v_asked := array(select distinct p_groups[x.ord] from unnest(v_short) x (ord));
        select coalesce(array_agg(a.ord order by a.ord), '{}'), coalesce(array_agg(a.hold_id order by a.ord), '{}'),
               array_agg(a.tokens order by a.ord), array_agg(a.nano order by a.ord),
               coalesce(array_agg(a.grp order by a.ord), '{}'), array_agg(a.lease order by a.ord)
        into v_places, v_held, p_tokens, v_nanos, p_groups, p_leases
        from unnest(v_held, p_tokens, v_nanos, p_groups, p_leases) with ordinality a (hold_id, tokens, nano, grp, lease, ord)
        where a.ord = any (v_plain);
    end if;

    select jsonb_object_agg(g.grp, g.views) into v_seen from (
        select f.grp, jsonb_agg(f.policy || jsonb_build_object(
                   'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
                   'granted', jsonb_build_array(b.granted_tokens, b.granted_nano),
                   'window_start', calendar_start(b.window_start), 'queued', false) order by f.pos) as views
        from unnest(f_grp, f_scope, f_start, f_policy) with ordinality f (grp, scope_id, start, policy, pos)
        cross join lateral (select * from balances t
                            where t.tenant = p_tenant and t.scope_id = f.scope_id and t.window_start = f.start offset 0) b
        where f.grp = any (p_groups || v_asked) group by f.grp) g;
    if v_held <> '{}' then
        v_zeros := array_fill(0, array[cardinality(v_held)]);
        perform ledger_post_many(p_tenant, array_fill('hold'::text, array[cardinality(v_held)]), v_held, null, p_groups,
                                 v_zeros, v_zeros, p_tokens, v_nanos, v_zeros, v_zeros, f_grp, f_scope, f_start, f_limit, f_nano, f_mode, v_now);
        perform ledger_warn(p_tenant, array_agg(f.scope_id), array_agg(f.start), array_agg(f.policy), v_now)
        from unnest(f_grp, f_scope, f_start, f_policy) f (grp, scope_id, start, policy) where f.grp = any (p_groups);
    end if;
    -- Only now: what is returned stays returned, even if all that was written is undone below.
    return query select null::bigint, a.place, a.hold_id, v_now + a.lease, null::bigint[], null::timestamptz[], null::jsonb
                 from unnest(v_places, v_held, p_leases) a (place, hold_id, lease)
                 union all
                 select null, x.ord, null, null, null, null, null from unnest(v_short) x (ord)
                 order by 2;
    return query select f.grp, null::bigint, null::bigint, null::timestamptz, array_agg(f.scope_id order by f.pos),
                        array_agg(f.start order by f.pos), v_seen -> f.grp::text
                 from unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos)
                 where v_seen ? f.grp::text group by f.grp;
exception when sqlstate 'PB001' or numeric_value_out_of_range then
    return;
end $$;


--
-- Name: ledger_hold_unpriced(text, text, bytea, text[], text[], text, text, bigint, bigint, interval, boolean, interval, jsonb, timestamp with time zone, integer[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_hold_unpriced(p_tenant text, p_key text, p_digest bytea, p_path text[], p_labels text[], p_task text, p_model text, p_tokens bigint, p_least_tokens bigint, p_lease interval, p_patient boolean, p_lapse interval, p_defaults jsonb, p_now timestamp with time zone, p_last_of integer[]) RETURNS TABLE(outcome text, hold_id bigint, state text, tokens bigint, nano bigint, expires_at timestamp with time zone, views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    v_views text;
begin
    return query select * from ledger_hold(p_tenant, p_key, p_digest, p_path, p_labels, p_task, p_model, p_tokens, null, p_least_tokens, null,
                                           p_lease, p_patient, p_lapse, p_defaults, p_now, p_last_of);
exception when sqlstate 'PB002' then
    get stacked diagnostics v_views = pg_exception_detail;
    return query select 'short', null::bigint, 'none', p_tokens, 0::bigint, null::timestamptz, v_views::jsonb;
end $$;


--
-- Name: ledger_left_over(text, bigint, text, text, timestamp with time zone, bigint, bigint, numeric); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_left_over(p_tenant text, p_scope bigint, p_window text, p_zone text, p_start timestamp with time zone, p_tokens bigint, p_nano bigint, p_share numeric) RETURNS TABLE(tokens bigint, nano bigint)
    LANGUAGE sql STABLE
    AS $$
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
        where g.tenant = p_tenant and g.scope_id = p_scope and g.window_start = b.window_start and g.rolled_over) carried
    cross join lateral (select case when b.window_start = before.start then 1 else 0 end as used) u
    cross join lateral (
        select case when b.limit_tokens is not null and p_tokens is not null
                    then least(p_tokens, b.limit_tokens) + u.used * (carried.tokens - b.spent_tokens - b.held_tokens) end as tokens,
               case when b.limit_nano is not null and p_nano is not null
                    then least(p_nano, b.limit_nano) + u.used * (carried.nano - b.spent_nano - b.held_nano) end as nano) l
    where b.window_start <= before.start and calendar_start(b.window_start) is not null
$$;


--
-- Name: ledger_limits(bigint, bigint, text, public.postings); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_limits(p_gate_tokens bigint, p_gate_nano bigint, p_gate_mode text, p public.postings) RETURNS TABLE(limit_tokens bigint, limit_nano bigint, mode text)
    LANGUAGE sql IMMUTABLE ROWS 1
    AS $$
    select case when p_gate_mode is null then p.limit_tokens else p_gate_tokens end,
           case when p_gate_mode is null then p.limit_nano else p_gate_nano end, coalesce(p_gate_mode, p.mode)
$$;


--
-- Name: ledger_lock(text, bigint[], timestamp with time zone[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_lock(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
begin
    perform 1 from (select u.s, u.w from unnest(p_scopes, p_windows) u (s, w) order by 1, 2 offset 0) x
    cross join lateral (select 1 from balances b
                        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w for update offset 0) b;
end $$;


--
-- Name: ledger_lock_holds(text, bigint[], boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_lock_holds(p_tenant text, p_holds bigint[], p_moves boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    perform 1 from (select distinct u.hold_id from unnest(p_holds) u (hold_id) order by 1 offset 0) x
    cross join lateral (select 1 from holds h where h.tenant = p_tenant and h.hold_id = x.hold_id for update offset 0) h;
    if p_moves then
        perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w))
        from (select distinct u.s, u.w
              from unnest(p_holds) x (hold_id)
              cross join lateral (select h.scope_ids, h.window_starts from holds h
                                  where h.tenant = p_tenant and h.hold_id = x.hold_id and h.state = 'held' offset 0) h
              cross join lateral unnest(h.scope_ids, h.window_starts) u (s, w)) d
        having count(*) > 0;
    end if;
end $$;


--
-- Name: ledger_next_range(interval, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_next_range(p_age interval, p_now timestamp with time zone) RETURNS SETOF public.checkpoints
    LANGUAGE plpgsql STABLE ROWS 1
    AS $$
begin
    if p_age < interval '62 days' then
        raise exception 'the ledger keeps 62 days at least';
    end if;
    return query select c.* from checkpoints c
    where c.checkpoint_id = (select min(k.checkpoint_id) from checkpoints k
                             where k.checkpoint_id > coalesce((select max(r.checkpoint_id) from closed_ranges r), 0))
      and not exists (select from journal j where 0 + j.number between c.first_number and c.last_number
                                              and j.at >= coalesce(p_now, clock_timestamp()) - p_age);
end $$;


--
-- Name: ledger_not_rolled(public.checkpoints); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_not_rolled(r public.checkpoints) RETURNS SETOF public.balances
    LANGUAGE sql STABLE
    AS $$
    select b.* from (
        select m.tenant, m.scope_id, m.window_start, max(m.seq) as seq from moves m
        where 0 + m.number between r.first_number and r.last_number and rolling_length(m.window_start) is not null group by 1, 2, 3) m
    join balances b on b.tenant = m.tenant and b.scope_id = m.scope_id and b.window_start = m.window_start
    where b.rolled_to < m.seq
$$;


--
-- Name: ledger_open(text, bigint[], timestamp with time zone[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_open(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
begin
    perform from unnest(p_scopes, p_windows) x (s, w)
    left join lateral (select true as seen from balances b
                       where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w offset 0) b on true
    where b.seen is null limit 1;
    if found then
        insert into balances (tenant, scope_id, window_start, rolls_at, updated_at)
        select p_tenant, x.s, x.w, p_now + rolling_length(x.w), p_now
        from unnest(p_scopes, p_windows) x (s, w) order by x.s, x.w on conflict do nothing;
    end if;
    perform ledger_lock(p_tenant, p_scopes, p_windows);
end $$;


--
-- Name: ledger_policies(text, bigint[], text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_policies(p_tenant text, p_scopes bigint[], p_task text, p_defaults jsonb) RETURNS TABLE(ord bigint, scope_id bigint, scope text, limit_tokens bigint, limit_nano bigint, mode text, win text, zone text, warn_at numeric[], backpressure jsonb, frozen boolean, shared_tokens bigint, shared_nano bigint, shared_mode text, shadow jsonb, last_answer numeric, rollover numeric, ladder jsonb)
    LANGUAGE sql STABLE
    AS $$
    select x.ord, x.scope_id, s.kind || ':' || s.id,
           m.tokens, m.nano, case when a.shadow then 'soft' else m.mode end,
           coalesce(n.period, s."window", case when not k.limited then r."window" end, d.v ->> 'window'),
           coalesce(s.timezone, case when not k.limited then r.timezone end, d.v ->> 'timezone'),
           coalesce(s.warn_at, r.warn_at, array(select t::numeric from jsonb_array_elements_text(d.v -> 'warn_at') t)),
           coalesce(s.backpressure, r.backpressure),
           a.frozen and not a.shadow,
           case when k.shared then coalesce(s.limit_tokens, (d.v ->> 'limit_tokens')::bigint) else m.tokens end,
           case when k.shared then coalesce(s.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint) else m.nano end,
           case when a.shadow then 'soft' when k.shared then k.mode else m.mode end,
           case when a.shadow then jsonb_build_object('shadow', jsonb_build_object('mode', m.mode, 'frozen', a.frozen)) else '{}' end,
           coalesce(s.last_answer, r.last_answer, (d.v ->> 'last_answer')::numeric, 0),
           coalesce(s.rollover, (d.v ->> 'rollover')::numeric),
           case when a.shadow or coalesce(s.ladder, r.ladder, '[]') = '[]' then '{}'
                else jsonb_build_object('ladder', coalesce(s.ladder, r.ladder)) end
    from unnest(p_scopes) with ordinality x (scope_id, ord)
    cross join lateral (select * from stored_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id offset 0) s
    -- A further limit has its period as window, and no default limits.
    cross join lateral (select nullif(split_part(s.id, '@', 2), '') as period) n
    cross join lateral (select case when n.period is null then p_defaults -> s.kind
                               else (p_defaults -> s.kind) - array['limit_tokens', 'limit_nano_usd'] end as v) d
    left join lateral (select * from policies t
                       where t.tenant = p_tenant and t.scope_id = x.scope_id and t.task = p_task and t.task <> '' offset 0) r on true
    cross join lateral (select s.limit_tokens is not null or s.limit_nano_usd is not null as limited, coalesce(s.mode, d.v ->> 'mode') as mode,
                               is_shared(s.kind) as shared) k
    cross join lateral (select case when s.limit_tokens is null then coalesce(r.limit_tokens, (d.v ->> 'limit_tokens')::bigint)
                                    else least(s.limit_tokens, r.limit_tokens) end as tokens,
                               case when s.limit_nano_usd is null then coalesce(r.limit_nano_usd, (d.v ->> 'limit_nano_usd')::bigint)
                                    else least(s.limit_nano_usd, r.limit_nano_usd) end as nano,
                               case when s.mode is null and not k.limited then coalesce(r.mode, k.mode)
                                    when 'hard' in (k.mode, r.mode) then 'hard'
                                    when 'approval' in (k.mode, r.mode) then 'approval'
                                    else 'soft' end as mode) m
    cross join lateral (select coalesce(s.frozen, r.frozen, (d.v ->> 'frozen')::boolean) or r.frozen is true as frozen,
                               case when num_nonnulls(s.limit_tokens, s.limit_nano_usd, s.mode, s.frozen, s.shadow) = 0
                                    then coalesce(r.shadow, (d.v ->> 'shadow')::boolean, false)
                                    else coalesce(s.shadow, (d.v ->> 'shadow')::boolean, false) and r.shadow is not false end as shadow) a
$$;


--
-- Name: ledger_policies_of(text, bigint[], text[], jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_policies_of(p_tenant text, p_scopes bigint[], p_tasks text[], p_defaults jsonb) RETURNS TABLE(ord bigint, scope_id bigint, limit_tokens bigint, limit_nano bigint, mode text, window_of text, policy jsonb)
    LANGUAGE sql STABLE
    AS $$
    with x as materialized (
        select u.ord, u.scope_id, coalesce(r.task, '') as task
        from unnest(p_scopes, p_tasks) with ordinality u (scope_id, task, ord)
        left join lateral (select t.task from policies t
                           where t.tenant = p_tenant and t.scope_id = u.scope_id and t.task = u.task offset 0) r on true
    ), resolved as materialized (
        select d.task, p.*
        from (select distinct x.scope_id, x.task from x) d
        cross join lateral (select * from ledger_policies(p_tenant, array[d.scope_id], d.task, p_defaults) offset 0) p
    )
    select x.ord, x.scope_id, p.limit_tokens, p.limit_nano, p.mode, p.win || ' ' || p.zone,
           jsonb_build_object('scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
                              'warn_at', p.warn_at, 'backpressure', p.backpressure, 'frozen', p.frozen)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode) || p.shadow || p.ladder
           || ledger_reserved(ledger_reserve(p.limit_tokens, p.mode, p.last_answer), ledger_reserve(p.limit_nano, p.mode, p.last_answer), 0)
    from x join resolved p on p.scope_id = x.scope_id and p.task = x.task
$$;


--
-- Name: ledger_policy_versions(text, bigint[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_policy_versions(p_tenant text, p_scopes bigint[], p_tasks text[]) RETURNS text[]
    LANGUAGE sql STABLE
    AS $$
    select array_agg(v.version order by x.scope_id, x.task, v.source)
    from (select distinct u.scope_id, u.task from unnest(p_scopes, p_tasks) u (scope_id, task)) x
    cross join lateral (
        select 'template' as source, t.xmin::text as version from templated_policies t where t.tenant = p_tenant and t.scope_id = x.scope_id
        union all
        select 'task ' || p.task, p.xmin::text from policies p
        where p.tenant = p_tenant and p.scope_id = x.scope_id and p.task in ('', x.task)
        offset 0) v
$$;


--
-- Name: ledger_post(text, text, bigint[], timestamp with time zone[], timestamp with time zone, bigint, integer, text, public.amount, public.amount, public.amount, public.amount, bigint[], bigint[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_post(p_tenant text, p_kind text, p_scopes bigint[], p_windows timestamp with time zone[], p_now timestamp with time zone, p_hold bigint DEFAULT NULL::bigint, p_attempt integer DEFAULT NULL::integer, p_ref text DEFAULT NULL::text, p_spent public.amount DEFAULT ROW((0)::bigint, (0)::bigint), p_held public.amount DEFAULT ROW((0)::bigint, (0)::bigint), p_granted public.amount DEFAULT ROW((0)::bigint, (0)::bigint), p_overrun public.amount DEFAULT ROW((0)::bigint, (0)::bigint), p_limits bigint[] DEFAULT NULL::bigint[], p_nanos bigint[] DEFAULT NULL::bigint[], p_modes text[] DEFAULT NULL::text[]) RETURNS void
    LANGUAGE sql
    SET enable_seqscan TO 'off'
    AS $$
    with moved as (
        update balances b set
            spent_tokens = b.spent_tokens + (p_spent).tokens, spent_nano = b.spent_nano + (p_spent).nano,
            held_tokens = b.held_tokens + (p_held).tokens, held_nano = b.held_nano + (p_held).nano,
            granted_tokens = b.granted_tokens + (p_granted).tokens, granted_nano = b.granted_nano + (p_granted).nano,
            overrun_tokens = b.overrun_tokens + (p_overrun).tokens, overrun_nano = b.overrun_nano + (p_overrun).nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[x.i] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[x.i] end,
            mode = case when p_modes is null then b.mode else p_modes[x.i] end,
            seq = b.seq + 1, updated_at = p_now
        from unnest(p_scopes, p_windows) with ordinality x (s, w, i)
        where b.tenant = p_tenant and b.scope_id = any (p_scopes) and b.scope_id = x.s and b.window_start = x.w
        returning b.*, x.i
    ), event as (
        insert into journal (tenant, at, kind, hold_id, attempt, ref, scope_ids, window_starts, seqs,
                             d_spent_tokens, d_held_tokens, d_granted_tokens, d_overrun_tokens,
                             d_spent_nano, d_held_nano, d_granted_nano, d_overrun_nano)
        select p_tenant, p_now, p_kind, p_hold, p_attempt, p_ref, p_scopes, p_windows, array_agg(m.seq order by m.i),
               (p_spent).tokens, (p_held).tokens, (p_granted).tokens, (p_overrun).tokens,
               (p_spent).nano, (p_held).nano, (p_granted).nano, (p_overrun).nano
        from moved m
        returning number
    )
    insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                          spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                          spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
    select m.tenant, m.scope_id, m.window_start, m.seq, m.seq, e.number, e.number, p_now, p_kind in ('late', 'correction'),
           m.spent_tokens, m.held_tokens, m.granted_tokens, m.overrun_tokens,
           m.spent_nano, m.held_nano, m.granted_nano, m.overrun_nano, m.limit_tokens, m.limit_nano, m.mode
    from moved m, event e
$$;


--
-- Name: ledger_post_many(text, text[], bigint[], integer[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], timestamp with time zone[], bigint[], bigint[], text[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_post_many(p_tenant text, p_kinds text[], p_holds bigint[], p_attempts integer[], p_groups bigint[], p_spent bigint[], p_spent_nano bigint[], p_held bigint[], p_held_nano bigint[], p_overrun bigint[], p_overrun_nano bigint[], f_grp bigint[], f_scope bigint[], f_start timestamp with time zone[], p_limits bigint[], p_nanos bigint[], p_modes text[], p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    -- In the order of the events, and taken under the locks.
    v_numbers bigint[] := array(select nextval('journal_number_seq') from generate_series(1, cardinality(p_kinds)));
    v_differ boolean := p_modes is not null and f_grp[1] <> f_grp[cardinality(f_grp)] and exists (
        select from unnest(f_scope, f_start, p_limits, p_nanos, p_modes) f (scope_id, start, tokens, nano, mode)
        group by f.scope_id, f.start having count(distinct row(f.tokens, f.nano, f.mode)) > 1);
begin
    with parts as materialized (
        select e.*, f.scope_id, f.start, f.pos, row_number() over (partition by f.scope_id, f.start order by e.ord) as n
        from unnest(p_groups, p_spent, p_spent_nano, p_held, p_held_nano, p_overrun, p_overrun_nano) with ordinality
             e (grp, spent, spent_nano, held, held_nano, overrun, overrun_nano, ord)
        join unnest(f_grp, f_scope, f_start) with ordinality f (grp, scope_id, start, pos) on f.grp = e.grp
    ), totals as (
        select m.scope_id, m.start, count(*) as n, sum(m.spent) as spent, sum(m.spent_nano) as spent_nano,
               sum(m.held) as held, sum(m.held_nano) as held_nano, sum(m.overrun) as overrun, sum(m.overrun_nano) as overrun_nano,
               (array_agg(m.pos order by m.n desc))[1] as pos
        from parts m group by m.scope_id, m.start
    ), moved as (
        update balances b set
            spent_tokens = b.spent_tokens + t.spent, spent_nano = b.spent_nano + t.spent_nano,
            held_tokens = b.held_tokens + t.held, held_nano = b.held_nano + t.held_nano,
            overrun_tokens = b.overrun_tokens + t.overrun, overrun_nano = b.overrun_nano + t.overrun_nano,
            limit_tokens = case when p_modes is null then b.limit_tokens else p_limits[t.pos] end,
            limit_nano = case when p_modes is null then b.limit_nano else p_nanos[t.pos] end,
            mode = case when p_modes is null then b.mode else p_modes[t.pos] end,
            seq = b.seq + t.n, updated_at = p_now
        from totals t where b.tenant = p_tenant and b.scope_id = any (f_scope) and b.scope_id = t.scope_id and b.window_start = t.start
        returning b.*, b.seq - t.n as seq_before
    ), posted as (
        insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late,
                              spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                              spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
        select b.tenant, b.scope_id, b.window_start, b.seq_before + 1, b.seq, v_numbers[1], v_numbers[cardinality(v_numbers)], p_now, false,
               b.spent_tokens, b.held_tokens, b.granted_tokens, b.overrun_tokens,
               b.spent_nano, b.held_nano, b.granted_nano, b.overrun_nano, b.limit_tokens, b.limit_nano, b.mode
        from moved b
    ), scopes_of as (
        select m.ord, array_agg(m.scope_id order by m.pos) as ids, array_agg(m.start order by m.pos) as starts,
               array_agg(b.seq_before + m.n order by m.pos) as seqs,
               case when v_differ then array_agg(p_limits[m.pos] order by m.pos) end as limits,
               case when v_differ then array_agg(p_nanos[m.pos] order by m.pos) end as nanos,
               case when v_differ then array_agg(p_modes[m.pos] order by m.pos) end as modes
        from parts m join moved b on b.scope_id = m.scope_id and b.window_start = m.start group by m.ord
    )
    insert into journal (tenant, number, at, kind, hold_id, attempt, scope_ids, window_starts, seqs,
                         d_spent_tokens, d_held_tokens, d_overrun_tokens, d_spent_nano, d_held_nano, d_overrun_nano,
                         limits_tokens, limits_nano, modes) overriding system value
    select p_tenant, v_numbers[s.ord], p_now, p_kinds[s.ord], p_holds[s.ord], p_attempts[s.ord], s.ids, s.starts, s.seqs,
           p_spent[s.ord], p_held[s.ord], p_overrun[s.ord], p_spent_nano[s.ord], p_held_nano[s.ord], p_overrun_nano[s.ord],
           s.limits, s.nanos, s.modes
    from scopes_of s order by s.ord;
end $$;


--
-- Name: ledger_post_policies(text, public.applied_policy[], text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_post_policies(p_tenant text, p_before public.applied_policy[], p_by text, p_defaults jsonb, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    b record;
    v_change text;
begin
    for b in select n.scope_id, x.window_start, o.limit_tokens as old_tokens, o.limit_nano as old_nano, o.mode as old_mode,
                    n.limit_tokens as new_tokens, n.limit_nano as new_nano, n.mode as new_mode
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
    end loop;
end $$;


--
-- Name: ledger_posting(text, bigint, timestamp with time zone, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_posting(p_tenant text, p_scope bigint, p_window timestamp with time zone, p_seq bigint) RETURNS SETOF public.postings
    LANGUAGE sql STABLE ROWS 1
    AS $$
    select p.* from postings p where p.tenant = p_tenant and p.scope_id = p_scope and p.window_start = p_window and p.last_seq >= p_seq
    order by p.last_seq limit 1
$$;


--
-- Name: ledger_presume(text, bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_presume(p_tenant text, p_hold bigint, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    h holds%rowtype;
    a attempts%rowtype;
begin
    select * into h from holds t where t.tenant = p_tenant and t.hold_id = p_hold;
    update attempts t set state = 'presumed', tokens = greatest(h.tokens, t.most_tokens), nano = greatest(h.nano, t.most_nano),
           overrun_tokens = greatest(0, t.most_tokens - h.tokens), overrun_nano = greatest(0, t.most_nano - h.nano)
    where t.tenant = p_tenant and t.hold_id = p_hold and t.state = 'started' returning * into a;
    if not found then
        return;
    end if;
    update holds t set tokens = 0, nano = 0, charged_tokens = t.charged_tokens + a.tokens, charged_nano = t.charged_nano + a.nano
    where t.tenant = p_tenant and t.hold_id = p_hold;
    perform ledger_post(p_tenant, 'presumed', h.scope_ids, h.window_starts, p_now, p_hold => p_hold, p_attempt => a.attempt,
                        p_spent => row(a.tokens, a.nano)::amount, p_held => row(-h.tokens, -h.nano)::amount,
                        p_overrun => row(a.overrun_tokens, a.overrun_nano)::amount);
end $$;


--
-- Name: ledger_proves(public.closings, public.checkpoints); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_proves(c public.closings, r public.checkpoints) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    select (c.number < r.first_number or exists (
                select from moves m where m.tenant = c.tenant and m.number = c.number
                                      and m.scope_id = c.scope_id and m.window_start = c.window_start and m.seq = c.seq))
       and exists (
           select from ledger_posting(c.tenant, c.scope_id, c.window_start, c.seq) p cross join lateral ledger_after(p, c.number) a
           where (a.spent_tokens, a.held_tokens, a.granted_tokens, a.overrun_tokens, a.spent_nano, a.held_nano, a.granted_nano, a.overrun_nano)
               = (c.spent_tokens, c.held_tokens, c.granted_tokens, c.overrun_tokens, c.spent_nano, c.held_nano, c.granted_nano, c.overrun_nano))
$$;


--
-- Name: ledger_release(text, bigint, text, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_release(p_tenant text, p_hold bigint, p_key text, p_now timestamp with time zone) RETURNS TABLE(hold_id bigint, state text, charged_tokens bigint, charged_nano bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_hold bigint := p_hold;
    v_state text;
begin
    if p_key is not null then
        insert into holds (tenant, key, state, created_at, ended_at) values (p_tenant, p_key, 'released', v_now, v_now)
        on conflict (tenant, key) where key is not null do nothing;
        select x.hold_id into v_hold from holds x where x.tenant = p_tenant and x.key = p_key;
    end if;
    select x.state into v_state from holds x where x.tenant = p_tenant and x.hold_id = v_hold for update;
    if not found then
        return;
    elsif v_state = 'none' then
        update holds x set state = 'released', ended_at = v_now where x.tenant = p_tenant and x.hold_id = v_hold;
        delete from waiters w where w.tenant = p_tenant and w.hold_id = v_hold;
    else
        perform ledger_close(p_tenant, v_hold, 'released', v_now);
    end if;
    return query select x.hold_id, x.state, x.charged_tokens, x.charged_nano from holds x
    where x.tenant = p_tenant and x.hold_id = v_hold;
end $$;


--
-- Name: ledger_release_many(text, bigint[], text[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_release_many(p_tenant text, p_holds bigint[], p_keys text[], p_now timestamp with time zone) RETURNS TABLE(ord bigint, hold_id bigint, state text, charged_tokens bigint, charged_nano bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
    insert into holds (tenant, key, state, created_at, ended_at)
    select p_tenant, k.key, 'released', v_now, v_now from (select distinct u.key from unnest(p_keys) u (key) where u.key is not null) k
    order by k.key on conflict (tenant, key) where key is not null do nothing;
    select array_agg(coalesce(u.hold_id, h.hold_id) order by u.ord) into p_holds
    from unnest(p_holds, p_keys) with ordinality u (hold_id, key, ord)
    left join lateral (select t.hold_id from holds t where t.tenant = p_tenant and t.key = u.key offset 0) h on true;
    perform ledger_lock_holds(p_tenant, p_holds, true);
    return query select x.ord, r.* from unnest(p_holds) with ordinality x (hold_id, ord)
                 cross join lateral ledger_release(p_tenant, x.hold_id, null, p_now) r;
end $$;


--
-- Name: ledger_reserve(bigint, text, numeric); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_reserve(p_limit bigint, p_mode text, p_share numeric) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((p_mode = 'soft'::text) OR (p_share = (0)::numeric)) THEN (0)::bigint ELSE COALESCE((floor(((p_limit)::numeric * p_share)))::bigint, (0)::bigint) END;


--
-- Name: ledger_reserved(bigint, bigint, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_reserved(p_tokens bigint, p_nano bigint, p_last_of integer) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN ((p_tokens = 0) AND (p_nano = 0)) THEN '{}'::jsonb ELSE jsonb_build_object('reserve', jsonb_build_array(p_tokens, p_nano), 'last_of', COALESCE(p_last_of, 0)) END;


--
-- Name: ledger_roll_off(text, bigint[], timestamp with time zone[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_roll_off(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    b balances%rowtype;
    o record;
begin
    for b in select x.* from balances x join unnest(p_scopes, p_windows) u (s, w) on x.tenant = p_tenant and x.scope_id = u.s and x.window_start = u.w
             where x.rolls_at <= p_now order by x.scope_id, x.window_start loop
        select * into o from ledger_falls_out(b, p_now);
        if (o.tokens, o.nano, o.overrun_tokens, o.overrun_nano) <> (0, 0, 0, 0) then
            perform ledger_post(p_tenant, 'rolled_off', array[b.scope_id], array[b.window_start], p_now,
                                p_spent => row(-o.tokens, -o.nano)::amount, p_overrun => row(-o.overrun_tokens, -o.overrun_nano)::amount);
        end if;
        -- A threshold below which the balance has fallen fires again.
        update balances x set rolled_to = o.rolled_to, rolled_seq = x.seq, rolls_at = o.next_at,
               rolled_tokens = x.rolled_tokens + o.tokens, rolled_nano = x.rolled_nano + o.nano,
               warned_at = array(select t from unnest(x.warned_at) t
                                 where (x.spent_tokens + x.held_tokens >= t * (x.limit_tokens + x.granted_tokens)) is true
                                    or (x.spent_nano + x.held_nano >= t * (x.limit_nano + x.granted_nano)) is true)
        where x.tenant = p_tenant and x.scope_id = b.scope_id and x.window_start = b.window_start;
    end loop;
end $$;


--
-- Name: ledger_roll_off_range(interval, integer, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_roll_off_range(p_age interval, p_most integer, p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_rolled bigint := 0;
    b record;
begin
    for b in select n.tenant, array_agg(n.scope_id) as scopes, array_agg(n.window_start) as windows
             from (select n.* from ledger_next_range(p_age, p_now) r cross join lateral ledger_not_rolled(r) n
                   where n.rolls_at <= v_now limit p_most) n
             group by n.tenant order by n.tenant loop
        perform ledger_lock(b.tenant, b.scopes, b.windows);
        perform ledger_roll_off(b.tenant, b.scopes, b.windows, v_now);
        v_rolled := v_rolled + cardinality(b.scopes);
    end loop;
    return v_rolled;
end $$;


--
-- Name: ledger_roll_over(text, bigint[], timestamp with time zone[], jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_roll_over(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_defaults jsonb, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    r record;
    v_grant bigint;
begin
    for r in update balances b set rolled_over_at = p_now from unnest(p_scopes, p_windows) x (s, w)
             where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolled_over_at is null
               and calendar_start(b.window_start) is not null
             returning b.scope_id, b.window_start loop
        insert into grants (tenant, scope_id, window_start, tokens, nano, granted_by, created_at, rolled_over)
        select p_tenant, r.scope_id, r.window_start, o.tokens, o.nano, 'rollover', p_now, true
        from ledger_policies(p_tenant, array[r.scope_id], '', p_defaults) p
        cross join lateral ledger_left_over(p_tenant, r.scope_id, p.win, p.zone, r.window_start, p.limit_tokens, p.limit_nano, p.rollover) o
        where p.rollover is not null and (o.tokens, o.nano) <> (0, 0)
        returning grant_id into v_grant;
        if v_grant is not null then
            perform ledger_post(p_tenant, 'grant', array[r.scope_id], array[r.window_start], p_now, p_ref => v_grant::text,
                                p_granted => (select row(g.tokens, g.nano)::amount from grants g where g.tenant = p_tenant and g.grant_id = v_grant));
        end if;
    end loop;
end $$;


--
-- Name: ledger_room(bigint, bigint, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_room(p_left bigint, p_reserve bigint, p_last_of integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (p_left IS NULL) THEN NULL::bigint WHEN (COALESCE(p_last_of, 0) = 0) THEN (p_left - p_reserve) ELSE LEAST(p_left, GREATEST((p_reserve / p_last_of), (p_left - p_reserve))) END;


--
-- Name: ledger_room_returns(public.balances, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_room_returns(b public.balances, p_limit_tokens bigint, p_limit_nano bigint, p_tokens bigint, p_nano bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    select e.at + rolling_length(b.window_start) * 61 / 60
    from (select b.spent_tokens + b.held_tokens + p_tokens - p_limit_tokens - b.granted_tokens as tokens,
                 case when p_nano > 0 then b.spent_nano + b.held_nano + p_nano - p_limit_nano - b.granted_nano end as nano) short
    cross join lateral (
        select x.at, sum(x.d_spent_tokens) over w as tokens, sum(x.d_spent_nano) over w as nano
        from (select y.* from (select p.* from postings p
                               where p.tenant = b.tenant and p.scope_id = b.scope_id and p.window_start = b.window_start and p.last_seq > b.rolled_to
                               order by p.last_seq limit 20000) p
              cross join lateral (select * from moves m where m.tenant = p.tenant and m.number between p.first_number and p.last_number
                                                          and m.scope_id = p.scope_id and m.window_start = p.window_start offset 0) y
              where y.kind in ('settle', 'overrun', 'presumed', 'late', 'correction')) x
        window w as (order by x.seq)) e
    where e.tokens >= coalesce(short.tokens, 0) and e.nano >= coalesce(short.nano, 0)
    order by e.at limit 1
$$;


--
-- Name: ledger_scopes(text, text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_scopes(p_tenant text, p_path text[], p_labels text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    v_scopes bigint[];
begin
    if p_labels = '{}' and not exists (select from policy_templates t where t.tenant = p_tenant)
       and not exists (select from unnest(p_path) x (name)
                       cross join lateral (select from scopes t
                                           where t.tenant = p_tenant and t.kind = kind_of(x.name) and split_part(t.id, '@', 1) = id_of(x.name)
                                             and strpos(t.id, '@') > 0 offset 0) s) then
        select array_agg(s.scope_id order by x.ord) into v_scopes
        from unnest(p_path) with ordinality x (name, ord)
        left join lateral (select t.scope_id from scopes t
                           where t.tenant = p_tenant and t.kind = kind_of(x.name) and t.id = id_of(x.name) offset 0) s on true;
        if array_position(v_scopes, null) is null then
            return v_scopes;
        end if;
    end if;
    loop
        select array_agg(x.scope_id order by x.ord) into v_scopes from ledger_expand(p_tenant, p_path, p_labels) x;
        exit when array_position(v_scopes, null) is null;
        insert into scopes (tenant, kind, id) select p_tenant, kind_of(x.name), id_of(x.name)
        from ledger_expand(p_tenant, p_path, p_labels) x order by 2, 3 on conflict do nothing;
    end loop;
    return v_scopes;
end $$;


--
-- Name: holds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.holds (
    tenant text NOT NULL,
    hold_id bigint NOT NULL,
    key text NOT NULL,
    digest bytea,
    path text[] DEFAULT '{}'::text[] NOT NULL,
    labels text[] DEFAULT '{}'::text[] NOT NULL,
    task text DEFAULT ''::text NOT NULL,
    model text,
    scope_ids bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    window_starts timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    state text NOT NULL,
    asked_tokens bigint DEFAULT 0 NOT NULL,
    asked_nano bigint DEFAULT 0 NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    nano bigint DEFAULT 0 NOT NULL,
    charged_tokens bigint DEFAULT 0 NOT NULL,
    charged_nano bigint DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    views jsonb,
    would jsonb,
    lease interval DEFAULT '00:02:00'::interval NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT holds_check CHECK (((state = 'held'::text) OR ((tokens = 0) AND (nano = 0)))),
    CONSTRAINT holds_state_check CHECK ((state = ANY (ARRAY['none'::text, 'held'::text, 'settled'::text, 'released'::text, 'expired'::text])))
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.holds ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: ledger_seen(public.holds); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_seen(h public.holds) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    select coalesce(jsonb_agg(v.policy || jsonb_build_object(
               'spent', jsonb_build_array(e.spent_tokens, e.spent_nano),
               'held', jsonb_build_array(e.held_tokens - e.d_held_tokens, e.held_nano - e.d_held_nano),
               'granted', jsonb_build_array(e.granted_tokens, e.granted_nano),
               'window_start', calendar_start(e.window_start), 'queued', false) order by v.ord),
           (select c.seen from carried_events c where c.tenant = h.tenant and c.hold_id = h.hold_id and c.kind = 'hold'))
    from jsonb_array_elements(h.views) with ordinality v (policy, ord)
    join entries e on e.tenant = h.tenant and e.hold_id = h.hold_id and e.kind = 'hold' and e.scope_id = h.scope_ids[v.ord]
$$;


--
-- Name: ledger_set_policy(text, text, text, jsonb, text[], jsonb, text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_set_policy(p_tenant text, p_scope text, p_task text, p_patch jsonb, p_clear text[], p_sources jsonb, p_by text, p_defaults jsonb, p_now timestamp with time zone, OUT before jsonb, OUT after jsonb) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_kind text := kind_of(p_scope);
    v_id text := id_of(p_scope);
    v_scope bigint;
    v_before applied_policy[];
begin
    perform v_now at time zone (p_patch ->> 'timezone');
    insert into scopes (tenant, kind, id) values (p_tenant, v_kind, v_id) on conflict do nothing;
    select s.scope_id into v_scope from scopes s where s.tenant = p_tenant and s.kind = v_kind and s.id = v_id;
    if p_task = '' then
        perform from scopes s where s.tenant = p_tenant and s.scope_id = v_scope for no key update;
        before := ledger_stored_fields(p_tenant, v_scope);
    end if;
    v_before := ledger_applied_policies(p_tenant, array[v_scope], p_defaults);
    insert into policies as p (tenant, scope_id, task, limit_tokens, limit_nano_usd, mode, "window", timezone, warn_at, backpressure, approval,
                               frozen, shadow, learned_holds, last_answer, rollover, ladder, sources, updated_by, updated_at)
    values (p_tenant, v_scope, p_task, (p_patch ->> 'limit_tokens')::bigint, (p_patch ->> 'limit_nano_usd')::bigint, p_patch ->> 'mode',
            p_patch ->> 'window', p_patch ->> 'timezone',
            case when p_patch ? 'warn_at' then array(select t::numeric from jsonb_array_elements_text(p_patch -> 'warn_at') t) end,
            p_patch -> 'backpressure', p_patch -> 'approval', (p_patch ->> 'frozen')::boolean,
            (p_patch ->> 'shadow')::boolean, (p_patch ->> 'learned_holds')::numeric, (p_patch ->> 'last_answer')::numeric,
            (p_patch ->> 'rollover')::numeric, p_patch -> 'ladder', p_sources, p_by, v_now)
    on conflict (tenant, scope_id, task) do update set
        limit_tokens = case when 'limit_tokens' = any (p_clear) then null else coalesce(excluded.limit_tokens, p.limit_tokens) end,
        limit_nano_usd = case when 'limit_nano_usd' = any (p_clear) then null else coalesce(excluded.limit_nano_usd, p.limit_nano_usd) end,
        mode = case when 'mode' = any (p_clear) then null else coalesce(excluded.mode, p.mode) end,
        "window" = case when 'window' = any (p_clear) then null else coalesce(excluded."window", p."window") end,
        timezone = case when 'timezone' = any (p_clear) then null else coalesce(excluded.timezone, p.timezone) end,
        warn_at = case when 'warn_at' = any (p_clear) then null else coalesce(excluded.warn_at, p.warn_at) end,
        backpressure = case when 'backpressure' = any (p_clear) then null else coalesce(excluded.backpressure, p.backpressure) end,
        approval = case when 'approval' = any (p_clear) then null else coalesce(excluded.approval, p.approval) end,
        frozen = case when 'frozen' = any (p_clear) then null else coalesce(excluded.frozen, p.frozen) end,
        shadow = case when 'shadow' = any (p_clear) then null else coalesce(excluded.shadow, p.shadow) end,
        learned_holds = case when 'learned_holds' = any (p_clear) then null else coalesce(excluded.learned_holds, p.learned_holds) end,
        last_answer = case when 'last_answer' = any (p_clear) then null else coalesce(excluded.last_answer, p.last_answer) end,
        rollover = case when 'rollover' = any (p_clear) then null else coalesce(excluded.rollover, p.rollover) end,
        ladder = case when 'ladder' = any (p_clear) then null else coalesce(excluded.ladder, p.ladder) end,
        sources = p.sources || excluded.sources, updated_by = excluded.updated_by, updated_at = excluded.updated_at;
    if p_task = '' then
        -- A policy without fields is none: a label does not join because of it.
        delete from policies p where p.tenant = p_tenant and p.scope_id = v_scope and p.task = ''
          and ledger_stored_fields(p_tenant, v_scope) = '{}';
        perform ledger_post_policies(p_tenant, v_before, p_by, p_defaults, v_now);
        after := ledger_stored_fields(p_tenant, v_scope);
    end if;
end $$;


--
-- Name: ledger_set_template(text, text, jsonb, text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_set_template(p_tenant text, p_pattern text, p_fields jsonb, p_by text, p_defaults jsonb, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_scopes bigint[];
    v_before applied_policy[];
begin
    perform v_now at time zone (p_fields ->> 'timezone');
    select coalesce(array_agg(s.scope_id), '{}') into v_scopes
    from scopes s where s.tenant = p_tenant and template_matches(p_pattern, s.kind, s.id);
    v_before := ledger_applied_policies(p_tenant, v_scopes, p_defaults);
    if p_fields is null then
        delete from policy_templates where tenant = p_tenant and pattern = p_pattern;
    else
        insert into policy_templates (tenant, pattern, fields, updated_by, updated_at) values (p_tenant, p_pattern, p_fields, p_by, v_now)
        on conflict (tenant, pattern) do update set fields = excluded.fields, updated_by = excluded.updated_by, updated_at = excluded.updated_at;
    end if;
    perform ledger_apply_templates(p_tenant, v_scopes);
    perform ledger_post_policies(p_tenant, v_before, p_by, p_defaults, v_now);
end $$;


--
-- Name: ledger_settle(text, bigint, integer, bigint, bigint, jsonb, bytea, boolean, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_settle(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb, p_digest bytea, p_keep boolean, p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    a attempts%rowtype;
    v_state text;
    v_over bigint := 0;
    v_over_nano bigint := 0;
    v_late boolean := false;
    v_free bigint;
    v_free_nano bigint;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found or h.state = 'none' or h.views is null then
        return query select 'not_found', null::text, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, 0;
        return;
    end if;
    select * into a from attempts x where x.tenant = p_tenant and x.hold_id = p_hold and x.attempt = p_attempt;
    if a.state = 'reported' then
        return query select case when a.digest = p_digest then 'repeat' else 'conflict' end,
                            h.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, h.attempts;
        return;
    elsif a.state is null and p_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts;
        return;
    end if;
    perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
    perform ledger_countable(p_tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
    if a.state is null then
        if h.attempts > 0 then
            perform ledger_presume(p_tenant, p_hold, v_now);
            select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
        end if;
        a.tokens := 0;
        a.nano := 0;
        a.overrun_tokens := 0;
        a.overrun_nano := 0;
        h.attempts := p_attempt;
    end if;
    v_state := h.state;
    if h.state <> 'held' or a.state = 'presumed' then
        v_late := true;
        -- Without its overrun, what was presumed is what was held.
        v_over := greatest(0, p_tokens - a.tokens + a.overrun_tokens);
        v_over_nano := greatest(0, p_nano - a.nano + a.overrun_nano);
        perform ledger_post(p_tenant, 'late', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - a.tokens, p_nano - a.nano)::amount,
                            p_overrun => row(v_over - a.overrun_tokens, v_over_nano - a.overrun_nano)::amount);
        -- The charge that it replaces may have fallen out of a rolling window: then the next ask takes this out, too.
        update balances b set rolls_at = v_now from unnest(h.scope_ids, h.window_starts) x (s, w)
        where b.tenant = p_tenant and b.scope_id = x.s and b.window_start = x.w and b.rolls_at > v_now;
    else
        v_over := greatest(0, p_tokens - h.tokens);
        v_over_nano := greatest(0, p_nano - h.nano);
        v_free := case when p_keep then p_tokens - v_over else h.tokens end;
        v_free_nano := case when p_keep then p_nano - v_over_nano else h.nano end;
        perform ledger_post(p_tenant, 'settle', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                            p_spent => row(p_tokens - v_over, p_nano - v_over_nano)::amount,
                            p_held => row(-v_free, -v_free_nano)::amount);
        if v_over > 0 or v_over_nano > 0 then
            perform ledger_post(p_tenant, 'overrun', h.scope_ids, h.window_starts, v_now, p_hold => p_hold, p_attempt => p_attempt,
                                p_spent => row(v_over, v_over_nano)::amount, p_overrun => row(v_over, v_over_nano)::amount);
        end if;
        h.tokens := h.tokens - v_free;
        h.nano := h.nano - v_free_nano;
        v_state := case when p_keep then 'held' else 'settled' end;
    end if;
    update holds x set state = v_state, tokens = h.tokens, nano = h.nano, attempts = h.attempts,
           charged_tokens = h.charged_tokens + p_tokens - a.tokens, charged_nano = h.charged_nano + p_nano - a.nano,
           ended_at = case when v_state = 'held' then null else coalesce(h.ended_at, v_now) end
    where x.tenant = p_tenant and x.hold_id = p_hold;
    insert into attempts (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, late, usage, digest,
                          started_at, reported_at)
    values (p_tenant, p_hold, p_attempt, 'reported', p_tokens, p_nano, v_over, v_over_nano, v_late, p_usage, p_digest, v_now, v_now)
    on conflict (tenant, hold_id, attempt) do update set state = excluded.state, tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano, late = excluded.late,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    if v_over > 0 or v_over_nano > 0 then
        perform ledger_warn(p_tenant, h.scope_ids, h.window_starts, array(
            select jsonb_build_object('scope', p.scope, 'mode', p.shared_mode, 'limit', jsonb_build_array(p.shared_tokens, p.shared_nano),
                                      'warn_at', p.warn_at) || p.shadow
            from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p order by p.ord), v_now);
    end if;
    return query select 'settled', v_state, p_tokens, p_nano, v_over, v_over_nano, v_late, h.attempts;
end $$;


--
-- Name: ledger_settle_many(text, bigint[], integer[], bigint[], bigint[], jsonb[], bytea[], jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_settle_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_tokens bigint[], p_nanos bigint[], p_usages jsonb[], p_digests bytea[], p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(hold_id bigint, overrun_tokens bigint, overrun_nano bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_groups bigint[];
    v_held bigint[];                                  -- what each hold held
    v_held_nano bigint[];
    v_over bigint[];
    v_over_nano bigint[];
    v_overrun boolean;
    f_grp bigint[];                                   -- the scopes of all groups, flattened
    f_scope bigint[];
    f_start timestamptz[];
begin
    perform 1 from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds) order by h.hold_id for update;
    with reports as materialized (
        select s.*, h.tokens as held, h.nano as held_nano, h.scope_ids, h.window_starts,
               case when s.tokens <= h.tokens and s.nano <= h.nano then 0
                    when s.tokens < h.tokens or s.nano < h.nano then 1 else 2 end as rank,
               bool_or(s.tokens > h.tokens and s.nano < h.nano) over () as any_frees_money,
               dense_rank() over (order by h.scope_ids, h.window_starts) as grp
        from unnest(p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests) with ordinality
             s (hold_id, attempt, tokens, nano, usage, digest, ord)
        cross join lateral (select * from holds h where h.tenant = p_tenant and h.hold_id = s.hold_id offset 0) h
        left join lateral (select a.state from attempts a
                           where a.tenant = p_tenant and a.hold_id = s.hold_id and a.attempt = h.attempts offset 0) a on true
        where h.state = 'held' and s.tokens <= 1000000000 and s.nano <= 1000000000000
          and ((h.attempts = s.attempt and a.state = 'started') or (h.attempts + 1 = s.attempt and a.state is distinct from 'started'))
    ), kept as materialized (
        select * from reports s where not (s.rank = 1 and s.tokens < s.held and s.any_frees_money)
    ), groups as (
        select distinct on (k.grp) k.grp, k.scope_ids, k.window_starts from kept k
    )
    select array_agg(k.hold_id order by k.rank, k.ord), array_agg(k.attempt order by k.rank, k.ord),
           array_agg(k.tokens order by k.rank, k.ord), array_agg(k.nano order by k.rank, k.ord),
           array_agg(k.usage order by k.rank, k.ord), array_agg(k.digest order by k.rank, k.ord),
           array_agg(k.held order by k.rank, k.ord), array_agg(k.held_nano order by k.rank, k.ord),
           array_agg(greatest(0, k.tokens - k.held) order by k.rank, k.ord),
           array_agg(greatest(0, k.nano - k.held_nano) order by k.rank, k.ord),
           array_agg(k.grp order by k.rank, k.ord), bool_or(k.rank > 0),
           (select array_agg(g.grp order by g.grp, u.ord) from groups g cross join lateral unnest(g.scope_ids) with ordinality u (s, ord)),
           (select array_agg(u.s order by g.grp, u.ord) from groups g cross join lateral unnest(g.scope_ids) with ordinality u (s, ord)),
           (select array_agg(u.w order by g.grp, u.ord) from groups g cross join lateral unnest(g.window_starts) with ordinality u (w, ord))
    into p_holds, p_attempts, p_tokens, p_nanos, p_usages, p_digests, v_held, v_held_nano, v_over, v_over_nano, v_groups, v_overrun,
         f_grp, f_scope, f_start
    from kept k;
    if p_holds is null then
        return;
    end if;
    insert into attempts as a (tenant, hold_id, attempt, state, tokens, nano, overrun_tokens, overrun_nano, usage, digest, started_at, reported_at)
    select p_tenant, s.hold_id, s.attempt, 'reported', s.tokens, s.nano, s.over, s.over_nano, s.usage, s.digest, v_now, v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos, v_over, v_over_nano, p_usages, p_digests)
         s (hold_id, attempt, tokens, nano, over, over_nano, usage, digest)
    on conflict (tenant, hold_id, attempt) do update set state = 'reported', tokens = excluded.tokens, nano = excluded.nano,
        overrun_tokens = excluded.overrun_tokens, overrun_nano = excluded.overrun_nano,
        usage = excluded.usage, digest = excluded.digest, reported_at = excluded.reported_at;
    update holds h set state = 'settled', tokens = 0, nano = 0, attempts = s.attempt, charged_tokens = h.charged_tokens + s.tokens,
           charged_nano = h.charged_nano + s.nano, ended_at = v_now
    from unnest(p_holds, p_attempts, p_tokens, p_nanos) s (hold_id, attempt, tokens, nano)
    where h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id;
    -- Only now, so that other calls on these balances wait as briefly as possible: the holds are locked already.
    perform ledger_lock(p_tenant, array_agg(d.s), array_agg(d.w)) from (select distinct u.s, u.w from unnest(f_scope, f_start) u (s, w)) d;
    -- What exceeds a hold is an entry of its own.
    perform ledger_post_many(p_tenant, array_agg(e.kind order by e.ord, e.part), array_agg(e.hold_id order by e.ord, e.part),
                             array_agg(e.attempt order by e.ord, e.part), array_agg(e.grp order by e.ord, e.part),
                             array_agg(e.spent order by e.ord, e.part), array_agg(e.spent_nano order by e.ord, e.part),
                             array_agg(e.held order by e.ord, e.part), array_agg(e.held_nano order by e.ord, e.part),
                             array_agg(e.over order by e.ord, e.part), array_agg(e.over_nano order by e.ord, e.part),
                             f_grp, f_scope, f_start, null, null, null, v_now)
    from unnest(p_holds, p_attempts, v_groups, p_tokens, p_nanos, v_held, v_held_nano, v_over, v_over_nano) with ordinality
         r (hold_id, attempt, grp, tokens, nano, held, held_nano, over, over_nano, ord)
    cross join lateral (
        select r.ord, 1 as part, 'settle' as kind, r.hold_id, r.attempt, r.grp, r.tokens - r.over as spent, r.nano - r.over_nano as spent_nano,
               -r.held as held, -r.held_nano as held_nano, 0::bigint as over, 0::bigint as over_nano
        union all
        select r.ord, 2, 'overrun', r.hold_id, r.attempt, r.grp, r.over, r.over_nano, 0, 0, r.over, r.over_nano
        where r.over > 0 or r.over_nano > 0) e;
    return query select s.* from unnest(p_holds, v_over, v_over_nano) s (hold_id, over, over_nano);
    if v_overrun then
        perform ledger_warn(p_tenant, array_agg(x.scope_id), array_agg(x.start), array_agg(p.policy), v_now)
        from (select distinct f.scope_id, f.start, h.task
              from unnest(p_holds, v_groups, v_over, v_over_nano) s (hold_id, grp, over, over_nano)
              cross join lateral (select t.task from holds t where t.tenant = p_tenant and t.hold_id = s.hold_id offset 0) h
              join unnest(f_grp, f_scope, f_start) f (grp, scope_id, start) on f.grp = s.grp
              where s.over > 0 or s.over_nano > 0) x
        cross join lateral ledger_policies_of(p_tenant, array[x.scope_id], array[x.task], p_defaults) p;
    end if;
end $$;


--
-- Name: ledger_settle_unpriced(text, bigint, integer, bigint, bigint, jsonb, bytea, boolean, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_settle_unpriced(p_tenant text, p_hold bigint, p_attempt integer, p_tokens bigint, p_nano bigint, p_usage jsonb, p_digest bytea, p_keep boolean, p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(outcome text, state text, tokens bigint, nano bigint, overrun_tokens bigint, overrun_nano bigint, late boolean, attempts integer, model text, scope text, limit_nano bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    h holds%rowtype;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if h.views is not null
       and not exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = p_attempt
                       and a.state = 'reported') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        return query select 'price_needed', h.state, 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, h.attempts, h.model, p.scope, p.limit_nano
                     from ledger_policies(p_tenant, h.scope_ids, h.task, p_defaults) p where p.limit_nano is not null and p.shadow = '{}'
                     order by p.ord limit 1;
        if found then
            return;
        end if;
    end if;
    return query select s.*, null::text, null::text, null::bigint
                 from ledger_settle(p_tenant, p_hold, p_attempt, p_tokens, p_nano, p_usage, p_digest, p_keep, p_defaults, p_now) s;
end $$;


--
-- Name: ledger_shared(bigint, bigint, text, bigint, bigint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_shared(p_tokens bigint, p_nano bigint, p_mode text, p_shared_tokens bigint, p_shared_nano bigint, p_shared_mode text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    select case when p_tokens is not distinct from p_shared_tokens and p_nano is not distinct from p_shared_nano and p_mode = p_shared_mode
           then '{}' else jsonb_build_object('shared', jsonb_build_object(
               'limit', jsonb_build_array(p_shared_tokens, p_shared_nano), 'mode', p_shared_mode)) end
$$;


--
-- Name: ledger_shared_limits(public.balances, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_shared_limits(b public.balances, p_defaults jsonb) RETURNS TABLE(tokens bigint, nano bigint, mode text)
    LANGUAGE sql STABLE
    AS $$
    select case when e.scope_id is null then b.limit_tokens else e.limit_tokens end,
           case when e.scope_id is null then b.limit_nano else e.limit_nano end, coalesce(e.mode, b.mode)
    from (select) one
    left join lateral (
        select p.* from ledger_policies(b.tenant, array[b.scope_id], '', p_defaults) p
        where exists (select from policies r join scopes s on s.tenant = r.tenant and s.scope_id = r.scope_id
                      where r.tenant = b.tenant and r.scope_id = b.scope_id and r.task <> '' and is_shared(s.kind))) e on true
$$;


--
-- Name: ledger_spent_at(text, bigint, timestamp with time zone, timestamp with time zone, timestamp with time zone, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_spent_at(p_tenant text, p_scope bigint, p_window timestamp with time zone, p_at timestamp with time zone, p_now timestamp with time zone, p_tokens bigint, p_nano bigint) RETURNS TABLE(tokens bigint, nano bigint)
    LANGUAGE sql STABLE
    AS $$
    select a.spent_tokens + div((coalesce(z.spent_tokens, p_tokens) - a.spent_tokens) * g.gone, g.whole)::bigint,
           a.spent_nano + div((coalesce(z.spent_nano, p_nano) - a.spent_nano) * g.gone, g.whole)::bigint
    from (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.tenant = p_tenant and s.scope_id = p_scope and s.window_start = p_window and s.at <= p_at order by s.at desc limit 1) a
    left join lateral (
          select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.tenant = p_tenant and s.scope_id = p_scope and s.window_start = p_window and s.at > p_at and s.at < p_now
          order by s.at limit 1) z on true
    cross join lateral (select extract(epoch from p_at - a.at) * 1000000 as gone,
        extract(epoch from coalesce(z.at, p_now) - a.at) * 1000000 as whole) g
$$;


--
-- Name: ledger_start_attempt(text, bigint, integer, jsonb, timestamp with time zone, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_start_attempt(p_tenant text, p_hold bigint, p_attempt integer, p_defaults jsonb, p_now timestamp with time zone, p_most_tokens bigint DEFAULT NULL::bigint, p_most_nano bigint DEFAULT NULL::bigint) RETURNS TABLE(outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamp with time zone, views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    h holds%rowtype;
    v_attempt integer;
    v_state text;
    t record;
begin
    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;
    if not found then
        return query select 'not_found', p_attempt, null::text, 0::bigint, 0::bigint, null::timestamptz, null::jsonb;
        return;
    end if;
    v_attempt := coalesce(p_attempt, h.attempts + 1);
    select a.state into v_state from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.attempt = v_attempt;
    if h.state <> 'held' then
        return query select 'closed', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state = 'started' then
        return query select 'started', v_attempt, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    elsif v_state is not null or v_attempt <> h.attempts + 1 then
        return query select 'out_of_order', h.attempts, h.state, h.tokens, h.nano, h.expires_at, null::jsonb;
        return;
    end if;
    -- Most attempts are the first of a full hold. They move no balance, so they wait for none.
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano
       or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold and a.state = 'started') then
        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);
        perform ledger_presume(p_tenant, p_hold, v_now);
        select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;
    end if;
    if h.tokens < h.asked_tokens or h.nano < h.asked_nano then
        select * into t from ledger_top_up(h, 'top_up', greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
            p_defaults, v_now);
        if not t.fits then
            return query select 'short', v_attempt, h.state, greatest(0, h.asked_tokens - h.tokens), greatest(0, h.asked_nano - h.nano),
                h.expires_at, t.views;
            return;
        end if;
    end if;
    insert into attempts (tenant, hold_id, attempt, state, most_tokens, most_nano, started_at)
    values (p_tenant, p_hold, v_attempt, 'started', p_most_tokens, p_most_nano, v_now);
    update holds x set attempts = v_attempt, expires_at = v_now + x.lease where x.tenant = p_tenant and x.hold_id = p_hold
    returning x.tokens, x.nano, x.expires_at into h.tokens, h.nano, h.expires_at;
    return query select 'started', v_attempt, 'held', h.tokens, h.nano, h.expires_at, null::jsonb;
end $$;


--
-- Name: ledger_start_made(text, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_start_made(p_tenant text, p_holds bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
    insert into attempts (tenant, hold_id, attempt, state, started_at)
    select h.tenant, h.hold_id, 1, 'started', h.created_at from holds h where h.tenant = p_tenant and h.hold_id = any (p_holds);
    update holds h set attempts = 1 where h.tenant = p_tenant and h.hold_id = any (p_holds);
$$;


--
-- Name: ledger_start_many(text, bigint[], integer[], bigint[], bigint[], jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_start_many(p_tenant text, p_holds bigint[], p_attempts integer[], p_mosts bigint[], p_most_nanos bigint[], p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(ord bigint, outcome text, attempt integer, state text, tokens bigint, nano bigint, expires_at timestamp with time zone, views jsonb)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
begin
    perform ledger_lock_holds(p_tenant, p_holds, false);
    if ledger_attempts_move(p_tenant, p_holds) then
        perform ledger_lock_holds(p_tenant, p_holds, true);
    end if;
    return query select x.ord, s.* from unnest(p_holds, p_attempts, p_mosts, p_most_nanos) with ordinality
                     x (hold_id, attempt, most_tokens, most_nano, ord)
                 cross join lateral ledger_start_attempt(p_tenant, x.hold_id, x.attempt, p_defaults, p_now, x.most_tokens, x.most_nano) s;
end $$;


--
-- Name: ledger_stored_fields(text, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_stored_fields(p_tenant text, p_scope bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    select jsonb_strip_nulls(to_jsonb(p) - array['tenant', 'scope_id', 'task', 'sources', 'updated_by', 'updated_at'])
    from policies p where p.tenant = p_tenant and p.scope_id = p_scope and p.task = ''
$$;


--
-- Name: ledger_sweep_grants(integer, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_sweep_grants(p_limit integer, p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
    v_now timestamptz := coalesce(p_now, clock_timestamp());
    v_tenant text;
    b record;
    v_count integer := 0;
begin
    for v_tenant in select distinct due.tenant
                    from (select g.tenant from grants g where g.ended_at is null and g.until <= v_now order by g.until limit p_limit) due
                    order by 1 loop
        for b in select x.scope_id, x.window_start
                 from (select distinct g.scope_id, g.window_start
                       from (select * from grants g where g.tenant = v_tenant and g.ended_at is null and g.until <= v_now
                             order by g.until limit greatest(0, p_limit - v_count)) g) due
                 join balances x on x.tenant = v_tenant and x.scope_id = due.scope_id and x.window_start = due.window_start
                 order by x.scope_id, x.window_start for update of x skip locked loop
            v_count := v_count + ledger_end_grants(v_tenant, array[b.scope_id], array[b.window_start], v_now);
        end loop;
    end loop;
    return v_count;
end $$;


--
-- Name: ledger_top_up(public.holds, text, bigint, bigint, jsonb, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_top_up(h public.holds, p_kind text, p_tokens bigint, p_nano bigint, p_defaults jsonb, p_now timestamp with time zone) RETURNS TABLE(fits boolean, views jsonb)
    LANGUAGE plpgsql
    AS $$
declare
    v_fits boolean;
    v_due boolean;
    v_limits bigint[];
    v_nanos bigint[];
    v_modes text[];
    v_views jsonb;
begin
    loop
        -- Waiting would not free what this hold itself holds, so the views list it separately.
        select not bool_or(v.closed or (v.bounded and ((v.room_tokens < p_tokens) is true or (v.room_nano < p_nano) is true))
                           or (p_nano is null and v.needs_price)),
               array_agg(v.limit_tokens order by v.ord), array_agg(v.limit_nano order by v.ord), array_agg(v.mode order by v.ord),
               jsonb_agg(v.shown || jsonb_build_object('own', jsonb_build_array(h.tokens, h.nano)) order by v.ord), bool_or(v.due)
        into v_fits, v_limits, v_nanos, v_modes, v_views, v_due
        from ledger_views(h.tenant, h.hold_id, h.scope_ids, h.window_starts, h.task, p_defaults, false, interval '0', p_now) v;
        exit when v_due is not true;
        perform ledger_catch_up(h.tenant, h.scope_ids, h.window_starts, p_defaults, p_now);
    end loop;
    if v_fits then
        p_nano := coalesce(p_nano, 0);
        perform ledger_countable(h.tenant, h.scope_ids, h.window_starts, p_tokens, p_nano);
        update holds t set tokens = t.tokens + p_tokens, nano = t.nano + p_nano where t.tenant = h.tenant and t.hold_id = h.hold_id;
        perform ledger_post(h.tenant, p_kind, h.scope_ids, h.window_starts, p_now, p_hold => h.hold_id,
                            p_held => row(p_tokens, p_nano)::amount,
                            p_limits => v_limits, p_nanos => v_nanos, p_modes => v_modes);
        perform ledger_warn(h.tenant, h.scope_ids, h.window_starts, array(select jsonb_array_elements(v_views)), p_now);
    end if;
    return query select v_fits, v_views;
end $$;


--
-- Name: ledger_views(text, bigint, bigint[], timestamp with time zone[], text, jsonb, boolean, interval, timestamp with time zone, integer[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_views(p_tenant text, p_hold bigint, p_scopes bigint[], p_windows timestamp with time zone[], p_task text, p_defaults jsonb, p_patient boolean, p_lapse interval, p_now timestamp with time zone, p_last_of integer[] DEFAULT NULL::integer[]) RETURNS TABLE(ord bigint, scope text, scope_id bigint, window_start timestamp with time zone, limit_tokens bigint, limit_nano bigint, mode text, closed boolean, queued boolean, bounded boolean, needs_price boolean, room_tokens bigint, room_nano bigint, later_tokens bigint, later_nano bigint, calm_tokens numeric, calm_nano numeric, starts timestamp with time zone, due boolean, shown jsonb)
    LANGUAGE sql STABLE
    AS $$
    select p.ord, p.scope, p.scope_id, b.window_start, p.limit_tokens, p.limit_nano, p.mode,
           p.frozen or (q.bounded and (p.limit_tokens + b.granted_tokens = 0) is true),
           q.queued, q.bounded, p.limit_nano is not null and p.shadow = '{}',
           ledger_room(p.limit_tokens + b.granted_tokens - b.spent_tokens - b.held_tokens, r.tokens, p_last_of[p.ord]),
           case when p.limit_nano is not null then greatest(0,
               ledger_room(p.limit_nano + b.granted_nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])) end,
           ledger_room(p.limit_tokens + b.granted_tokens - b.spent_tokens, r.tokens, p_last_of[p.ord]),
           case when p.limit_nano is not null then greatest(0,
               ledger_room(p.limit_nano + b.granted_nano - b.spent_nano, r.nano, p_last_of[p.ord])) end,
           p.warn_at[1] * (p.shared_tokens + b.granted_tokens) - b.spent_tokens - b.held_tokens,
           p.warn_at[1] * (p.shared_nano + b.granted_nano) - b.spent_nano - b.held_nano,
           ledger_window_start(p.win, p.zone, p_now), ledger_due(b, p_now),
           jsonb_build_object(
               'scope', p.scope, 'mode', p.mode, 'limit', jsonb_build_array(p.limit_tokens, p.limit_nano),
               'spent', jsonb_build_array(b.spent_tokens, b.spent_nano), 'held', jsonb_build_array(b.held_tokens, b.held_nano),
               'granted', jsonb_build_array(b.granted_tokens, b.granted_nano),
               'window_start', calendar_start(b.window_start), 'frozen', p.frozen, 'queued', q.queued,
               'warn_at', p.warn_at, 'backpressure', p.backpressure)
           || ledger_shared(p.limit_tokens, p.limit_nano, p.mode, p.shared_tokens, p.shared_nano, p.shared_mode) || p.shadow || p.ladder
           || ledger_reserved(r.tokens, r.nano, p_last_of[p.ord])
    -- As a subquery of its own: merged into this one, each of its columns would be computed wherever it is named.
    from (select * from ledger_policies(p_tenant, p_scopes, p_task, p_defaults) offset 0) p
    cross join lateral (select ledger_reserve(p.limit_tokens, p.mode, p.last_answer) as tokens,
                               ledger_reserve(p.limit_nano, p.mode, p.last_answer) as nano offset 0) r
    -- By its key, whatever the planner assumes: see `ledger_policies`.
    cross join lateral (select * from balances t
                        where t.tenant = p_tenant and t.scope_id = p.scope_id and t.window_start = p_windows[p.ord] offset 0) b
    cross join lateral (select p.mode <> 'soft' and (p.limit_tokens is not null or p.limit_nano is not null) as bounded) l
    cross join lateral (select l.bounded, l.bounded and p_patient and exists (
        select 1 from waiters w
        where w.tenant = p_tenant and w.scope_id = p.scope_id and w.hold_id <> p_hold and w.asks >= 2 and w.last_asked > p_now - p_lapse
          and w.since < coalesce((select min(m.since) from waiters m
                                  where m.tenant = p_tenant and m.hold_id = p_hold and m.last_asked > p_now - p_lapse), p_now)
    ) as queued offset 0) q
$$;


--
-- Name: ledger_warn(text, bigint[], timestamp with time zone[], jsonb[], timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_warn(p_tenant text, p_scopes bigint[], p_windows timestamp with time zone[], p_policies jsonb[], p_now timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET enable_seqscan TO 'off'
    AS $$
    with reached as (
        select b.*, p.policy, t.threshold::numeric as threshold
        from unnest(p_scopes, p_windows, p_policies) x (scope_id, window_start, policy)
        cross join lateral (select x.scope_id, x.window_start, x.policy || coalesce(x.policy -> 'shared', '{}') as policy) p
        cross join lateral (select * from balances t
                            where t.tenant = p_tenant and t.scope_id = p.scope_id and t.window_start = p.window_start offset 0) b
        cross join lateral jsonb_array_elements_text(p.policy -> 'warn_at') t (threshold)
        where t.threshold::numeric <> all (b.warned_at) and not p.policy ? 'shadow'
          and ((b.spent_tokens + b.held_tokens >= t.threshold::numeric * ((p.policy -> 'limit' ->> 0)::bigint + b.granted_tokens)) is true
            or (b.spent_nano + b.held_nano >= t.threshold::numeric * ((p.policy -> 'limit' ->> 1)::bigint + b.granted_nano)) is true)
    ), fired as (
        insert into events (tenant, at, kind, scope, window_start, threshold, data)
        select r.tenant, p_now, 'threshold', r.policy ->> 'scope',
               coalesce(p_now - rolling_length(r.window_start), r.window_start), r.threshold, jsonb_build_object(
                   'mode', r.policy -> 'mode',
                   'limit', event_amount((r.policy -> 'limit' ->> 0)::bigint, (r.policy -> 'limit' ->> 1)::bigint),
                   'granted', event_amount(r.granted_tokens, r.granted_nano),
                   'spent', event_amount(r.spent_tokens, r.spent_nano), 'held', event_amount(r.held_tokens, r.held_nano))
        from reached r order by r.scope_id, r.threshold
        on conflict do nothing
    )
    update balances b set warned_at = b.warned_at || r.thresholds
    from (select scope_id, window_start, array_agg(threshold) as thresholds from reached group by 1, 2) r
    where b.tenant = p_tenant and b.scope_id = r.scope_id and b.window_start = r.window_start
$$;


--
-- Name: ledger_window_end(text, text, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_window_end(p_window text, p_zone text, p_start timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    select case when calendar_start(p_start) is null then null when p_window = 'hour' then p_start + interval '1 hour'
           else ledger_window_start(p_window, p_zone, p_start + case p_window when 'day' then interval '36 hours' when 'week' then interval '10 days'
                                                             else interval '32 days' end) end
$$;


--
-- Name: ledger_window_start(text, text, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_window_start(p_window text, p_zone text, p_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$
declare
    v_midnight timestamp;
    v_start timestamptz;
    v_first timestamptz;
begin
    if p_window = 'lifetime' then
        return '-infinity';
    elsif left(p_window, 1) between '1' and '9' then
        return timestamptz '0100-01-01 00:00:00+00'
             + make_interval(hours => left(p_window, -1)::integer * case right(p_window, 1) when 'd' then 24 else 1 end);
    elsif p_window = 'hour' then
        return p_at - (p_at at time zone p_zone - date_trunc('hour', p_at at time zone p_zone));
    end if;
    v_midnight := date_trunc(p_window, p_at at time zone p_zone);
    v_start := v_midnight at time zone p_zone;
    -- The same midnight at the offset of the day before; of two midnights Postgres returns the later one.
    v_first := v_start - ((v_start - interval '24 hours') at time zone p_zone - (v_midnight - interval '24 hours'));
    return case when v_first < v_start and v_first at time zone p_zone = v_midnight then v_first else v_start end;
end $$;


--
-- Name: merge_templates(jsonb, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.merge_templates(p_templates jsonb, p_kind text, p_id text, OUT fields jsonb, OUT sources jsonb) RETURNS record
    LANGUAGE sql IMMUTABLE
    AS $$
    with matching as materialized (
        select t.key as pattern, t.value as fields, template_rank(t.key) as rank
        from jsonb_each(p_templates) t where template_matches(t.key, p_kind, p_id)
    )
    select jsonb_object_agg(e.key, e.value order by m.rank, m.pattern), jsonb_object_agg(e.key, m.pattern order by m.rank, m.pattern)
    from matching m cross join lateral jsonb_each(m.fields) e
    where not (m.fields @> '{"shadow": true}'
               and exists (select from matching u where binds(u.fields) and (u.rank, u.pattern) > (m.rank, m.pattern)))
$$;


--
-- Name: merged_templates(text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.merged_templates(p_tenant text, p_kind text, p_id text, OUT fields jsonb, OUT sources jsonb) RETURNS record
    LANGUAGE sql STABLE
    AS $$
    select m.fields, m.sources
    from (select jsonb_object_agg(t.pattern, t.fields) as templates from policy_templates t
          where t.tenant = p_tenant and template_matches(t.pattern, p_kind, p_id)) t
    cross join lateral merge_templates(coalesce(t.templates, '{}'), p_kind, p_id) m
$$;


--
-- Name: number_events(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.number_events(p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: pacing_wait(text[], double precision[], double precision[], double precision[], double precision[], bigint, double precision, double precision, text, text, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.pacing_wait(p_names text[], p_request_s double precision[], p_request_burst_s double precision[], p_token_s double precision[], p_token_burst_s double precision[], p_tokens bigint, p_slack_s double precision, p_most_s double precision, p_tenant text, p_key text, p_now timestamp with time zone) RETURNS double precision
    LANGUAGE plpgsql
    AS $$
declare
    v_now timestamptz;
    v_paused timestamptz;
    v_slot timestamptz;
    v_start timestamptz;
begin
    insert into pacing (name) select unnest(p_names) on conflict do nothing;
    perform from pacing p where p.name = any (p_names) order by p.name for update;
    v_now := coalesce(p_now, clock_timestamp());
    select max(p.paused_until), greatest(v_now, max(p.paused_until),
               max(case when l.request_s is not null then p.requests_at - make_interval(secs => l.request_burst_s) end),
               max(case when l.token_s is not null then p.tokens_at - make_interval(secs => l.token_burst_s) end))
    into v_paused, v_start
    from unnest(p_names, p_request_s, p_request_burst_s, p_token_s, p_token_burst_s)
           as l (name, request_s, request_burst_s, token_s, token_burst_s)
    join pacing p using (name);
    select c.slot_at into v_slot from calls c where c.tenant = p_tenant and c.key = p_key;
    if v_now <= v_slot + make_interval(secs => p_slack_s) and v_paused <= greatest(v_slot, v_now) then
        v_start := greatest(v_now, v_slot);
    elsif v_start > v_now + make_interval(secs => p_most_s) then
        return null;
    else
        update pacing p
        set requests_at = case when l.request_s is null then p.requests_at
                               else greatest(p.requests_at, v_start) + make_interval(secs => l.request_s) end,
            tokens_at = case when l.token_s is null then p.tokens_at
                             else greatest(p.tokens_at, v_start) + make_interval(secs => l.token_s * p_tokens) end
        from unnest(p_names, p_request_s, p_token_s) as l (name, request_s, token_s)
        where p.name = l.name;
        update calls c set paced_ms = c.paced_ms + extract(epoch from v_start - v_now) * 1000
        where c.tenant = p_tenant and c.key = p_key and v_start > v_now;
    end if;
    update calls c set slot_at = nullif(v_start, v_now)
    where c.tenant = p_tenant and c.key = p_key and c.slot_at is distinct from nullif(v_start, v_now);
    return extract(epoch from v_start - v_now);
end $$;


--
-- Name: put_event(text, text, text, jsonb, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.put_event(p_tenant text, p_kind text, p_scope text, p_data jsonb, p_at timestamp with time zone DEFAULT clock_timestamp(), p_window_start timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$
    insert into events (tenant, at, kind, scope, window_start, data)
    values (p_tenant, p_at, p_kind, p_scope, p_window_start, p_data)
$$;


--
-- Name: requesting_task(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.requesting_task(p_kind text, p_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE p_kind WHEN 'task'::text THEN p_id WHEN 'agent'::text THEN split_part(p_id, '/'::text, 1) ELSE NULL::text END;


--
-- Name: rolling_length(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.rolling_length(p_start timestamp with time zone) RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((p_start > '-infinity'::timestamp with time zone) AND (p_start < '1000-01-01 00:00:00+00'::timestamp with time zone)) THEN make_interval(secs => (EXTRACT(epoch FROM (p_start - '0100-01-01 00:00:00+00'::timestamp with time zone)))::double precision) ELSE NULL::interval END;


--
-- Name: messages; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.messages (
    tenant text NOT NULL,
    session_id text NOT NULL,
    seq bigint NOT NULL,
    thread text DEFAULT ''::text NOT NULL,
    role text NOT NULL,
    body json NOT NULL,
    call_ids text[] DEFAULT '{}'::text[] NOT NULL,
    tool_call_id text,
    pinned boolean DEFAULT false NOT NULL,
    digest text NOT NULL,
    tokens jsonb DEFAULT '{}'::jsonb NOT NULL,
    characters integer DEFAULT 0 NOT NULL,
    origin text NOT NULL,
    part integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT messages_seq_check CHECK ((seq >= 1))
);


--
-- Name: session_message(text, text, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.session_message(p_tenant text, p_session_id text, p_seq bigint) RETURNS SETOF public.messages
    LANGUAGE sql STABLE
    AS $$
    select * from messages where tenant = p_tenant and session_id = p_session_id and seq >= p_seq and seq <= p_seq
    order by seq limit 1
$$;


--
-- Name: template_lock(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.template_lock(p_tenant text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(('templates of '::text || p_tenant), (0)::bigint);


--
-- Name: template_matches(text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.template_matches(p_pattern text, p_kind text, p_id text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((public.kind_of(p_pattern) = p_kind) AND (split_part(p_id, '@'::text, 2) = split_part(p_pattern, '@'::text, 2)) AND (p_id ~~ replace(replace(public.id_of(p_pattern), '_'::text, '\_'::text), '*'::text, '%'::text)));


--
-- Name: template_rank(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.template_rank(p_pattern text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN length(replace(p_pattern, '*'::text, ''::text));


--
-- Name: thread_excerpt(text, text, text, text, bigint, text, bigint, integer, integer, bigint, bigint, bigint, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.thread_excerpt(p_tenant text, p_session_id text, p_thread text, p_key text, p_upto bigint, p_vocabulary text, p_tokens bigint, p_primers integer, p_newest integer, p_examined bigint, p_first bigint, p_last bigint, p_passed bigint[]) RETURNS TABLE(seq bigint, role text, tokens integer, call_ids text[], tool_call_id text, characters integer, pinned boolean, head bigint, tail bigint)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
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


--
-- Name: agents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.agents (
    tenant text NOT NULL,
    task_id text NOT NULL,
    agent_id text NOT NULL,
    "position" integer NOT NULL,
    status text DEFAULT 'waiting'::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    scope text DEFAULT ''::text NOT NULL,
    shortfall jsonb,
    reply_seq bigint,
    ended_at timestamp with time zone,
    CONSTRAINT agents_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'running'::text, 'paused'::text, 'waiting_approval'::text, 'completed'::text, 'refused'::text, 'failed'::text, 'cancelled'::text, 'skipped'::text])))
);


--
-- Name: alembic_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: answers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.answers (
    tenant text NOT NULL,
    key_id text NOT NULL,
    key_digest bytea NOT NULL,
    digest bytea NOT NULL,
    answer jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: approval_waiters; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.approval_waiters (
    tenant text NOT NULL,
    approval_id text NOT NULL,
    key text NOT NULL,
    task_id text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    submitter text,
    workflow_id text,
    tokens bigint NOT NULL,
    nano bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    left_at timestamp with time zone,
    path text[] DEFAULT '{}'::text[] NOT NULL,
    submitted_by text,
    vouched boolean DEFAULT false NOT NULL
);
ALTER TABLE ONLY public.approval_waiters ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: approvals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.approvals (
    tenant text NOT NULL,
    approval_id text NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    task text DEFAULT ''::text NOT NULL,
    state text NOT NULL,
    asked_tokens bigint NOT NULL,
    asked_nano bigint NOT NULL,
    rules jsonb NOT NULL,
    granted_tokens bigint DEFAULT 0 NOT NULL,
    granted_nano bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    reminded_at timestamp with time zone,
    escalated_at timestamp with time zone,
    CONSTRAINT approvals_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'approved'::text, 'denied'::text, 'expired'::text, 'withdrawn'::text])))
);
ALTER TABLE ONLY public.approvals ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: decisions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.decisions (
    tenant text NOT NULL,
    decision_id text NOT NULL,
    approval_id text NOT NULL,
    digest bytea NOT NULL,
    choice text NOT NULL,
    approver text NOT NULL,
    identity text NOT NULL,
    grant_tokens bigint NOT NULL,
    grant_nano_usd bigint NOT NULL,
    until timestamp with time zone,
    note text,
    ticket_url text,
    at timestamp with time zone NOT NULL,
    answer jsonb NOT NULL,
    CONSTRAINT decisions_choice_check CHECK ((choice = ANY (ARRAY['approve'::text, 'deny'::text]))),
    CONSTRAINT decisions_identity_check CHECK ((identity = ANY (ARRAY['key'::text, 'asserted'::text, 'sweeper'::text])))
);
ALTER TABLE ONLY public.decisions ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: scopes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scopes (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT scopes_kind_check CHECK ((public.kind_rank(kind) IS NOT NULL))
);
ALTER TABLE ONLY public.scopes ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: approval_calls; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.approval_calls AS
 SELECT w.tenant,
    w.task_id,
    w.agent_id,
    w.key,
    w.since,
    w.left_at,
    w.tokens,
    a.approval_id,
    a.state,
    a.created_at,
    a.decided_at,
    ((s.kind || ':'::text) || s.id) AS scope,
    a.asked_tokens,
    a.asked_nano,
    a.granted_tokens,
    a.granted_nano,
    ( SELECT d.approver
           FROM public.decisions d
          WHERE ((d.tenant = a.tenant) AND (d.approval_id = a.approval_id))
          ORDER BY d.at DESC
         LIMIT 1) AS approver
   FROM ((public.approval_waiters w
     JOIN public.approvals a ON (((a.tenant = w.tenant) AND (a.approval_id = w.approval_id))))
     JOIN public.scopes s ON (((s.tenant = a.tenant) AND (s.scope_id = a.scope_id))));


--
-- Name: attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.attempts (
    tenant text NOT NULL,
    hold_id bigint NOT NULL,
    attempt integer NOT NULL,
    state text NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    nano bigint DEFAULT 0 NOT NULL,
    most_tokens bigint,
    most_nano bigint,
    overrun_tokens bigint DEFAULT 0 NOT NULL,
    overrun_nano bigint DEFAULT 0 NOT NULL,
    late boolean DEFAULT false NOT NULL,
    usage jsonb,
    digest bytea,
    started_at timestamp with time zone NOT NULL,
    reported_at timestamp with time zone,
    CONSTRAINT attempts_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT attempts_state_check CHECK ((state = ANY (ARRAY['started'::text, 'presumed'::text, 'reported'::text])))
);
ALTER TABLE ONLY public.attempts ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: attempt_facts; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.attempt_facts AS
 SELECT h.tenant,
    h.key,
    a.hold_id,
    a.attempt,
    a.state,
    a.tokens,
    a.nano,
    a.overrun_tokens,
    a.overrun_nano,
    a.late,
    a.usage,
    a.started_at,
    a.reported_at
   FROM (public.attempts a
     JOIN public.holds h ON (((h.tenant = a.tenant) AND (h.hold_id = a.hold_id))));


--
-- Name: audit_result; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit_result (
    one boolean DEFAULT true NOT NULL,
    claimed_until timestamp with time zone,
    ended_at timestamp with time zone,
    seconds double precision,
    by text,
    checked jsonb,
    differences bigint,
    examples jsonb,
    CONSTRAINT audit_result_one_check CHECK (one)
);


--
-- Name: balance_moves; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.balance_moves AS
 SELECT p.tenant,
    m.number,
    m.entry_id,
    p.at,
    p.scope_id,
    p.window_start,
    m.seq,
    m.kind,
    m.hold_id,
    m.attempt,
    m.ref,
    m.d_spent_tokens,
    m.d_held_tokens,
    m.d_granted_tokens,
    m.d_overrun_tokens,
    m.d_spent_nano,
    m.d_held_nano,
    m.d_granted_nano,
    m.d_overrun_nano,
    m.gate_tokens,
    m.gate_nano,
    m.gate_mode,
    p.last_seq
   FROM (public.postings p
     CROSS JOIN LATERAL ( SELECT x.tenant,
            x.number,
            x.entry_id,
            x.at,
            x.scope_id,
            x.window_start,
            x.seq,
            x.kind,
            x.hold_id,
            x.attempt,
            x.ref,
            x.d_spent_tokens,
            x.d_held_tokens,
            x.d_granted_tokens,
            x.d_overrun_tokens,
            x.d_spent_nano,
            x.d_held_nano,
            x.d_granted_nano,
            x.d_overrun_nano,
            x.gate_tokens,
            x.gate_nano,
            x.gate_mode
           FROM public.moves x
          WHERE ((x.tenant = p.tenant) AND (x.scope_id = p.scope_id) AND (x.window_start = p.window_start) AND ((x.number >= p.first_number) AND (x.number <= p.last_number)))
         OFFSET 0) m);


--
-- Name: balance_samples; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.balance_samples (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    at timestamp with time zone NOT NULL,
    spent_tokens bigint NOT NULL,
    spent_nano bigint NOT NULL
);
ALTER TABLE ONLY public.balance_samples ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: balance_sampling; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.balance_sampling (
    one boolean DEFAULT true NOT NULL,
    sampled_at timestamp with time zone NOT NULL,
    CONSTRAINT balance_sampling_one_check CHECK (one)
);


--
-- Name: browser_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.browser_sessions (
    session_id text NOT NULL,
    digest bytea NOT NULL,
    key_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);


--
-- Name: calls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.calls (
    tenant text NOT NULL,
    key text NOT NULL,
    task_id text NOT NULL,
    agent_id text NOT NULL,
    turn integer NOT NULL,
    model text NOT NULL,
    plan jsonb NOT NULL,
    output_cap bigint NOT NULL,
    learned_output bigint,
    request_cap bigint,
    tokens bigint NOT NULL,
    nano bigint NOT NULL,
    least_tokens bigint NOT NULL,
    least_nano bigint NOT NULL,
    priced boolean DEFAULT true NOT NULL,
    last boolean DEFAULT false NOT NULL,
    ladder jsonb DEFAULT '[]'::jsonb NOT NULL,
    hold_id bigint,
    delay_ms integer DEFAULT 0 NOT NULL,
    slowed_by text DEFAULT ''::text NOT NULL,
    slowed_ratio double precision,
    slot_at timestamp with time zone,
    paced_ms bigint DEFAULT 0 NOT NULL,
    refusal jsonb,
    would text DEFAULT ''::text NOT NULL,
    reply_seq bigint,
    usage jsonb,
    output_capped boolean DEFAULT false NOT NULL,
    rejected text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: call_facts; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.call_facts AS
 SELECT tenant,
    task_id,
    agent_id,
    turn,
    key,
    delay_ms,
    reply_seq,
    plan
   FROM public.calls;


--
-- Name: call_failures; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.call_failures (
    tenant text NOT NULL,
    key text NOT NULL,
    attempt integer NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes (
    tenant text NOT NULL,
    change_id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    by text NOT NULL,
    key_id text,
    action text NOT NULL,
    target text NOT NULL,
    before jsonb,
    after jsonb
);
ALTER TABLE ONLY public.changes ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: changes_change_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.changes ALTER COLUMN change_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.changes_change_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: checkpoint_horizon; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkpoint_horizon (
    one boolean DEFAULT true NOT NULL,
    last_number bigint NOT NULL,
    xid xid8 NOT NULL,
    CONSTRAINT checkpoint_horizon_one_check CHECK (one)
);


--
-- Name: checkpoints_checkpoint_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.checkpoints ALTER COLUMN checkpoint_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.checkpoints_checkpoint_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: compression_health; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.compression_health (
    tenant text NOT NULL,
    session_id text NOT NULL,
    thread text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    cooling_until timestamp with time zone,
    fruitless_seq bigint DEFAULT 0 NOT NULL
);


--
-- Name: compressions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.compressions (
    tenant text NOT NULL,
    session_id text NOT NULL,
    thread text NOT NULL,
    key text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: counted_moves; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.counted_moves AS
 SELECT m.tenant,
    m.number,
    m.entry_id,
    m.at,
    m.scope_id,
    m.window_start,
    m.seq,
    m.kind,
    m.hold_id,
    m.attempt,
    m.d_spent_tokens,
    m.d_held_tokens,
    m.d_granted_tokens,
    m.d_overrun_tokens,
    m.d_spent_nano,
    m.d_held_nano,
    m.d_granted_nano,
    m.d_overrun_nano,
    m.gate_tokens,
    m.gate_nano,
    m.gate_mode
   FROM public.moves m
UNION ALL
 SELECT c.tenant,
    c.number,
    NULL::bigint AS entry_id,
    c.at,
    c.scope_id,
    c.window_start,
    c.seq,
    'closing'::text AS kind,
    NULL::bigint AS hold_id,
    NULL::integer AS attempt,
    c.spent_tokens AS d_spent_tokens,
    c.held_tokens AS d_held_tokens,
    c.granted_tokens AS d_granted_tokens,
    c.overrun_tokens AS d_overrun_tokens,
    c.spent_nano AS d_spent_nano,
    c.held_nano AS d_held_nano,
    c.granted_nano AS d_granted_nano,
    c.overrun_nano AS d_overrun_nano,
    NULL::bigint AS gate_tokens,
    NULL::bigint AS gate_nano,
    NULL::text AS gate_mode
   FROM public.closings c;


--
-- Name: deleted_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deleted_sessions (
    tenant text NOT NULL,
    session_id text NOT NULL,
    user_id text,
    messages bigint NOT NULL,
    tokens bigint NOT NULL,
    summaries bigint NOT NULL,
    pins bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    active_on date NOT NULL,
    deleted_by text NOT NULL,
    reason text NOT NULL,
    deleted_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT deleted_sessions_reason_check CHECK ((reason = ANY (ARRAY['request'::text, 'retention'::text])))
);


--
-- Name: deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deliveries (
    delivery_id bigint NOT NULL,
    webhook_id text NOT NULL,
    tenant text NOT NULL,
    "position" bigint,
    message_id text NOT NULL,
    payload jsonb NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    status integer,
    error text,
    duration_ms integer,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
);


--
-- Name: deliveries_delivery_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.deliveries ALTER COLUMN delivery_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.deliveries_delivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: entries; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.entries AS
 SELECT m.tenant,
    m.number,
    m.entry_id,
    m.at,
    m.scope_id,
    m.window_start,
    m.seq,
    m.kind,
    m.hold_id,
    m.attempt,
    m.ref,
    m.d_spent_tokens,
    m.d_held_tokens,
    m.d_granted_tokens,
    m.d_overrun_tokens,
    m.d_spent_nano,
    m.d_held_nano,
    m.d_granted_nano,
    m.d_overrun_nano,
    m.gate_tokens,
    m.gate_nano,
    m.gate_mode,
    a.spent_tokens,
    a.held_tokens,
    a.granted_tokens,
    a.overrun_tokens,
    a.spent_nano,
    a.held_nano,
    a.granted_nano,
    a.overrun_nano,
    l.limit_tokens,
    l.limit_nano,
    l.mode
   FROM (((public.moves m
     CROSS JOIN LATERAL public.ledger_posting(m.tenant, m.scope_id, m.window_start, m.seq) p(tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late, spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode))
     CROSS JOIN LATERAL public.ledger_after(p.*, m.number) a(spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano))
     CROSS JOIN LATERAL public.ledger_limits(m.gate_tokens, m.gate_nano, m.gate_mode, p.*) l(limit_tokens, limit_nano, mode));


--
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    tenant text NOT NULL,
    event_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    scope text,
    window_start timestamp with time zone,
    threshold numeric,
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    "position" bigint
);
ALTER TABLE ONLY public.events ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: event_positions; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.event_positions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: event_positions; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.event_positions OWNED BY public.events."position";


--
-- Name: events_event_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.events ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: fact_progress; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.fact_progress (
    tenant text NOT NULL,
    session_id text NOT NULL,
    thread text NOT NULL,
    last_seq bigint NOT NULL,
    rules integer NOT NULL
);


--
-- Name: facts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.facts (
    tenant text NOT NULL,
    session_id text NOT NULL,
    seq bigint NOT NULL,
    thread text DEFAULT ''::text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    relation text NOT NULL,
    value text NOT NULL,
    text text NOT NULL,
    speaker text NOT NULL,
    superseded_by bigint
);


--
-- Name: forgotten_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.forgotten_events (
    tenant text NOT NULL,
    "position" bigint NOT NULL
);
ALTER TABLE ONLY public.forgotten_events ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: grants; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.grants (
    tenant text NOT NULL,
    grant_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    tokens bigint NOT NULL,
    nano bigint NOT NULL,
    until timestamp with time zone,
    approval_id text,
    decision_id text,
    granted_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    rolled_over boolean DEFAULT false NOT NULL,
    CONSTRAINT grants_nano_check CHECK ((nano >= 0)),
    CONSTRAINT grants_tokens_check CHECK ((tokens >= 0))
);
ALTER TABLE ONLY public.grants ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: grants_grant_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.grants ALTER COLUMN grant_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.grants_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: hold_events; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.hold_events AS
 SELECT tenant,
    kind,
    hold_id,
    at,
    d_held_tokens AS tokens
   FROM public.journal
  WHERE (hold_id IS NOT NULL);


--
-- Name: hold_facts; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.hold_facts AS
 SELECT tenant,
    hold_id,
    key,
    task,
    model,
    path,
    path[cardinality(path)] AS payer,
    state,
    tokens,
    nano,
    attempts,
    charged_tokens,
    charged_nano,
    created_at,
    expires_at,
    ended_at
   FROM public.holds;


--
-- Name: hold_faults; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.hold_faults AS
 SELECT tenant,
    kind,
    hold_id,
    at
   FROM public.journal
  WHERE (kind = ANY (ARRAY['presumed'::text, 'late'::text, 'expire'::text]));


--
-- Name: hold_moves; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.hold_moves AS
 SELECT j.tenant,
    j.hold_id,
    j.kind,
    j.attempt,
    (1)::bigint AS events,
    j.d_spent_tokens,
    j.d_held_tokens,
    j.d_overrun_tokens,
    j.d_spent_nano,
    j.d_held_nano,
    j.d_overrun_nano
   FROM public.journal j
  WHERE (j.hold_id IS NOT NULL)
UNION ALL
 SELECT c.tenant,
    c.hold_id,
    c.kind,
    NULLIF(c.attempt, 0) AS attempt,
    c.events,
    c.d_spent_tokens,
    c.d_held_tokens,
    c.d_overrun_tokens,
    c.d_spent_nano,
    c.d_held_nano,
    c.d_overrun_nano
   FROM public.carried_events c;


--
-- Name: holds_hold_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.holds ALTER COLUMN hold_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.holds_hold_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: journal_number_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.journal ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.journal_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.keys (
    key_id text NOT NULL,
    tenant text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    digest bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_by text,
    revoked_at timestamp with time zone,
    expires_at timestamp with time zone,
    rate_limit_per_s integer,
    tags jsonb DEFAULT '{}'::jsonb NOT NULL,
    path text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT keys_check CHECK (((revoked_at IS NULL) = (revoked_by IS NULL))),
    CONSTRAINT keys_rate_limit_per_s_check CHECK ((rate_limit_per_s > 0)),
    CONSTRAINT keys_role_check CHECK ((role = ANY (ARRAY['agent'::text, 'viewer'::text, 'approver'::text, 'deputy'::text, 'admin'::text])))
);


--
-- Name: memory_postings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.memory_postings (
    tenant text NOT NULL,
    session_id text NOT NULL,
    term text NOT NULL,
    thread text NOT NULL,
    block integer NOT NULL,
    postings bytea NOT NULL
);
ALTER TABLE ONLY public.memory_postings ALTER COLUMN postings SET STORAGE EXTERNAL;


--
-- Name: memory_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.memory_sessions (
    tenant text NOT NULL,
    session_id text NOT NULL,
    last_seq bigint DEFAULT 0 NOT NULL,
    embedded_seq bigint DEFAULT 0 NOT NULL,
    embedded_model text
);


--
-- Name: memory_threads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.memory_threads (
    tenant text NOT NULL,
    session_id text NOT NULL,
    thread text NOT NULL,
    turns integer NOT NULL,
    terms bigint NOT NULL,
    size bigint NOT NULL,
    user_size bigint NOT NULL,
    tool_messages bigint NOT NULL
);


--
-- Name: memory_turns; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.memory_turns (
    tenant text NOT NULL,
    session_id text NOT NULL,
    thread text NOT NULL,
    block integer NOT NULL,
    last_seq bigint NOT NULL,
    seqs bytea NOT NULL,
    flags bytea NOT NULL
);
ALTER TABLE ONLY public.memory_turns ALTER COLUMN seqs SET STORAGE EXTERNAL;


--
-- Name: memory_vectors; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.memory_vectors (
    tenant text NOT NULL,
    session_id text NOT NULL,
    seq bigint NOT NULL,
    model text NOT NULL,
    embedding public.vector NOT NULL
);


--
-- Name: outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox (
    tenant text NOT NULL,
    outbox_id bigint NOT NULL,
    workflow_id text NOT NULL,
    signal text NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    sent_at timestamp with time zone
);
ALTER TABLE ONLY public.outbox ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: outbox_outbox_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.outbox ALTER COLUMN outbox_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: pacing; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pacing (
    name text NOT NULL,
    requests_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    tokens_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    paused_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL
);


--
-- Name: pins; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pins (
    pin_id bigint NOT NULL,
    tenant text NOT NULL,
    session_id text NOT NULL,
    seq bigint NOT NULL,
    author text NOT NULL,
    reason text,
    pinned_at timestamp with time zone DEFAULT now() NOT NULL,
    until timestamp with time zone,
    ended_by text,
    ended_at timestamp with time zone,
    CONSTRAINT pins_check CHECK (((ended_at IS NULL) = (ended_by IS NULL)))
);


--
-- Name: pin_marks; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.pin_marks AS
 SELECT tenant,
    session_id,
    seq,
    bool_or(((ended_at IS NULL) AND COALESCE((until > now()), true))) AS pinned
   FROM public.pins
  GROUP BY tenant, session_id, seq;


--
-- Name: pins_pin_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.pins ALTER COLUMN pin_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.pins_pin_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: placeholders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.placeholders (
    tenant text NOT NULL,
    session_id text NOT NULL,
    label text NOT NULL,
    number integer NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT placeholders_number_check CHECK ((number >= 1))
);


--
-- Name: policies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.policies (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    task text DEFAULT ''::text NOT NULL,
    limit_tokens bigint,
    limit_nano_usd bigint,
    mode text,
    "window" text,
    timezone text,
    warn_at numeric[],
    backpressure jsonb,
    approval jsonb,
    frozen boolean,
    shadow boolean,
    learned_holds numeric,
    last_answer numeric,
    rollover numeric,
    ladder jsonb,
    sources jsonb DEFAULT '{}'::jsonb NOT NULL,
    updated_by text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT policies_last_answer_check CHECK (((last_answer >= (0)::numeric) AND (last_answer < (1)::numeric))),
    CONSTRAINT policies_learned_holds_check CHECK (((learned_holds >= (0)::numeric) AND (learned_holds < (1)::numeric))),
    CONSTRAINT policies_limit_nano_usd_check CHECK ((limit_nano_usd >= 0)),
    CONSTRAINT policies_limit_tokens_check CHECK ((limit_tokens >= 0)),
    CONSTRAINT policies_mode_check CHECK ((mode = ANY (ARRAY['hard'::text, 'soft'::text, 'approval'::text]))),
    CONSTRAINT policies_rollover_check CHECK (((rollover > (0)::numeric) AND (rollover <= (1)::numeric))),
    CONSTRAINT policies_window_check CHECK (public.is_window("window"))
);
ALTER TABLE ONLY public.policies ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: policy_templates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.policy_templates (
    tenant text NOT NULL,
    pattern text NOT NULL,
    fields jsonb NOT NULL,
    updated_by text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT policy_templates_pattern_check CHECK (((public.kind_rank(public.kind_of(pattern)) IS NOT NULL) AND (pattern ~~ '%*%'::text)))
);
ALTER TABLE ONLY public.policy_templates ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: redaction_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.redaction_keys (
    tenant text NOT NULL,
    session_id text NOT NULL,
    key bytea NOT NULL
);


--
-- Name: reply_outputs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reply_outputs (
    tenant text NOT NULL,
    agent_id text NOT NULL,
    model text NOT NULL,
    outputs bigint[] NOT NULL
)
WITH (fillfactor='60');


--
-- Name: retention; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.retention (
    tenant text NOT NULL,
    version integer NOT NULL,
    days integer,
    changed_by text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT retention_days_check CHECK ((days >= 1)),
    CONSTRAINT retention_version_check CHECK ((version >= 1))
);


--
-- Name: scope_entries; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.scope_entries AS
 SELECT e.tenant,
    s.kind,
    s.id,
    e.kind AS entry,
    e.hold_id,
    e.at,
    e.d_held_tokens AS tokens,
    ( SELECT a.held_tokens
           FROM (public.ledger_posting(e.tenant, e.scope_id, e.window_start, e.seq) p(tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late, spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano, limit_tokens, limit_nano, mode)
             CROSS JOIN LATERAL public.ledger_after(p.*, e.number) a(spent_tokens, held_tokens, granted_tokens, overrun_tokens, spent_nano, held_nano, granted_nano, overrun_nano))) AS held_after
   FROM (public.scopes s
     JOIN public.balance_moves e ON (((e.tenant = s.tenant) AND (e.scope_id = s.scope_id))));


--
-- Name: scope_parents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scope_parents (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    parent_id bigint
);
ALTER TABLE ONLY public.scope_parents ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: scope_spending; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.scope_spending AS
 SELECT s.tenant,
    s.kind,
    s.id,
    b.window_start,
    (b.spent_tokens + b.rolled_tokens) AS tokens,
    (b.spent_nano + b.rolled_nano) AS nano
   FROM (public.scopes s
     JOIN public.balances b ON (((b.tenant = s.tenant) AND (b.scope_id = s.scope_id))));


--
-- Name: scopes_scope_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.scopes ALTER COLUMN scope_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.scopes_scope_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: session_settings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.session_settings (
    tenant text NOT NULL,
    session_id text NOT NULL,
    version integer NOT NULL,
    fields json NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT session_settings_version_check CHECK ((version >= 1))
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    tenant text NOT NULL,
    session_id text NOT NULL,
    next_seq bigint DEFAULT 1 NOT NULL,
    user_id text,
    active_on date DEFAULT ((now() AT TIME ZONE 'utc'::text))::date NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: shadow_counts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.shadow_counts (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    window_start timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    calls bigint NOT NULL,
    tokens bigint NOT NULL,
    nano bigint NOT NULL,
    delay_ms bigint NOT NULL,
    CONSTRAINT shadow_counts_outcome_check CHECK ((outcome = ANY (ARRAY['refuse'::text, 'ask'::text, 'wait'::text, 'delay'::text])))
);
ALTER TABLE ONLY public.shadow_counts ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: sign_in_links; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sign_in_links (
    digest bytea NOT NULL,
    key_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);


--
-- Name: templated_policies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.templated_policies (
    tenant text NOT NULL,
    scope_id bigint NOT NULL,
    limit_tokens bigint,
    limit_nano_usd bigint,
    mode text,
    "window" text,
    timezone text,
    warn_at numeric[],
    backpressure jsonb,
    approval jsonb,
    frozen boolean,
    shadow boolean,
    learned_holds numeric,
    last_answer numeric,
    rollover numeric,
    ladder jsonb,
    sources jsonb NOT NULL
);
ALTER TABLE ONLY public.templated_policies ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: stored_policies; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.stored_policies AS
 SELECT s.tenant,
    s.scope_id,
    s.kind,
    s.id,
    COALESCE(o.limit_tokens, t.limit_tokens) AS limit_tokens,
    COALESCE(o.limit_nano_usd, t.limit_nano_usd) AS limit_nano_usd,
    COALESCE(o.mode, t.mode) AS mode,
    COALESCE(o."window", t."window") AS "window",
    COALESCE(o.timezone, t.timezone) AS timezone,
    COALESCE(o.warn_at, t.warn_at) AS warn_at,
    COALESCE(o.backpressure, t.backpressure) AS backpressure,
    COALESCE(o.approval, t.approval) AS approval,
    COALESCE(o.frozen, t.frozen) AS frozen,
    COALESCE(o.shadow, t.shadow) AS shadow,
    COALESCE(o.last_answer, t.last_answer) AS last_answer,
    COALESCE(o.rollover, t.rollover) AS rollover,
    COALESCE(o.ladder, t.ladder) AS ladder
   FROM ((public.scopes s
     LEFT JOIN public.policies o ON (((o.tenant = s.tenant) AND (o.scope_id = s.scope_id) AND (o.task = ''::text))))
     LEFT JOIN public.templated_policies t ON (((t.tenant = s.tenant) AND (t.scope_id = s.scope_id) AND (NOT COALESCE((t.shadow AND public.binds(to_jsonb(o.*))), false)))));


--
-- Name: summaries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.summaries (
    tenant text NOT NULL,
    session_id text NOT NULL,
    thread text DEFAULT ''::text NOT NULL,
    version integer NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    text text NOT NULL,
    tokens jsonb DEFAULT '{}'::jsonb NOT NULL,
    tokens_before bigint NOT NULL,
    tokens_after bigint NOT NULL,
    method text NOT NULL,
    model text,
    source_digest text NOT NULL,
    key text NOT NULL,
    hold_id text,
    layers jsonb DEFAULT '[]'::jsonb NOT NULL,
    source_characters bigint DEFAULT 0 NOT NULL,
    prompt_version text,
    language text,
    fidelity double precision,
    trigger text DEFAULT 'request'::text NOT NULL,
    passed bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT summaries_check CHECK ((first_seq <= last_seq)),
    CONSTRAINT summaries_method_check CHECK ((method = ANY (ARRAY['extractive'::text, 'model'::text]))),
    CONSTRAINT summaries_version_check CHECK ((version >= 1))
);


--
-- Name: summary_facts; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.summary_facts AS
 SELECT tenant,
    session_id,
    thread,
    version,
    key,
    created_at,
    tokens_before,
    tokens_after,
    method,
    trigger,
    model,
    text,
    ( SELECT count(*) AS count
           FROM public.messages m
          WHERE ((m.tenant = s.tenant) AND (m.session_id = s.session_id) AND (m.thread = s.thread) AND ((m.seq >= s.first_seq) AND (m.seq <= s.last_seq)))) AS messages
   FROM public.summaries s;


--
-- Name: tasks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tasks (
    number bigint NOT NULL,
    tenant text NOT NULL,
    task_id text NOT NULL,
    session_id text NOT NULL,
    user_id text,
    body jsonb NOT NULL,
    digest bytea NOT NULL,
    submitter text,
    submitted_by text,
    vouched boolean DEFAULT false NOT NULL,
    tags jsonb DEFAULT '{}'::jsonb NOT NULL,
    status text DEFAULT 'running'::text NOT NULL,
    input_seq bigint NOT NULL,
    submitted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    reason text DEFAULT ''::text NOT NULL,
    lost_at timestamp with time zone,
    checked_at timestamp with time zone,
    CONSTRAINT tasks_status_check CHECK ((status = ANY (ARRAY['running'::text, 'paused'::text, 'completed'::text, 'partial'::text, 'refused'::text, 'failed'::text, 'cancelled'::text])))
);


--
-- Name: task_states; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.task_states AS
 SELECT number,
    tenant,
    task_id,
    session_id,
    user_id,
    body,
    digest,
    submitter,
    submitted_by,
    vouched,
    tags,
    status,
    input_seq,
    submitted_at,
    ended_at,
    reason,
    lost_at,
    checked_at,
        CASE
            WHEN ((status = 'running'::text) AND (EXISTS ( SELECT 1
               FROM public.agents a
              WHERE ((a.tenant = t.tenant) AND (a.task_id = t.task_id) AND (a.status = 'waiting_approval'::text))))) THEN 'waiting_approval'::text
            ELSE status
        END AS state
   FROM public.tasks t;


--
-- Name: tasks_number_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.tasks ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tasks_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: threshold_events; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.threshold_events AS
 SELECT tenant,
    event_id,
    at,
    scope,
    window_start,
    threshold
   FROM public.events
  WHERE (kind = 'threshold'::text);


--
-- Name: token_calibrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.token_calibrations (
    tenant text NOT NULL,
    model text NOT NULL,
    encoding text NOT NULL,
    ratio integer DEFAULT 1000000 NOT NULL,
    calls bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT token_calibrations_ratio_check CHECK ((ratio > 0))
);


--
-- Name: unsent_messages; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.unsent_messages AS
 SELECT tenant,
    workflow_id,
    created_at,
    tries
   FROM public.outbox
  WHERE (sent_at IS NULL);


--
-- Name: user_settings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_settings (
    tenant text NOT NULL,
    user_id text NOT NULL,
    version integer NOT NULL,
    fields json NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT user_settings_version_check CHECK ((version >= 1))
);


--
-- Name: waiters; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.waiters (
    tenant text NOT NULL,
    hold_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    last_asked timestamp with time zone NOT NULL,
    asks integer DEFAULT 1 NOT NULL
);
ALTER TABLE ONLY public.waiters ALTER COLUMN tenant SET (n_distinct=1);


--
-- Name: webhook_cursor; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook_cursor (
    only_row boolean DEFAULT true NOT NULL,
    "position" bigint NOT NULL,
    CONSTRAINT webhook_cursor_only_row_check CHECK (only_row)
);


--
-- Name: webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhooks (
    webhook_id text NOT NULL,
    tenant text NOT NULL,
    url text NOT NULL,
    kinds text[] NOT NULL,
    least_threshold numeric,
    description text NOT NULL,
    enabled boolean NOT NULL,
    disabled_reason text,
    secret text NOT NULL,
    previous_secret text,
    previous_until timestamp with time zone,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Data for Name: agents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.agents VALUES ('acme', 't-e18744aa5bc1', 'poor', 3, 'refused', 'limit', 'agent:t-e18744aa5bc1/poor', NULL, NULL, '2026-11-26 11:09:15.629212+00');
INSERT INTO public.agents VALUES ('acme', 't-e18744aa5bc1', 'heir', 4, 'skipped', 'dependency', '', NULL, NULL, '2026-11-26 11:09:15.771496+00');
INSERT INTO public.agents VALUES ('acme', 't-e18744aa5bc1', 'a', 1, 'completed', 'answered', '', NULL, 5, '2026-11-26 11:09:29.999553+00');
INSERT INTO public.agents VALUES ('acme', 't-e18744aa5bc1', 'b', 2, 'completed', 'answered', '', NULL, 6, '2026-11-26 11:09:30.294565+00');
INSERT INTO public.agents VALUES ('acme', 't-517888ebef50', 'a', 1, 'completed', 'answered', '', NULL, 2, '2026-11-26 11:09:33.12062+00');
INSERT INTO public.agents VALUES ('acme', 't-395f69316abb', 'a', 1, 'completed', 'answered', '', NULL, 2, '2026-11-26 11:09:35.085443+00');
INSERT INTO public.agents VALUES ('acme', 't-20d268708884', 'a', 1, 'completed', 'answered', '', NULL, 2, '2026-11-26 11:09:36.190005+00');
INSERT INTO public.agents VALUES ('acme', 't-10c9c812e597', 'a', 1, 'refused', 'denied', 'task:t-10c9c812e597', NULL, NULL, '2026-11-26 11:09:37.425483+00');
INSERT INTO public.agents VALUES ('acme', 't-76c85f06c120', 'a', 1, 'completed', 'answered', '', NULL, 4, '2026-11-26 11:09:39.782829+00');
INSERT INTO public.agents VALUES ('acme', 't-4d205a2dc661', 'a', 1, 'completed', 'answered', '', NULL, 4, '2026-11-26 11:09:41.079352+00');
INSERT INTO public.agents VALUES ('acme', 't-7594dfea36ed', 'b', 2, 'cancelled', 'cancelled', '', NULL, NULL, '2026-11-26 11:09:41.764586+00');
INSERT INTO public.agents VALUES ('acme', 't-7594dfea36ed', 'a', 1, 'cancelled', 'cancelled', '', NULL, NULL, '2026-11-26 11:09:42.758166+00');
INSERT INTO public.agents VALUES ('acme', 't-3bce02b17032', 'a', 1, 'completed', 'answered', '', NULL, 62, '2026-11-26 11:09:45.911769+00');
INSERT INTO public.agents VALUES ('acme', 't-6bf79b2ae0d1', 'a', 1, 'completed', 'answered', '', NULL, 62, '2026-11-26 11:09:46.865346+00');


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.alembic_version VALUES ('0002_storable');


--
-- Data for Name: answers; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: approval_waiters; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.approval_waiters VALUES ('acme', '8095d5f7-a7ea-4a60-a744-82ff07fb3c2a', '239ec455-d850-5521-b009-cb27c440b99f', 't-20d268708884', 'a', 'someone', 'task-acme/t-20d268708884/a', 117, 1042500, '2026-11-26 11:09:35.74946+00', '2026-11-26 11:09:35.912457+00', '{tenant:acme,session:s-t-20d268708884,task:t-20d268708884,agent:t-20d268708884/a}', NULL, false);
INSERT INTO public.approval_waiters VALUES ('acme', '19030802-a386-46f8-81f2-fea621b22c96', 'ab05faab-3bbd-5fdd-ac4f-9c72b78718d7', 't-10c9c812e597', 'a', 'someone', 'task-acme/t-10c9c812e597/a', 117, 1042500, '2026-11-26 11:09:36.897042+00', '2026-11-26 11:09:37.302817+00', '{tenant:acme,session:s-t-10c9c812e597,task:t-10c9c812e597,agent:t-10c9c812e597/a}', NULL, false);
INSERT INTO public.approval_waiters VALUES ('acme', '20f397b4-57ef-46aa-827d-40a0eb2020b2', '430a6d10-8222-58bd-ad98-6b17a4294cf6', 't-76c85f06c120', 'a', 'someone', 'task-acme/t-76c85f06c120/a', 144, 1110000, '2026-11-26 11:09:39.278524+00', '2026-11-26 11:09:39.411977+00', '{tenant:acme,session:s-t-76c85f06c120,task:t-76c85f06c120,agent:t-76c85f06c120/a}', NULL, false);


--
-- Data for Name: approvals; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.approvals VALUES ('acme', '8095d5f7-a7ea-4a60-a744-82ff07fb3c2a', 24, '-infinity', '', 'approved', 107, 0, '{"roles": ["approver", "admin"], "remind_s": null, "on_expiry": "deny", "deadline_s": 1800, "escalate_s": null, "not_submitter": false, "two_people_above_tokens": null, "two_people_above_nano_usd": null}', 107, 0, '2026-11-26 11:09:35.74946+00', '2026-11-26 11:39:35.74946+00', '2026-11-26 11:09:35.912457+00', NULL, NULL);
INSERT INTO public.approvals VALUES ('acme', '19030802-a386-46f8-81f2-fea621b22c96', 29, '-infinity', '', 'denied', 107, 0, '{"roles": ["approver", "admin"], "remind_s": null, "on_expiry": "deny", "deadline_s": 1800, "escalate_s": null, "not_submitter": false, "two_people_above_tokens": null, "two_people_above_nano_usd": null}', 0, 0, '2026-11-26 11:09:36.897042+00', '2026-11-26 11:39:36.897042+00', '2026-11-26 11:09:37.302817+00', NULL, NULL);
INSERT INTO public.approvals VALUES ('acme', '20f397b4-57ef-46aa-827d-40a0eb2020b2', 34, '-infinity', '', 'approved', 13, 0, '{"roles": ["approver", "admin"], "remind_s": null, "on_expiry": "deny", "deadline_s": 1800, "escalate_s": null, "not_submitter": false, "two_people_above_tokens": null, "two_people_above_nano_usd": null}', 13, 0, '2026-11-26 11:09:39.278524+00', '2026-11-26 11:39:39.278524+00', '2026-11-26 11:09:39.411977+00', NULL, NULL);


--
-- Data for Name: attempts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.attempts VALUES ('acme', 2, 1, 'reported', 21, 82500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 4, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\x8c9f4258bb46551cbeb36b0e9b4415c232e7dbb1393a07a9b34ae12eef048329', '2026-11-26 11:09:29.644245+00', '2026-11-26 11:09:29.74075+00');
INSERT INTO public.attempts VALUES ('acme', 4, 1, 'reported', 69, 187500, NULL, NULL, 0, 0, false, '{"input": 67, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-2"}', '\xc2c06de2338e9cce523243af944ffccb0cb53182a47ad8a1ab51e9f374b05c15', '2026-11-26 11:09:29.936978+00', '2026-11-26 11:09:29.955212+00');
INSERT INTO public.attempts VALUES ('acme', 6, 1, 'reported', 25, 77500, NULL, NULL, 0, 0, false, '{"input": 23, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-3"}', '\x9798f53c8c06983c086ff4800e0800fe1942a7ab683a2e6110621392f952d7a0', '2026-11-26 11:09:30.245573+00', '2026-11-26 11:09:30.262746+00');
INSERT INTO public.attempts VALUES ('acme', 8, 1, 'presumed', 117, 1042500, NULL, NULL, 0, 0, false, NULL, NULL, '2026-11-26 11:09:32.07549+00', NULL);
INSERT INTO public.attempts VALUES ('acme', 8, 2, 'reported', 19, 62500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-2"}', '\x211e1ee3dfad65c8263a9ea2041afb93b0ca4521a982c4d235a83a7ea6120238', '2026-11-26 11:09:33.039153+00', '2026-11-26 11:09:33.085476+00');
INSERT INTO public.attempts VALUES ('acme', 11, 1, 'reported', 19, 62500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\x211e1ee3dfad65c8263a9ea2041afb93b0ca4521a982c4d235a83a7ea6120238', '2026-11-26 11:09:35.016561+00', '2026-11-26 11:09:35.049639+00');
INSERT INTO public.attempts VALUES ('acme', 15, 1, 'reported', 19, 62500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\x211e1ee3dfad65c8263a9ea2041afb93b0ca4521a982c4d235a83a7ea6120238', '2026-11-26 11:09:36.123317+00', '2026-11-26 11:09:36.156926+00');
INSERT INTO public.attempts VALUES ('acme', 20, 1, 'reported', 19, 62500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\x211e1ee3dfad65c8263a9ea2041afb93b0ca4521a982c4d235a83a7ea6120238', '2026-11-26 11:09:38.066505+00', '2026-11-26 11:09:38.084191+00');
INSERT INTO public.attempts VALUES ('acme', 21, 1, 'reported', 46, 130000, NULL, NULL, 0, 0, false, '{"input": 44, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-2"}', '\xd7c7dce0b0d5ab87c0328b76f54bfb4d6b913782c657c1f7eb653bf832af6466', '2026-11-26 11:09:39.693066+00', '2026-11-26 11:09:39.708926+00');
INSERT INTO public.attempts VALUES ('acme', 24, 1, 'reported', 19, 62500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\x211e1ee3dfad65c8263a9ea2041afb93b0ca4521a982c4d235a83a7ea6120238', '2026-11-26 11:09:40.415593+00', '2026-11-26 11:09:40.599968+00');
INSERT INTO public.attempts VALUES ('acme', 25, 1, 'reported', 46, 130000, NULL, NULL, 0, 0, false, '{"input": 44, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-2"}', '\xd7c7dce0b0d5ab87c0328b76f54bfb4d6b913782c657c1f7eb653bf832af6466', '2026-11-26 11:09:41.014196+00', '2026-11-26 11:09:41.03538+00');
INSERT INTO public.attempts VALUES ('acme', 27, 1, 'reported', 17, 42500, NULL, NULL, 0, 0, false, '{"input": 17, "output": 0, "unsplit": 0, "estimated": true, "reasoning": null, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', '\x92b9160da6091b123b27915c4d05b8bfd31ef1b3dafc7417fd313ea852d2ff1c', '2026-11-26 11:09:41.733209+00', '2026-11-26 11:09:42.716866+00');
INSERT INTO public.attempts VALUES ('acme', 29, 1, 'reported', 1358, 3410000, NULL, NULL, 0, 0, false, '{"input": 1356, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\xc453fb9b3aa8c22a4d6da32fe73b9362986170c8462357648e59da04dd748e7b', '2026-11-26 11:09:45.855102+00', '2026-11-26 11:09:45.881731+00');
INSERT INTO public.attempts VALUES ('acme', 32, 1, 'reported', 4639, 11612500, NULL, NULL, 0, 0, false, '{"input": 4637, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0, "provider_request_id": "chatcmpl-1"}', '\x295232ae30a5716947a3a2bbe80ec264d8e2980ffe1cefe1534d5a8a91b0ad29', '2026-11-26 11:09:46.72141+00', '2026-11-26 11:09:46.79386+00');


--
-- Data for Name: audit_result; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: balance_samples; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: balance_sampling; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: balances; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.balances VALUES ('acme', 1, '-infinity', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:15.518006+00');
INSERT INTO public.balances VALUES ('acme', 3, '-infinity', 115, 0, 0, 0, 347500, 0, 0, 0, 6, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:30.262746+00');
INSERT INTO public.balances VALUES ('acme', 4, '-infinity', 115, 0, 0, 0, 347500, 0, 0, 0, 6, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:30.262746+00');
INSERT INTO public.balances VALUES ('acme', 10, '-infinity', 25, 0, 0, 0, 77500, 0, 0, 0, 2, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:30.262746+00');
INSERT INTO public.balances VALUES ('acme', 14, '-infinity', 136, 0, 0, 0, 1105000, 0, 0, 0, 4, 10, NULL, 'soft', '{0.8}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:33.085476+00');
INSERT INTO public.balances VALUES ('acme', 5, '-infinity', 6433, 0, 0, 0, 17027500, 0, 0, 0, 28, NULL, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:46.79386+00');
INSERT INTO public.balances VALUES ('acme', 6, '-infinity', 90, 0, 0, 0, 270000, 0, 0, 0, 4, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:29.955212+00');
INSERT INTO public.balances VALUES ('acme', 15, '-infinity', 136, 0, 0, 0, 1105000, 0, 0, 0, 4, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:33.085476+00');
INSERT INTO public.balances VALUES ('acme', 17, '-infinity', 136, 0, 0, 0, 1105000, 0, 0, 0, 4, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:33.085476+00');
INSERT INTO public.balances VALUES ('acme', 20, '-infinity', 19, 0, 0, 0, 62500, 0, 0, 0, 2, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:35.049639+00');
INSERT INTO public.balances VALUES ('acme', 22, '-infinity', 19, 0, 0, 0, 62500, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:35.049639+00');
INSERT INTO public.balances VALUES ('acme', 19, '-infinity', 19, 0, 0, 0, 62500, 0, 0, 0, 4, 1000, NULL, 'hard', '{0.8}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:35.049639+00');
INSERT INTO public.balances VALUES ('acme', 24, '-infinity', 19, 0, 107, 0, 62500, 0, 0, 0, 3, 10, NULL, 'approval', '{0.8}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:36.156926+00');
INSERT INTO public.balances VALUES ('acme', 25, '-infinity', 19, 0, 0, 0, 62500, 0, 0, 0, 2, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:36.156926+00');
INSERT INTO public.balances VALUES ('acme', 26, '-infinity', 19, 0, 0, 0, 62500, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:36.156926+00');
INSERT INTO public.balances VALUES ('acme', 29, '-infinity', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:36.837541+00');
INSERT INTO public.balances VALUES ('acme', 30, '-infinity', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:36.837541+00');
INSERT INTO public.balances VALUES ('acme', 31, '-infinity', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:36.837541+00');
INSERT INTO public.balances VALUES ('acme', 34, '-infinity', 65, 0, 13, 0, 192500, 0, 0, 0, 5, 150, NULL, 'approval', '{0.8}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:39.708926+00');
INSERT INTO public.balances VALUES ('acme', 36, '-infinity', 65, 0, 0, 0, 192500, 0, 0, 0, 4, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:39.708926+00');
INSERT INTO public.balances VALUES ('acme', 37, '-infinity', 65, 0, 0, 0, 192500, 0, 0, 0, 4, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:39.708926+00');
INSERT INTO public.balances VALUES ('acme', 39, '-infinity', 65, 0, 0, 0, 192500, 0, 0, 0, 4, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:41.03538+00');
INSERT INTO public.balances VALUES ('acme', 40, '-infinity', 65, 0, 0, 0, 192500, 0, 0, 0, 4, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:41.03538+00');
INSERT INTO public.balances VALUES ('acme', 41, '-infinity', 65, 0, 0, 0, 192500, 0, 0, 0, 4, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:41.03538+00');
INSERT INTO public.balances VALUES ('acme', 43, '-infinity', 17, 0, 0, 0, 42500, 0, 0, 0, 2, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:42.716866+00');
INSERT INTO public.balances VALUES ('acme', 44, '-infinity', 17, 0, 0, 0, 42500, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:42.716866+00');
INSERT INTO public.balances VALUES ('acme', 45, '-infinity', 17, 0, 0, 0, 42500, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:42.716866+00');
INSERT INTO public.balances VALUES ('acme', 47, '-infinity', 1358, 0, 0, 0, 3410000, 0, 0, 0, 2, 3000, NULL, 'hard', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:45.881731+00');
INSERT INTO public.balances VALUES ('acme', 49, '-infinity', 1358, 0, 0, 0, 3410000, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:45.881731+00');
INSERT INTO public.balances VALUES ('acme', 50, '-infinity', 1358, 0, 0, 0, 3410000, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:45.881731+00');
INSERT INTO public.balances VALUES ('acme', 52, '-infinity', 4639, 0, 0, 0, 11612500, 0, 0, 0, 2, 50000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:46.79386+00');
INSERT INTO public.balances VALUES ('acme', 53, '-infinity', 4639, 0, 0, 0, 11612500, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:46.79386+00');
INSERT INTO public.balances VALUES ('acme', 54, '-infinity', 4639, 0, 0, 0, 11612500, 0, 0, 0, 2, 200000, NULL, 'soft', '{}', NULL, NULL, 0, 0, 0, 0, NULL, '2026-11-26 11:09:46.79386+00');


--
-- Data for Name: browser_sessions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: call_failures; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.call_failures VALUES ('acme', 'd5ae85c3-0066-544e-a92d-bc97a96f6d84', 1, 'server_error', '2026-11-26 11:09:32.12521+00');


--
-- Data for Name: calls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.calls VALUES ('acme', '91ef0c91-fa02-5551-894b-82b3fe3170d6', 't-e18744aa5bc1', 'poor', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-e18744aa5bc1/poor", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 0, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, NULL, 117, 1042500, 117, 1042500, true, false, '[]', NULL, 0, '', NULL, NULL, 0, '{"held": {"tokens": 0, "nano_usd": 0}, "text": "agent:t-e18744aa5bc1/poor may spend 10 tokens (0 tokens spent, 0 tokens held, 117 tokens asked).", "asked": {"tokens": 117, "nano_usd": 1042500}, "limit": {"tokens": 10, "nano_usd": null}, "scope": "agent:t-e18744aa5bc1/poor", "spent": {"tokens": 0, "nano_usd": 0}, "reason": "limit", "remedy": "Ask for less, raise the limit with `purser budget set agent:t-e18744aa5bc1/poor --limit-tokens 117`.", "granted": {"tokens": 0, "nano_usd": 0}, "period_end": null}', '', NULL, NULL, false, NULL, '2026-11-26 11:09:15.488741+00');
INSERT INTO public.calls VALUES ('acme', '82d4a2fa-3651-5ffa-a72a-aff6a2932a81', 't-e18744aa5bc1', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-e18744aa5bc1/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 2, 0, '', NULL, NULL, 0, NULL, '', 2, '{"input": 17, "output": 4, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:15.492152+00');
INSERT INTO public.calls VALUES ('acme', 'd5ae85c3-0066-544e-a92d-bc97a96f6d84', 't-517888ebef50', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-517888ebef50/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 8, 100, 'session:slow', 11.7, NULL, 0, NULL, '', 2, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:31.191267+00');
INSERT INTO public.calls VALUES ('acme', '86089d2f-2e00-52ec-93da-5ca9f15e34b4', 't-e18744aa5bc1', 'a', 2, 'openai/gpt-4o', '{"own": {"seqs": [2, 3, 4], "thread": "t-e18744aa5bc1/a", "tokens": 50, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 60, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 167, 1167500, 167, 1167500, true, false, '[]', 4, 0, '', NULL, NULL, 0, NULL, '', 5, '{"input": 67, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:29.840582+00');
INSERT INTO public.calls VALUES ('acme', '85ced316-5d99-575b-a3ec-4e66183ee2d4', 't-e18744aa5bc1', 'b', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-e18744aa5bc1/b", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [{"seq": 5, "tokens": 6, "agent_id": "a"}], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 16, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 123, 1057500, 123, 1057500, true, false, '[]', 6, 0, '', NULL, NULL, 0, NULL, '', 6, '{"input": 23, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:30.145282+00');
INSERT INTO public.calls VALUES ('acme', 'c39cc9ff-26cd-56d8-b0a8-45c80de1b364', 't-395f69316abb', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-395f69316abb/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 11, 0, '', NULL, NULL, 0, NULL, '', 2, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:33.857017+00');
INSERT INTO public.calls VALUES ('acme', '77327c0e-b256-5bf3-9721-e3b77d1015ea', 't-76c85f06c120', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-76c85f06c120/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 43, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 20, 0, '', NULL, NULL, 0, NULL, '', 2, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:37.937126+00');
INSERT INTO public.calls VALUES ('acme', '239ec455-d850-5521-b009-cb27c440b99f', 't-20d268708884', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-20d268708884/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 15, 0, '', NULL, NULL, 0, '{"held": {"tokens": 0, "nano_usd": 0}, "text": "task:t-20d268708884 may spend 10 tokens (0 tokens spent, 0 tokens held, 117 tokens asked).", "asked": {"tokens": 117, "nano_usd": 1042500}, "limit": {"tokens": 10, "nano_usd": null}, "scope": "task:t-20d268708884", "spent": {"tokens": 0, "nano_usd": 0}, "reason": "approval", "remedy": "An approver has to grant task:t-20d268708884 more: ask again once the request is decided.", "granted": {"tokens": 0, "nano_usd": 0}, "period_end": null}', '', 2, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:35.668818+00');
INSERT INTO public.calls VALUES ('acme', 'ab05faab-3bbd-5fdd-ac4f-9c72b78718d7', 't-10c9c812e597', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-10c9c812e597/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, NULL, 117, 1042500, 117, 1042500, true, false, '[]', NULL, 0, '', NULL, NULL, 0, '{"held": {"tokens": 0, "nano_usd": 0}, "text": "task:t-10c9c812e597 may spend 10 tokens (0 tokens spent, 0 tokens held, 117 tokens asked).", "asked": {"tokens": 117, "nano_usd": 1042500}, "limit": {"tokens": 10, "nano_usd": null}, "scope": "task:t-10c9c812e597", "spent": {"tokens": 0, "nano_usd": 0}, "reason": "approval", "remedy": "An approver has to grant task:t-10c9c812e597 more: ask again once the request is decided.", "granted": {"tokens": 0, "nano_usd": 0}, "period_end": null}', '', NULL, NULL, false, NULL, '2026-11-26 11:09:36.822127+00');
INSERT INTO public.calls VALUES ('acme', '19b40f0c-4111-5b9f-b4e5-32a4143b5a37', 't-4d205a2dc661', 'a', 2, 'openai/gpt-4o', '{"own": {"seqs": [2, 3], "thread": "t-4d205a2dc661/a", "tokens": 27, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 37, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 144, 1110000, 144, 1110000, true, false, '[]', 25, 0, '', NULL, NULL, 0, NULL, '', 4, '{"input": 44, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:40.940668+00');
INSERT INTO public.calls VALUES ('acme', '430a6d10-8222-58bd-ad98-6b17a4294cf6', 't-76c85f06c120', 'a', 2, 'openai/gpt-4o', '{"own": {"seqs": [2, 3], "thread": "t-76c85f06c120/a", "tokens": 27, "dropped": [], "summary": null}, "trims": [], "budget": 24, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 37, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 144, 1110000, 144, 1110000, true, false, '[]', 21, 0, '', NULL, NULL, 0, '{"held": {"tokens": 0, "nano_usd": 0}, "text": "agent:t-76c85f06c120/a may spend 150 tokens (19 tokens spent, 0 tokens held, 144 tokens asked).", "asked": {"tokens": 144, "nano_usd": 1110000}, "limit": {"tokens": 150, "nano_usd": null}, "scope": "agent:t-76c85f06c120/a", "spent": {"tokens": 19, "nano_usd": 62500}, "reason": "approval", "remedy": "An approver has to grant agent:t-76c85f06c120/a more: ask again once the request is decided.", "granted": {"tokens": 0, "nano_usd": 0}, "period_end": null}', '', 4, '{"input": 44, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:39.206+00');
INSERT INTO public.calls VALUES ('acme', 'fabfb047-7c53-535f-a013-d867b0ca603a', 't-4d205a2dc661', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-4d205a2dc661/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 24, 0, '', NULL, NULL, 0, NULL, '', 2, '{"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:40.304873+00');
INSERT INTO public.calls VALUES ('acme', 'b5e9611a-2404-58fb-8b6d-1f59a7924418', 't-3bce02b17032', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-3bce02b17032/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 2893, "memory": {"found": [["long", 57], ["long", 56], ["long", 55], ["long", 54], ["long", 53]], "tokens": 266, "most_tokens": 270, "documents_tokens": 0}, "recall": false, "closing": "", "replies": [], "session": {"seqs": [1, 2, 58, 59, 60], "thread": "", "tokens": 1073, "dropped": [], "summary": {"tokens": 688, "version": 1, "last_seq": 57, "first_seq": 3}}, "compress": null, "personal": null, "question": {"seq": 61, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 1083, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 1456, 4390000, 1456, 4390000, true, false, '[]', 29, 0, '', NULL, NULL, 0, NULL, '', 62, '{"input": 1356, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:45.758899+00');
INSERT INTO public.calls VALUES ('acme', 'c9fbd4a6-a760-566b-9c26-c59f8370914e', 't-7594dfea36ed', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-7594dfea36ed/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [], "thread": "", "tokens": 0, "dropped": [], "summary": null}, "compress": null, "personal": null, "question": {"seq": 1, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 10, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 117, 1042500, 117, 1042500, true, false, '[]', 27, 0, '', NULL, NULL, 0, NULL, '', NULL, NULL, false, NULL, '2026-11-26 11:09:41.627965+00');
INSERT INTO public.calls VALUES ('acme', 'e957c103-140d-5814-8b4f-353773222948', 't-6bf79b2ae0d1', 'a', 1, 'openai/gpt-4o', '{"own": {"seqs": [], "thread": "t-6bf79b2ae0d1/a", "tokens": 0, "dropped": [], "summary": null}, "trims": [], "budget": 73142, "memory": null, "recall": false, "closing": "", "replies": [], "session": {"seqs": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60], "thread": "", "tokens": 4620, "dropped": [], "summary": null}, "compress": "", "personal": null, "question": {"seq": 61, "tokens": 7, "agent_id": ""}, "strategy": "hybrid", "whole_tokens": 4630, "system_tokens": 7, "dropped_replies": [], "strategy_reason": ""}', 100, NULL, 100, 4737, 12592500, 4737, 12592500, true, false, '[]', 32, 0, '', NULL, NULL, 0, NULL, '', 62, '{"input": 4637, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}', false, NULL, '2026-11-26 11:09:46.473959+00');


--
-- Data for Name: carried_events; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: changes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 1, '2026-11-26 11:09:30.868736+00', 'test', NULL, 'policy.set', 'session:slow', NULL, '{"backpressure": [["1.00", 100]], "limit_tokens": 10}');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 2, '2026-11-26 11:09:33.542763+00', 'test', NULL, 'policy.set', 'session:shared', NULL, '{"mode": "hard", "limit_tokens": 1000}');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 3, '2026-11-26 11:09:35.876316+00', 'test', NULL, 'key.create', 'key:key-7c132daa15d5', NULL, '{"name": "boss", "path": [], "role": "approver", "tags": {}, "expires_at": null, "rate_limit_per_s": null}');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 4, '2026-11-26 11:09:35.92904+00', 'boss', 'key-7c132daa15d5', 'approval.approve', 'approval:8095d5f7-a7ea-4a60-a744-82ff07fb3c2a', '{"state": "pending"}', '{"state": "approved", "until": null, "identity": "key", "ticket_url": null, "decision_id": "d1", "grant_tokens": 107, "grant_nano_usd": 0, "decisions_needed": 0}');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 5, '2026-11-26 11:09:37.015038+00', 'test', NULL, 'key.revoke', 'key:key-7c132daa15d5', '{"name": "boss", "path": [], "role": "approver", "tags": {}, "expires_at": null, "rate_limit_per_s": null}', NULL);
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 6, '2026-11-26 11:09:37.01729+00', 'test', NULL, 'key.create', 'key:key-08d648294125', NULL, '{"name": "boss", "path": [], "role": "approver", "tags": {}, "expires_at": null, "rate_limit_per_s": null}');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 7, '2026-11-26 11:09:37.314131+00', 'boss', 'key-08d648294125', 'approval.deny', 'approval:19030802-a386-46f8-81f2-fea621b22c96', '{"state": "pending"}', '{"state": "denied", "until": null, "identity": "key", "ticket_url": null, "decision_id": "d2", "grant_tokens": 0, "grant_nano_usd": 0, "decisions_needed": 0}');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES ('acme', 8, '2026-11-26 11:09:39.434444+00', 'boss', NULL, 'approval.approve', 'approval:20f397b4-57ef-46aa-827d-40a0eb2020b2', '{"state": "pending"}', '{"state": "approved", "until": null, "identity": "key", "ticket_url": null, "decision_id": "d3", "grant_tokens": 13, "grant_nano_usd": 0, "decisions_needed": 0}');


--
-- Data for Name: checkpoint_horizon; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: checkpoints; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: closed_ranges; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: closings; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: compression_health; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: compressions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: decisions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.decisions VALUES ('acme', 'd1', '8095d5f7-a7ea-4a60-a744-82ff07fb3c2a', '\x35baefe94041700fff1d330ee3887c75ab74bf0655c82b2319274e1cf424e9f8', 'approve', 'boss', 'key', 107, 0, NULL, NULL, NULL, '2026-11-26 11:09:35.912457+00', '{"state": "approved", "decisions_needed": 0}');
INSERT INTO public.decisions VALUES ('acme', 'd2', '19030802-a386-46f8-81f2-fea621b22c96', '\x3107717109463ae4f418c548138d0f95cbb79f1a2dc438aabb63c1ca414a4672', 'deny', 'boss', 'key', 0, 0, NULL, NULL, NULL, '2026-11-26 11:09:37.302817+00', '{"state": "denied", "decisions_needed": 0}');
INSERT INTO public.decisions VALUES ('acme', 'd3', '20f397b4-57ef-46aa-827d-40a0eb2020b2', '\xcbbbc7cab9379f8d8e554cd2d0edb843dcc0e1d1c2b5667914c8f2ecf2f88fb1', 'approve', 'boss', 'key', 13, 0, NULL, NULL, NULL, '2026-11-26 11:09:39.411977+00', '{"state": "approved", "decisions_needed": 0}');


--
-- Data for Name: deleted_sessions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: deliveries; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 1, '2026-11-26 11:09:15.084768+00', 'task', 'task:t-e18744aa5bc1', NULL, NULL, '{"status": "running", "task_id": "t-e18744aa5bc1", "session_id": "s-t-e18744aa5bc1"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 2, '2026-11-26 11:09:15.490008+00', 'agent', 'agent:t-e18744aa5bc1/poor', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-e18744aa5bc1", "agent_id": "poor", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 3, '2026-11-26 11:09:15.492951+00', 'agent', 'agent:t-e18744aa5bc1/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-e18744aa5bc1", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 4, '2026-11-26 11:09:15.568615+00', 'turn', 'agent:t-e18744aa5bc1/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "2", "task_id": "t-e18744aa5bc1", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 5, '2026-11-26 11:09:15.629977+00', 'agent', 'agent:t-e18744aa5bc1/poor', NULL, NULL, '{"reason": "limit", "status": "refused", "task_id": "t-e18744aa5bc1", "agent_id": "poor", "short_scope": "agent:t-e18744aa5bc1/poor"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 6, '2026-11-26 11:09:15.771914+00', 'agent', 'agent:t-e18744aa5bc1/heir', NULL, NULL, '{"reason": "dependency", "status": "skipped", "task_id": "t-e18744aa5bc1", "agent_id": "heir", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 7, '2026-11-26 11:09:29.737193+00', 'turn', 'agent:t-e18744aa5bc1/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 17, "output": 4, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "2", "task_id": "t-e18744aa5bc1", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 8, '2026-11-26 11:09:29.891829+00', 'turn', 'agent:t-e18744aa5bc1/a', NULL, NULL, '{"step": "admitted", "turn": 2, "asked": {"tokens": 167, "nano_usd": 1167500}, "model": "openai/gpt-4o", "hold_id": "4", "task_id": "t-e18744aa5bc1", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 9, '2026-11-26 11:09:29.954194+00', 'turn', 'agent:t-e18744aa5bc1/a', NULL, NULL, '{"step": "settled", "turn": 2, "model": "openai/gpt-4o", "usage": {"input": 67, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "4", "task_id": "t-e18744aa5bc1", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 10, '2026-11-26 11:09:30.000014+00', 'agent', 'agent:t-e18744aa5bc1/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-e18744aa5bc1", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 11, '2026-11-26 11:09:30.145713+00', 'agent', 'agent:t-e18744aa5bc1/b', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-e18744aa5bc1", "agent_id": "b", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 12, '2026-11-26 11:09:30.197187+00', 'turn', 'agent:t-e18744aa5bc1/b', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 123, "nano_usd": 1057500}, "model": "openai/gpt-4o", "hold_id": "6", "task_id": "t-e18744aa5bc1", "agent_id": "b", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 13, '2026-11-26 11:09:30.260442+00', 'turn', 'agent:t-e18744aa5bc1/b', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 23, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "6", "task_id": "t-e18744aa5bc1", "agent_id": "b", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 14, '2026-11-26 11:09:30.294749+00', 'agent', 'agent:t-e18744aa5bc1/b', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-e18744aa5bc1", "agent_id": "b", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 15, '2026-11-26 11:09:30.35004+00', 'task', 'task:t-e18744aa5bc1', NULL, NULL, '{"status": "partial", "task_id": "t-e18744aa5bc1", "session_id": "s-t-e18744aa5bc1"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 16, '2026-11-26 11:09:30.807784+00', 'budget', 'session:slow', NULL, NULL, '{"by": "test", "fields": {"backpressure": {"after": [["1.00", 100]], "before": null}, "limit_tokens": {"after": 10, "before": null}}}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 17, '2026-11-26 11:09:30.909776+00', 'task', 'task:t-517888ebef50', NULL, NULL, '{"status": "running", "task_id": "t-517888ebef50", "session_id": "slow"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 18, '2026-11-26 11:09:31.192358+00', 'agent', 'agent:t-517888ebef50/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-517888ebef50", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 19, '2026-11-26 11:09:31.208571+00', 'threshold', 'session:slow', '-infinity', 0.8, '{"held": {"tokens": 117, "nano_usd": 1042500}, "mode": "soft", "limit": {"tokens": 10, "nano_usd": null}, "spent": {"tokens": 0, "nano_usd": 0}, "granted": {"tokens": 0, "nano_usd": 0}}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 20, '2026-11-26 11:09:31.25835+00', 'turn', 'agent:t-517888ebef50/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "8", "task_id": "t-517888ebef50", "agent_id": "a", "delay_ms": 100}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 21, '2026-11-26 11:09:33.082652+00', 'turn', 'agent:t-517888ebef50/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "8", "task_id": "t-517888ebef50", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 22, '2026-11-26 11:09:33.12102+00', 'agent', 'agent:t-517888ebef50/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-517888ebef50", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 23, '2026-11-26 11:09:33.164875+00', 'task', 'task:t-517888ebef50', NULL, NULL, '{"status": "completed", "task_id": "t-517888ebef50", "session_id": "slow"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 24, '2026-11-26 11:09:33.510773+00', 'budget', 'session:shared', NULL, NULL, '{"by": "test", "fields": {"mode": {"after": "hard", "before": null}, "limit_tokens": {"after": 1000, "before": null}}}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 25, '2026-11-26 11:09:33.558422+00', 'threshold', 'session:shared', '-infinity', 0.8, '{"held": {"tokens": 900, "nano_usd": 0}, "mode": "hard", "limit": {"tokens": 1000, "nano_usd": null}, "spent": {"tokens": 0, "nano_usd": 0}, "granted": {"tokens": 0, "nano_usd": 0}}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 26, '2026-11-26 11:09:33.609245+00', 'task', 'task:t-395f69316abb', NULL, NULL, '{"status": "running", "task_id": "t-395f69316abb", "session_id": "shared"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 27, '2026-11-26 11:09:33.8583+00', 'agent', 'agent:t-395f69316abb/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-395f69316abb", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 28, '2026-11-26 11:09:34.958708+00', 'turn', 'agent:t-395f69316abb/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "11", "task_id": "t-395f69316abb", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 29, '2026-11-26 11:09:35.047353+00', 'turn', 'agent:t-395f69316abb/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "11", "task_id": "t-395f69316abb", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 30, '2026-11-26 11:09:35.086138+00', 'agent', 'agent:t-395f69316abb/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-395f69316abb", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 31, '2026-11-26 11:09:35.128711+00', 'task', 'task:t-395f69316abb', NULL, NULL, '{"status": "completed", "task_id": "t-395f69316abb", "session_id": "shared"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 32, '2026-11-26 11:09:35.418331+00', 'task', 'task:t-20d268708884', NULL, NULL, '{"status": "running", "task_id": "t-20d268708884", "session_id": "s-t-20d268708884"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 33, '2026-11-26 11:09:35.669807+00', 'agent', 'agent:t-20d268708884/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-20d268708884", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 34, '2026-11-26 11:09:35.74946+00', 'approval', 'task:t-20d268708884', '-infinity', NULL, '{"by": null, "asked": {"tokens": 107, "nano_usd": 0}, "cause": "opened", "given": {"tokens": 0, "nano_usd": 0}, "state": "pending", "waiting": [{"task_id": "t-20d268708884", "agent_id": "a"}], "deadline": "2026-11-26T11:39:35.74946+00:00", "decision": null, "approval_id": "8095d5f7-a7ea-4a60-a744-82ff07fb3c2a", "decisions_needed": 1}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 35, '2026-11-26 11:09:35.809373+00', 'agent', 'agent:t-20d268708884/a', NULL, NULL, '{"reason": null, "status": "waiting_approval", "task_id": "t-20d268708884", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 36, '2026-11-26 11:09:35.912457+00', 'approval', 'task:t-20d268708884', '-infinity', NULL, '{"by": "boss", "asked": {"tokens": 107, "nano_usd": 0}, "cause": "decided", "given": {"tokens": 107, "nano_usd": 0}, "state": "approved", "waiting": [], "deadline": "2026-11-26T11:39:35.74946+00:00", "decision": {"until": null, "identity": "key", "ticket_url": null, "decision_id": "d1", "grant_tokens": 107, "grant_nano_usd": 0}, "approval_id": "8095d5f7-a7ea-4a60-a744-82ff07fb3c2a", "decisions_needed": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 37, '2026-11-26 11:09:36.001876+00', 'agent', 'agent:t-20d268708884/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-20d268708884", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 38, '2026-11-26 11:09:36.067727+00', 'threshold', 'task:t-20d268708884', '-infinity', 0.8, '{"held": {"tokens": 117, "nano_usd": 1042500}, "mode": "approval", "limit": {"tokens": 10, "nano_usd": null}, "spent": {"tokens": 0, "nano_usd": 0}, "granted": {"tokens": 107, "nano_usd": 0}}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 39, '2026-11-26 11:09:36.080906+00', 'turn', 'agent:t-20d268708884/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "15", "task_id": "t-20d268708884", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 40, '2026-11-26 11:09:36.15188+00', 'turn', 'agent:t-20d268708884/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "15", "task_id": "t-20d268708884", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 41, '2026-11-26 11:09:36.190197+00', 'agent', 'agent:t-20d268708884/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-20d268708884", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 42, '2026-11-26 11:09:36.234414+00', 'task', 'task:t-20d268708884', NULL, NULL, '{"status": "completed", "task_id": "t-20d268708884", "session_id": "s-t-20d268708884"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 43, '2026-11-26 11:09:36.578605+00', 'task', 'task:t-10c9c812e597', NULL, NULL, '{"status": "running", "task_id": "t-10c9c812e597", "session_id": "s-t-10c9c812e597"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 44, '2026-11-26 11:09:36.823123+00', 'agent', 'agent:t-10c9c812e597/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-10c9c812e597", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 45, '2026-11-26 11:09:36.897042+00', 'approval', 'task:t-10c9c812e597', '-infinity', NULL, '{"by": null, "asked": {"tokens": 107, "nano_usd": 0}, "cause": "opened", "given": {"tokens": 0, "nano_usd": 0}, "state": "pending", "waiting": [{"task_id": "t-10c9c812e597", "agent_id": "a"}], "deadline": "2026-11-26T11:39:36.897042+00:00", "decision": null, "approval_id": "19030802-a386-46f8-81f2-fea621b22c96", "decisions_needed": 1}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 46, '2026-11-26 11:09:36.965678+00', 'agent', 'agent:t-10c9c812e597/a', NULL, NULL, '{"reason": null, "status": "waiting_approval", "task_id": "t-10c9c812e597", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 47, '2026-11-26 11:09:37.302817+00', 'approval', 'task:t-10c9c812e597', '-infinity', NULL, '{"by": "boss", "asked": {"tokens": 107, "nano_usd": 0}, "cause": "decided", "given": {"tokens": 0, "nano_usd": 0}, "state": "denied", "waiting": [], "deadline": "2026-11-26T11:39:36.897042+00:00", "decision": {"until": null, "identity": "key", "ticket_url": null, "decision_id": "d2", "grant_tokens": 0, "grant_nano_usd": 0}, "approval_id": "19030802-a386-46f8-81f2-fea621b22c96", "decisions_needed": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 48, '2026-11-26 11:09:37.366987+00', 'agent', 'agent:t-10c9c812e597/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-10c9c812e597", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 49, '2026-11-26 11:09:37.425617+00', 'agent', 'agent:t-10c9c812e597/a', NULL, NULL, '{"reason": "denied", "status": "refused", "task_id": "t-10c9c812e597", "agent_id": "a", "short_scope": "task:t-10c9c812e597"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 50, '2026-11-26 11:09:37.454962+00', 'task', 'task:t-10c9c812e597', NULL, NULL, '{"status": "refused", "task_id": "t-10c9c812e597", "session_id": "s-t-10c9c812e597"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 51, '2026-11-26 11:09:37.769537+00', 'task', 'task:t-76c85f06c120', NULL, NULL, '{"status": "running", "task_id": "t-76c85f06c120", "session_id": "s-t-76c85f06c120"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 52, '2026-11-26 11:09:37.938075+00', 'agent', 'agent:t-76c85f06c120/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-76c85f06c120", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 53, '2026-11-26 11:09:38.01637+00', 'turn', 'agent:t-76c85f06c120/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "20", "task_id": "t-76c85f06c120", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 54, '2026-11-26 11:09:38.081755+00', 'turn', 'agent:t-76c85f06c120/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "20", "task_id": "t-76c85f06c120", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 55, '2026-11-26 11:09:39.278524+00', 'approval', 'agent:t-76c85f06c120/a', '-infinity', NULL, '{"by": null, "asked": {"tokens": 13, "nano_usd": 0}, "cause": "opened", "given": {"tokens": 0, "nano_usd": 0}, "state": "pending", "waiting": [{"task_id": "t-76c85f06c120", "agent_id": "a"}], "deadline": "2026-11-26T11:39:39.278524+00:00", "decision": null, "approval_id": "20f397b4-57ef-46aa-827d-40a0eb2020b2", "decisions_needed": 1}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 56, '2026-11-26 11:09:39.337451+00', 'agent', 'agent:t-76c85f06c120/a', NULL, NULL, '{"reason": null, "status": "waiting_approval", "task_id": "t-76c85f06c120", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 87, '2026-11-26 11:09:45.912309+00', 'agent', 'agent:t-3bce02b17032/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-3bce02b17032", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 88, '2026-11-26 11:09:45.946783+00', 'task', 'task:t-3bce02b17032', NULL, NULL, '{"status": "completed", "task_id": "t-3bce02b17032", "session_id": "long"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 57, '2026-11-26 11:09:39.411977+00', 'approval', 'agent:t-76c85f06c120/a', '-infinity', NULL, '{"by": "boss", "asked": {"tokens": 13, "nano_usd": 0}, "cause": "decided", "given": {"tokens": 13, "nano_usd": 0}, "state": "approved", "waiting": [], "deadline": "2026-11-26T11:39:39.278524+00:00", "decision": {"until": null, "identity": "key", "ticket_url": null, "decision_id": "d3", "grant_tokens": 13, "grant_nano_usd": 0}, "approval_id": "20f397b4-57ef-46aa-827d-40a0eb2020b2", "decisions_needed": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 58, '2026-11-26 11:09:39.601882+00', 'agent', 'agent:t-76c85f06c120/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-76c85f06c120", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 59, '2026-11-26 11:09:39.649752+00', 'threshold', 'agent:t-76c85f06c120/a', '-infinity', 0.8, '{"held": {"tokens": 144, "nano_usd": 1110000}, "mode": "approval", "limit": {"tokens": 150, "nano_usd": null}, "spent": {"tokens": 19, "nano_usd": 62500}, "granted": {"tokens": 13, "nano_usd": 0}}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 60, '2026-11-26 11:09:39.658831+00', 'turn', 'agent:t-76c85f06c120/a', NULL, NULL, '{"step": "admitted", "turn": 2, "asked": {"tokens": 144, "nano_usd": 1110000}, "model": "openai/gpt-4o", "hold_id": "21", "task_id": "t-76c85f06c120", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 61, '2026-11-26 11:09:39.707783+00', 'turn', 'agent:t-76c85f06c120/a', NULL, NULL, '{"step": "settled", "turn": 2, "model": "openai/gpt-4o", "usage": {"input": 44, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "21", "task_id": "t-76c85f06c120", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 62, '2026-11-26 11:09:39.78301+00', 'agent', 'agent:t-76c85f06c120/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-76c85f06c120", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 63, '2026-11-26 11:09:39.847747+00', 'task', 'task:t-76c85f06c120', NULL, NULL, '{"status": "completed", "task_id": "t-76c85f06c120", "session_id": "s-t-76c85f06c120"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 64, '2026-11-26 11:09:40.147103+00', 'task', 'task:t-4d205a2dc661', NULL, NULL, '{"status": "running", "task_id": "t-4d205a2dc661", "session_id": "s-t-4d205a2dc661"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 65, '2026-11-26 11:09:40.305715+00', 'agent', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-4d205a2dc661", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 66, '2026-11-26 11:09:40.342867+00', 'turn', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "24", "task_id": "t-4d205a2dc661", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 67, '2026-11-26 11:09:40.488135+00', 'task', 'task:t-4d205a2dc661', NULL, NULL, '{"status": "paused", "task_id": "t-4d205a2dc661", "session_id": "s-t-4d205a2dc661"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 68, '2026-11-26 11:09:40.596639+00', 'turn', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 17, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "24", "task_id": "t-4d205a2dc661", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 69, '2026-11-26 11:09:40.697721+00', 'agent', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"reason": null, "status": "paused", "task_id": "t-4d205a2dc661", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 70, '2026-11-26 11:09:40.810635+00', 'task', 'task:t-4d205a2dc661', NULL, NULL, '{"status": "running", "task_id": "t-4d205a2dc661", "session_id": "s-t-4d205a2dc661"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 71, '2026-11-26 11:09:40.819288+00', 'agent', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-4d205a2dc661", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 72, '2026-11-26 11:09:40.978904+00', 'turn', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"step": "admitted", "turn": 2, "asked": {"tokens": 144, "nano_usd": 1110000}, "model": "openai/gpt-4o", "hold_id": "25", "task_id": "t-4d205a2dc661", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 73, '2026-11-26 11:09:41.032814+00', 'turn', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"step": "settled", "turn": 2, "model": "openai/gpt-4o", "usage": {"input": 44, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "25", "task_id": "t-4d205a2dc661", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 74, '2026-11-26 11:09:41.082272+00', 'agent', 'agent:t-4d205a2dc661/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-4d205a2dc661", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 75, '2026-11-26 11:09:41.125058+00', 'task', 'task:t-4d205a2dc661', NULL, NULL, '{"status": "completed", "task_id": "t-4d205a2dc661", "session_id": "s-t-4d205a2dc661"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 76, '2026-11-26 11:09:41.432656+00', 'task', 'task:t-7594dfea36ed', NULL, NULL, '{"status": "running", "task_id": "t-7594dfea36ed", "session_id": "s-t-7594dfea36ed"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 77, '2026-11-26 11:09:41.629115+00', 'agent', 'agent:t-7594dfea36ed/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-7594dfea36ed", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 78, '2026-11-26 11:09:41.675847+00', 'turn', 'agent:t-7594dfea36ed/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 117, "nano_usd": 1042500}, "model": "openai/gpt-4o", "hold_id": "27", "task_id": "t-7594dfea36ed", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 79, '2026-11-26 11:09:41.765361+00', 'agent', 'agent:t-7594dfea36ed/b', NULL, NULL, '{"reason": "cancelled", "status": "cancelled", "task_id": "t-7594dfea36ed", "agent_id": "b", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 80, '2026-11-26 11:09:42.758736+00', 'agent', 'agent:t-7594dfea36ed/a', NULL, NULL, '{"reason": "cancelled", "status": "cancelled", "task_id": "t-7594dfea36ed", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 81, '2026-11-26 11:09:42.801324+00', 'task', 'task:t-7594dfea36ed', NULL, NULL, '{"status": "cancelled", "task_id": "t-7594dfea36ed", "session_id": "s-t-7594dfea36ed"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 82, '2026-11-26 11:09:43.140479+00', 'task', 'task:t-3bce02b17032', NULL, NULL, '{"status": "running", "task_id": "t-3bce02b17032", "session_id": "long"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 83, '2026-11-26 11:09:45.649348+00', 'compression', 'session:long', NULL, NULL, '{"model": null, "method": "extractive", "thread": "", "trigger": "overflow", "version": 1, "session_id": "long", "tokens_after": 688, "tokens_before": 4235}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 84, '2026-11-26 11:09:45.761182+00', 'agent', 'agent:t-3bce02b17032/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-3bce02b17032", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 85, '2026-11-26 11:09:45.799149+00', 'turn', 'agent:t-3bce02b17032/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 1456, "nano_usd": 4390000}, "model": "openai/gpt-4o", "hold_id": "29", "task_id": "t-3bce02b17032", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 86, '2026-11-26 11:09:45.879605+00', 'turn', 'agent:t-3bce02b17032/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 1356, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "29", "task_id": "t-3bce02b17032", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 89, '2026-11-26 11:09:46.266047+00', 'task', 'task:t-6bf79b2ae0d1', NULL, NULL, '{"status": "running", "task_id": "t-6bf79b2ae0d1", "session_id": "longer"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 90, '2026-11-26 11:09:46.474912+00', 'agent', 'agent:t-6bf79b2ae0d1/a', NULL, NULL, '{"reason": null, "status": "running", "task_id": "t-6bf79b2ae0d1", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 91, '2026-11-26 11:09:46.521367+00', 'turn', 'agent:t-6bf79b2ae0d1/a', NULL, NULL, '{"step": "admitted", "turn": 1, "asked": {"tokens": 4737, "nano_usd": 12592500}, "model": "openai/gpt-4o", "hold_id": "32", "task_id": "t-6bf79b2ae0d1", "agent_id": "a", "delay_ms": 0}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 92, '2026-11-26 11:09:46.783107+00', 'turn', 'agent:t-6bf79b2ae0d1/a', NULL, NULL, '{"step": "settled", "turn": 1, "model": "openai/gpt-4o", "usage": {"input": 4637, "output": 2, "unsplit": 0, "estimated": false, "reasoning": 0, "cache_read": 0, "cache_write_1h": 0, "cache_write_5m": 0}, "hold_id": "32", "task_id": "t-6bf79b2ae0d1", "agent_id": "a", "output_capped": false}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 93, '2026-11-26 11:09:46.868528+00', 'agent', 'agent:t-6bf79b2ae0d1/a', NULL, NULL, '{"reason": "answered", "status": "completed", "task_id": "t-6bf79b2ae0d1", "agent_id": "a", "short_scope": null}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 94, '2026-11-26 11:09:46.978667+00', 'task', 'task:t-6bf79b2ae0d1', NULL, NULL, '{"status": "completed", "task_id": "t-6bf79b2ae0d1", "session_id": "longer"}', NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES ('acme', 95, '2026-11-26 11:09:47.724681+00', 'compression', 'session:longer', NULL, NULL, '{"model": null, "method": "extractive", "thread": "", "trigger": "soft_mark", "version": 1, "session_id": "longer", "tokens_after": 1056, "tokens_before": 4235}', NULL);


--
-- Data for Name: fact_progress; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.fact_progress VALUES ('acme', 'long', '', 61, 3);
INSERT INTO public.fact_progress VALUES ('acme', 'longer', '', 63, 3);


--
-- Data for Name: facts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.facts VALUES ('acme', 'long', 1, '', 'number', 'user', 'mentions', '0 tells', 'Sentence 0 tells about topic 0.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 2, '', 'number', 'assistant', 'mentions', '1 tells', 'Sentence 1 tells about topic 1.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 3, '', 'number', 'user', 'mentions', '2 tells', 'Sentence 2 tells about topic 2.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 4, '', 'number', 'assistant', 'mentions', '3 tells', 'Sentence 3 tells about topic 3.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 5, '', 'number', 'user', 'mentions', '4 tells', 'Sentence 4 tells about topic 4.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 6, '', 'number', 'assistant', 'mentions', '5 tells', 'Sentence 5 tells about topic 5.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 7, '', 'number', 'user', 'mentions', '6 tells', 'Sentence 6 tells about topic 6.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 8, '', 'number', 'assistant', 'mentions', '7 tells', 'Sentence 7 tells about topic 7.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 9, '', 'number', 'user', 'mentions', '8 tells', 'Sentence 8 tells about topic 8.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 10, '', 'number', 'assistant', 'mentions', '9 tells', 'Sentence 9 tells about topic 9.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 11, '', 'number', 'user', 'mentions', '10 tells', 'Sentence 10 tells about topic 10.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 12, '', 'number', 'assistant', 'mentions', '11 tells', 'Sentence 11 tells about topic 11.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 13, '', 'number', 'user', 'mentions', '12 tells', 'Sentence 12 tells about topic 12.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 14, '', 'number', 'assistant', 'mentions', '13 tells', 'Sentence 13 tells about topic 13.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 15, '', 'number', 'user', 'mentions', '14 tells', 'Sentence 14 tells about topic 14.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 16, '', 'number', 'assistant', 'mentions', '15 tells', 'Sentence 15 tells about topic 15.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 17, '', 'number', 'user', 'mentions', '16 tells', 'Sentence 16 tells about topic 16.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 18, '', 'number', 'assistant', 'mentions', '17 tells', 'Sentence 17 tells about topic 17.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 19, '', 'number', 'user', 'mentions', '18 tells', 'Sentence 18 tells about topic 18.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 20, '', 'number', 'assistant', 'mentions', '19 tells', 'Sentence 19 tells about topic 19.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 21, '', 'number', 'user', 'mentions', '20 tells', 'Sentence 20 tells about topic 20.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 22, '', 'number', 'assistant', 'mentions', '21 tells', 'Sentence 21 tells about topic 21.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 23, '', 'number', 'user', 'mentions', '22 tells', 'Sentence 22 tells about topic 22.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 24, '', 'number', 'assistant', 'mentions', '23 tells', 'Sentence 23 tells about topic 23.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 25, '', 'number', 'user', 'mentions', '24 tells', 'Sentence 24 tells about topic 24.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 26, '', 'number', 'assistant', 'mentions', '25 tells', 'Sentence 25 tells about topic 25.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 27, '', 'number', 'user', 'mentions', '26 tells', 'Sentence 26 tells about topic 26.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 28, '', 'number', 'assistant', 'mentions', '27 tells', 'Sentence 27 tells about topic 27.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 29, '', 'number', 'user', 'mentions', '28 tells', 'Sentence 28 tells about topic 28.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 30, '', 'number', 'assistant', 'mentions', '29 tells', 'Sentence 29 tells about topic 29.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 31, '', 'number', 'user', 'mentions', '30 tells', 'Sentence 30 tells about topic 30.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 32, '', 'number', 'assistant', 'mentions', '31 tells', 'Sentence 31 tells about topic 31.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 33, '', 'number', 'user', 'mentions', '32 tells', 'Sentence 32 tells about topic 32.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 34, '', 'number', 'assistant', 'mentions', '33 tells', 'Sentence 33 tells about topic 33.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 35, '', 'number', 'user', 'mentions', '34 tells', 'Sentence 34 tells about topic 34.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 36, '', 'number', 'assistant', 'mentions', '35 tells', 'Sentence 35 tells about topic 35.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 37, '', 'number', 'user', 'mentions', '36 tells', 'Sentence 36 tells about topic 36.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 38, '', 'number', 'assistant', 'mentions', '37 tells', 'Sentence 37 tells about topic 37.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 39, '', 'number', 'user', 'mentions', '38 tells', 'Sentence 38 tells about topic 38.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 40, '', 'number', 'assistant', 'mentions', '39 tells', 'Sentence 39 tells about topic 39.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 41, '', 'number', 'user', 'mentions', '40 tells', 'Sentence 40 tells about topic 40.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 42, '', 'number', 'assistant', 'mentions', '41 tells', 'Sentence 41 tells about topic 41.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 43, '', 'number', 'user', 'mentions', '42 tells', 'Sentence 42 tells about topic 42.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 44, '', 'number', 'assistant', 'mentions', '43 tells', 'Sentence 43 tells about topic 43.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 45, '', 'number', 'user', 'mentions', '44 tells', 'Sentence 44 tells about topic 44.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 46, '', 'number', 'assistant', 'mentions', '45 tells', 'Sentence 45 tells about topic 45.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 47, '', 'number', 'user', 'mentions', '46 tells', 'Sentence 46 tells about topic 46.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 48, '', 'number', 'assistant', 'mentions', '47 tells', 'Sentence 47 tells about topic 47.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 49, '', 'number', 'user', 'mentions', '48 tells', 'Sentence 48 tells about topic 48.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 50, '', 'number', 'assistant', 'mentions', '49 tells', 'Sentence 49 tells about topic 49.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 51, '', 'number', 'user', 'mentions', '50 tells', 'Sentence 50 tells about topic 50.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 52, '', 'number', 'assistant', 'mentions', '51 tells', 'Sentence 51 tells about topic 51.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 53, '', 'number', 'user', 'mentions', '52 tells', 'Sentence 52 tells about topic 52.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 54, '', 'number', 'assistant', 'mentions', '53 tells', 'Sentence 53 tells about topic 53.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 55, '', 'number', 'user', 'mentions', '54 tells', 'Sentence 54 tells about topic 54.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 56, '', 'number', 'assistant', 'mentions', '55 tells', 'Sentence 55 tells about topic 55.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 57, '', 'number', 'user', 'mentions', '56 tells', 'Sentence 56 tells about topic 56.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 58, '', 'number', 'assistant', 'mentions', '57 tells', 'Sentence 57 tells about topic 57.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 59, '', 'number', 'user', 'mentions', '58 tells', 'Sentence 58 tells about topic 58.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'long', 60, '', 'number', 'assistant', 'mentions', '59 tells', 'Sentence 59 tells about topic 59.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 1, '', 'number', 'user', 'mentions', '0 tells', 'Sentence 0 tells about topic 0.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 2, '', 'number', 'assistant', 'mentions', '1 tells', 'Sentence 1 tells about topic 1.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 3, '', 'number', 'user', 'mentions', '2 tells', 'Sentence 2 tells about topic 2.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 4, '', 'number', 'assistant', 'mentions', '3 tells', 'Sentence 3 tells about topic 3.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 5, '', 'number', 'user', 'mentions', '4 tells', 'Sentence 4 tells about topic 4.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 6, '', 'number', 'assistant', 'mentions', '5 tells', 'Sentence 5 tells about topic 5.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 7, '', 'number', 'user', 'mentions', '6 tells', 'Sentence 6 tells about topic 6.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 8, '', 'number', 'assistant', 'mentions', '7 tells', 'Sentence 7 tells about topic 7.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 9, '', 'number', 'user', 'mentions', '8 tells', 'Sentence 8 tells about topic 8.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 10, '', 'number', 'assistant', 'mentions', '9 tells', 'Sentence 9 tells about topic 9.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 11, '', 'number', 'user', 'mentions', '10 tells', 'Sentence 10 tells about topic 10.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 12, '', 'number', 'assistant', 'mentions', '11 tells', 'Sentence 11 tells about topic 11.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 13, '', 'number', 'user', 'mentions', '12 tells', 'Sentence 12 tells about topic 12.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 14, '', 'number', 'assistant', 'mentions', '13 tells', 'Sentence 13 tells about topic 13.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 15, '', 'number', 'user', 'mentions', '14 tells', 'Sentence 14 tells about topic 14.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 16, '', 'number', 'assistant', 'mentions', '15 tells', 'Sentence 15 tells about topic 15.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 17, '', 'number', 'user', 'mentions', '16 tells', 'Sentence 16 tells about topic 16.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 18, '', 'number', 'assistant', 'mentions', '17 tells', 'Sentence 17 tells about topic 17.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 19, '', 'number', 'user', 'mentions', '18 tells', 'Sentence 18 tells about topic 18.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 20, '', 'number', 'assistant', 'mentions', '19 tells', 'Sentence 19 tells about topic 19.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 21, '', 'number', 'user', 'mentions', '20 tells', 'Sentence 20 tells about topic 20.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 22, '', 'number', 'assistant', 'mentions', '21 tells', 'Sentence 21 tells about topic 21.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 23, '', 'number', 'user', 'mentions', '22 tells', 'Sentence 22 tells about topic 22.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 24, '', 'number', 'assistant', 'mentions', '23 tells', 'Sentence 23 tells about topic 23.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 25, '', 'number', 'user', 'mentions', '24 tells', 'Sentence 24 tells about topic 24.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 26, '', 'number', 'assistant', 'mentions', '25 tells', 'Sentence 25 tells about topic 25.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 27, '', 'number', 'user', 'mentions', '26 tells', 'Sentence 26 tells about topic 26.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 28, '', 'number', 'assistant', 'mentions', '27 tells', 'Sentence 27 tells about topic 27.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 29, '', 'number', 'user', 'mentions', '28 tells', 'Sentence 28 tells about topic 28.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 30, '', 'number', 'assistant', 'mentions', '29 tells', 'Sentence 29 tells about topic 29.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 31, '', 'number', 'user', 'mentions', '30 tells', 'Sentence 30 tells about topic 30.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 32, '', 'number', 'assistant', 'mentions', '31 tells', 'Sentence 31 tells about topic 31.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 33, '', 'number', 'user', 'mentions', '32 tells', 'Sentence 32 tells about topic 32.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 34, '', 'number', 'assistant', 'mentions', '33 tells', 'Sentence 33 tells about topic 33.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 35, '', 'number', 'user', 'mentions', '34 tells', 'Sentence 34 tells about topic 34.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 36, '', 'number', 'assistant', 'mentions', '35 tells', 'Sentence 35 tells about topic 35.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 37, '', 'number', 'user', 'mentions', '36 tells', 'Sentence 36 tells about topic 36.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 38, '', 'number', 'assistant', 'mentions', '37 tells', 'Sentence 37 tells about topic 37.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 39, '', 'number', 'user', 'mentions', '38 tells', 'Sentence 38 tells about topic 38.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 40, '', 'number', 'assistant', 'mentions', '39 tells', 'Sentence 39 tells about topic 39.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 41, '', 'number', 'user', 'mentions', '40 tells', 'Sentence 40 tells about topic 40.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 42, '', 'number', 'assistant', 'mentions', '41 tells', 'Sentence 41 tells about topic 41.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 43, '', 'number', 'user', 'mentions', '42 tells', 'Sentence 42 tells about topic 42.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 44, '', 'number', 'assistant', 'mentions', '43 tells', 'Sentence 43 tells about topic 43.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 45, '', 'number', 'user', 'mentions', '44 tells', 'Sentence 44 tells about topic 44.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 46, '', 'number', 'assistant', 'mentions', '45 tells', 'Sentence 45 tells about topic 45.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 47, '', 'number', 'user', 'mentions', '46 tells', 'Sentence 46 tells about topic 46.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 48, '', 'number', 'assistant', 'mentions', '47 tells', 'Sentence 47 tells about topic 47.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 49, '', 'number', 'user', 'mentions', '48 tells', 'Sentence 48 tells about topic 48.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 50, '', 'number', 'assistant', 'mentions', '49 tells', 'Sentence 49 tells about topic 49.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 51, '', 'number', 'user', 'mentions', '50 tells', 'Sentence 50 tells about topic 50.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 52, '', 'number', 'assistant', 'mentions', '51 tells', 'Sentence 51 tells about topic 51.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 53, '', 'number', 'user', 'mentions', '52 tells', 'Sentence 52 tells about topic 52.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 54, '', 'number', 'assistant', 'mentions', '53 tells', 'Sentence 53 tells about topic 53.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 55, '', 'number', 'user', 'mentions', '54 tells', 'Sentence 54 tells about topic 54.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 56, '', 'number', 'assistant', 'mentions', '55 tells', 'Sentence 55 tells about topic 55.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 57, '', 'number', 'user', 'mentions', '56 tells', 'Sentence 56 tells about topic 56.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 58, '', 'number', 'assistant', 'mentions', '57 tells', 'Sentence 57 tells about topic 57.', 'assistant', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 59, '', 'number', 'user', 'mentions', '58 tells', 'Sentence 58 tells about topic 58.', 'user', NULL);
INSERT INTO public.facts VALUES ('acme', 'longer', 60, '', 'number', 'assistant', 'mentions', '59 tells', 'Sentence 59 tells about topic 59.', 'assistant', NULL);


--
-- Data for Name: forgotten_events; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: grants; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.grants OVERRIDING SYSTEM VALUE VALUES ('acme', 1, 24, '-infinity', 107, 0, NULL, '8095d5f7-a7ea-4a60-a744-82ff07fb3c2a', 'd1', 'boss', '2026-11-26 11:09:35.912457+00', NULL, false);
INSERT INTO public.grants OVERRIDING SYSTEM VALUE VALUES ('acme', 2, 34, '-infinity', 13, 0, NULL, '20f397b4-57ef-46aa-827d-40a0eb2020b2', 'd3', 'boss', '2026-11-26 11:09:39.411977+00', NULL, false);


--
-- Data for Name: holds; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 1, '91ef0c91-fa02-5551-894b-82b3fe3170d6', '\xfbb6cce50fd18492d804e28f8d5757805cf22f295c8d1b92d78c07e0b1109833', '{}', '{}', '', NULL, '{}', '{}', 'released', 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '00:02:00', NULL, '2026-11-26 11:09:15.518006+00', '2026-11-26 11:09:15.614553+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 2, '82d4a2fa-3651-5ffa-a72a-aff6a2932a81', '\x0b132e6e160d009d6831b689a3393db3b66a1d58fb14467f604544dec6f335c5', '{tenant:acme,session:s-t-e18744aa5bc1,task:t-e18744aa5bc1,agent:t-e18744aa5bc1/a}', '{model:openai/gpt-4o}', 't-e18744aa5bc1', 'openai/gpt-4o', '{5,3,4,6}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 21, 82500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-e18744aa5bc1", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-e18744aa5bc1", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-e18744aa5bc1/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:09:59.644245+00', '2026-11-26 11:09:15.551015+00', '2026-11-26 11:09:29.74075+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 4, '86089d2f-2e00-52ec-93da-5ca9f15e34b4', '\xedf96125680148959aa91825013e6f38c67b433c74a5b1893a562af196b88d65', '{tenant:acme,session:s-t-e18744aa5bc1,task:t-e18744aa5bc1,agent:t-e18744aa5bc1/a}', '{model:openai/gpt-4o}', 't-e18744aa5bc1', 'openai/gpt-4o', '{5,3,4,6}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 167, 1167500, 0, 0, 69, 187500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [21, 82500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-e18744aa5bc1", "spent": [21, 82500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-e18744aa5bc1", "spent": [21, 82500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-e18744aa5bc1/a", "spent": [21, 82500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:09:59.936978+00', '2026-11-26 11:09:29.853035+00', '2026-11-26 11:09:29.955212+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 6, '85ced316-5d99-575b-a3ec-4e66183ee2d4', '\xee5314130317c674ededed997abce4f0683f007a6f3335509af8bb1c1062be71', '{tenant:acme,session:s-t-e18744aa5bc1,task:t-e18744aa5bc1,agent:t-e18744aa5bc1/b}', '{model:openai/gpt-4o}', 't-e18744aa5bc1', 'openai/gpt-4o', '{5,3,4,10}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 123, 1057500, 0, 0, 25, 77500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [90, 270000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-e18744aa5bc1", "spent": [90, 270000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-e18744aa5bc1", "spent": [90, 270000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-e18744aa5bc1/b", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:00.245573+00', '2026-11-26 11:09:30.161656+00', '2026-11-26 11:09:30.262746+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 8, 'd5ae85c3-0066-544e-a92d-bc97a96f6d84', '\xd1bfefd718ec6a574c84c01e28f78cb99520927cebd0ec4b3a19fdf561c884be', '{tenant:acme,session:slow,task:t-517888ebef50,agent:t-517888ebef50/a}', '{model:openai/gpt-4o}', 't-517888ebef50', 'openai/gpt-4o', '{5,14,17,15}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 136, 1105000, 2, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [115, 347500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [10, null], "scope": "session:slow", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": [["1.00", 100]], "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-517888ebef50", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-517888ebef50/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:03.039153+00', '2026-11-26 11:09:31.208571+00', '2026-11-26 11:09:33.085476+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 10, 'other', '\x0d9871a7c064bf86c7bed2e34828e6a88f7f38855ad347721a78ca00dc5381c5', '{session:shared}', '{}', '', NULL, '{19}', '{-infinity}', 'released', 900, 0, 0, 0, 0, 0, 0, '[{"held": [0, 0], "mode": "hard", "limit": [1000, null], "scope": "session:shared", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:03.558422+00', '2026-11-26 11:09:33.558422+00', '2026-11-26 11:09:34.00566+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 11, 'c39cc9ff-26cd-56d8-b0a8-45c80de1b364', '\xd8732c092a5c3ed40d875e651c884682813821a066a94aac2b794d1fa4d365b9', '{tenant:acme,session:shared,task:t-395f69316abb,agent:t-395f69316abb/a}', '{model:openai/gpt-4o}', 't-395f69316abb', 'openai/gpt-4o', '{5,19,22,20}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 19, 62500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [251, 1452500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "hard", "limit": [1000, null], "scope": "session:shared", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-395f69316abb", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-395f69316abb/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:05.016561+00', '2026-11-26 11:09:33.870264+00', '2026-11-26 11:09:35.049639+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 15, '239ec455-d850-5521-b009-cb27c440b99f', '\x00da82f25eff3aa162da7e05802d7569e07b64839b3b87dd70e1e8e8b1723ff3', '{tenant:acme,session:s-t-20d268708884,task:t-20d268708884,agent:t-20d268708884/a}', '{model:openai/gpt-4o}', 't-20d268708884', 'openai/gpt-4o', '{5,26,24,25}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 19, 62500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [270, 1515000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-20d268708884", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "approval", "limit": [10, null], "scope": "task:t-20d268708884", "spent": [0, 0], "frozen": false, "queued": false, "granted": [107, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-20d268708884/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:06.123317+00', '2026-11-26 11:09:35.686755+00', '2026-11-26 11:09:36.156926+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 18, 'ab05faab-3bbd-5fdd-ac4f-9c72b78718d7', '\x290b9a72ccf4b0739c1db3037eadb25d9e5e6591408009246d7e1781ddcb9cd5', '{}', '{}', '', NULL, '{}', '{}', 'released', 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '00:02:00', NULL, '2026-11-26 11:09:36.837541+00', '2026-11-26 11:09:37.419934+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 20, '77327c0e-b256-5bf3-9721-e3b77d1015ea', '\x49afbbe5e3f45658560d2dc3634156d6ca11f920bd8b06bdd708a4d7a5cf97b6', '{tenant:acme,session:s-t-76c85f06c120,task:t-76c85f06c120,agent:t-76c85f06c120/a}', '{model:openai/gpt-4o}', 't-76c85f06c120', 'openai/gpt-4o', '{5,36,37,34}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 19, 62500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [289, 1577500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-76c85f06c120", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-76c85f06c120", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "approval", "limit": [150, null], "scope": "agent:t-76c85f06c120/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:08.066505+00', '2026-11-26 11:09:37.950253+00', '2026-11-26 11:09:38.084191+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 21, '430a6d10-8222-58bd-ad98-6b17a4294cf6', '\xb6ac56a69ed72caf6696ce1451db31c024e3cf175b3d409ba3ad8dfe8b859d1c', '{tenant:acme,session:s-t-76c85f06c120,task:t-76c85f06c120,agent:t-76c85f06c120/a}', '{model:openai/gpt-4o}', 't-76c85f06c120', 'openai/gpt-4o', '{5,36,37,34}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 144, 1110000, 0, 0, 46, 130000, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [308, 1640000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-76c85f06c120", "spent": [19, 62500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-76c85f06c120", "spent": [19, 62500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "approval", "limit": [150, null], "scope": "agent:t-76c85f06c120/a", "spent": [19, 62500], "frozen": false, "queued": false, "granted": [13, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:09.693066+00', '2026-11-26 11:09:39.217553+00', '2026-11-26 11:09:39.708926+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 24, 'fabfb047-7c53-535f-a013-d867b0ca603a', '\x3f0f090ae637b210d042d411b5597b2191d50bb7b90d687f19cc2b71caa23b85', '{tenant:acme,session:s-t-4d205a2dc661,task:t-4d205a2dc661,agent:t-4d205a2dc661/a}', '{model:openai/gpt-4o}', 't-4d205a2dc661', 'openai/gpt-4o', '{5,40,41,39}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 19, 62500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [354, 1770000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-4d205a2dc661", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-4d205a2dc661", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-4d205a2dc661/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:10.415593+00', '2026-11-26 11:09:40.316866+00', '2026-11-26 11:09:40.599968+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 25, '19b40f0c-4111-5b9f-b4e5-32a4143b5a37', '\xfd890773099c85c2782826ba9df10233a8a74e46913ee988ab283a45b2c74c8a', '{tenant:acme,session:s-t-4d205a2dc661,task:t-4d205a2dc661,agent:t-4d205a2dc661/a}', '{model:openai/gpt-4o}', 't-4d205a2dc661', 'openai/gpt-4o', '{5,40,41,39}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 144, 1110000, 0, 0, 46, 130000, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [373, 1832500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-4d205a2dc661", "spent": [19, 62500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-4d205a2dc661", "spent": [19, 62500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-4d205a2dc661/a", "spent": [19, 62500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:11.014196+00', '2026-11-26 11:09:40.95301+00', '2026-11-26 11:09:41.03538+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 27, 'c9fbd4a6-a760-566b-9c26-c59f8370914e', '\xc33739e0084a79480a2b007e2cf268441e2e62e64f74204a167a9bbce2cf711e', '{tenant:acme,session:s-t-7594dfea36ed,task:t-7594dfea36ed,agent:t-7594dfea36ed/a}', '{model:openai/gpt-4o}', 't-7594dfea36ed', 'openai/gpt-4o', '{5,44,45,43}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 117, 1042500, 0, 0, 17, 42500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [419, 1962500], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:s-t-7594dfea36ed", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-7594dfea36ed", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-7594dfea36ed/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:11.733209+00', '2026-11-26 11:09:41.64489+00', '2026-11-26 11:09:42.716866+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 29, 'b5e9611a-2404-58fb-8b6d-1f59a7924418', '\x8cae7892b5d9d5bd10c631e4b7b11bd7ea0a8081b4b4984e183616a706be6113', '{tenant:acme,session:long,task:t-3bce02b17032,agent:t-3bce02b17032/a}', '{model:openai/gpt-4o}', 't-3bce02b17032', 'openai/gpt-4o', '{5,49,50,47}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 1456, 4390000, 0, 0, 1358, 3410000, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [436, 2005000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:long", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-3bce02b17032", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "hard", "limit": [3000, null], "scope": "agent:t-3bce02b17032/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:15.855102+00', '2026-11-26 11:09:45.766805+00', '2026-11-26 11:09:45.881731+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 31, '09457bfb-14d0-5f6f-8111-2dcd0498a32f', NULL, '{}', '{}', '', NULL, '{}', '{}', 'released', 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '00:02:00', NULL, '2026-11-26 11:09:45.90953+00', '2026-11-26 11:09:45.90953+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 32, 'e957c103-140d-5814-8b4f-353773222948', '\x245dbe21443c079df2327214d960622eea2acd0044effdee40f1a7e6dde86085', '{tenant:acme,session:longer,task:t-6bf79b2ae0d1,agent:t-6bf79b2ae0d1/a}', '{model:openai/gpt-4o}', 't-6bf79b2ae0d1', 'openai/gpt-4o', '{5,53,54,52}', '{-infinity,-infinity,-infinity,-infinity}', 'settled', 4737, 12592500, 0, 0, 4639, 11612500, 1, '[{"held": [0, 0], "mode": "soft", "limit": [null, null], "scope": "tenant:acme", "spent": [1794, 5415000], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "session:longer", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [200000, null], "scope": "task:t-6bf79b2ae0d1", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}, {"held": [0, 0], "mode": "soft", "limit": [50000, null], "scope": "agent:t-6bf79b2ae0d1/a", "spent": [0, 0], "frozen": false, "queued": false, "granted": [0, 0], "warn_at": [0.8], "backpressure": null, "window_start": null}]', NULL, '00:00:30', '2026-11-26 11:10:16.72141+00', '2026-11-26 11:09:46.486481+00', '2026-11-26 11:09:46.79386+00');
INSERT INTO public.holds OVERRIDING SYSTEM VALUE VALUES ('acme', 34, 'f306990c-16f3-5b07-b7af-2d5ced3c1b0e', NULL, '{}', '{}', '', NULL, '{}', '{}', 'released', 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '00:02:00', NULL, '2026-11-26 11:09:46.857115+00', '2026-11-26 11:09:46.857115+00');


--
-- Data for Name: journal; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 1, '2026-11-26 11:09:15.551015+00', 'hold', 2, NULL, NULL, '{5,3,4,6}', '{-infinity,-infinity,-infinity,-infinity}', '{1,1,1,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 2, '2026-11-26 11:09:29.74075+00', 'settle', 2, 1, NULL, '{5,3,4,6}', '{-infinity,-infinity,-infinity,-infinity}', '{2,2,2,2}', 21, -117, 0, 0, 82500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 3, '2026-11-26 11:09:29.853035+00', 'hold', 4, NULL, NULL, '{5,3,4,6}', '{-infinity,-infinity,-infinity,-infinity}', '{3,3,3,3}', 0, 167, 0, 0, 0, 1167500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 4, '2026-11-26 11:09:29.955212+00', 'settle', 4, 1, NULL, '{5,3,4,6}', '{-infinity,-infinity,-infinity,-infinity}', '{4,4,4,4}', 69, -167, 0, 0, 187500, -1167500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 5, '2026-11-26 11:09:30.161656+00', 'hold', 6, NULL, NULL, '{5,3,4,10}', '{-infinity,-infinity,-infinity,-infinity}', '{5,5,5,1}', 0, 123, 0, 0, 0, 1057500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 6, '2026-11-26 11:09:30.262746+00', 'settle', 6, 1, NULL, '{5,3,4,10}', '{-infinity,-infinity,-infinity,-infinity}', '{6,6,6,2}', 25, -123, 0, 0, 77500, -1057500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 7, '2026-11-26 11:09:31.208571+00', 'hold', 8, NULL, NULL, '{5,14,17,15}', '{-infinity,-infinity,-infinity,-infinity}', '{7,1,1,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 8, '2026-11-26 11:09:33.039153+00', 'presumed', 8, 1, NULL, '{5,14,17,15}', '{-infinity,-infinity,-infinity,-infinity}', '{8,2,2,2}', 117, -117, 0, 0, 1042500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 9, '2026-11-26 11:09:33.039153+00', 'top_up', 8, NULL, NULL, '{5,14,17,15}', '{-infinity,-infinity,-infinity,-infinity}', '{9,3,3,3}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 10, '2026-11-26 11:09:33.085476+00', 'settle', 8, 2, NULL, '{5,14,17,15}', '{-infinity,-infinity,-infinity,-infinity}', '{10,4,4,4}', 19, -117, 0, 0, 62500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 11, '2026-11-26 11:09:33.558422+00', 'hold', 10, NULL, NULL, '{19}', '{-infinity}', '{1}', 0, 900, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 12, '2026-11-26 11:09:34.00566+00', 'release', 10, NULL, NULL, '{19}', '{-infinity}', '{2}', 0, -900, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 13, '2026-11-26 11:09:34.946084+00', 'hold', 11, NULL, NULL, '{5,19,22,20}', '{-infinity,-infinity,-infinity,-infinity}', '{11,3,1,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 14, '2026-11-26 11:09:35.049639+00', 'settle', 11, 1, NULL, '{5,19,22,20}', '{-infinity,-infinity,-infinity,-infinity}', '{12,4,2,2}', 19, -117, 0, 0, 62500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 15, '2026-11-26 11:09:35.912457+00', 'grant', NULL, NULL, '1', '{24}', '{-infinity}', '{1}', 0, 0, 107, 0, 0, 0, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 16, '2026-11-26 11:09:36.067727+00', 'hold', 15, NULL, NULL, '{5,26,24,25}', '{-infinity,-infinity,-infinity,-infinity}', '{13,1,2,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 17, '2026-11-26 11:09:36.156926+00', 'settle', 15, 1, NULL, '{5,26,24,25}', '{-infinity,-infinity,-infinity,-infinity}', '{14,2,3,2}', 19, -117, 0, 0, 62500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 18, '2026-11-26 11:09:37.950253+00', 'hold', 20, NULL, NULL, '{5,36,37,34}', '{-infinity,-infinity,-infinity,-infinity}', '{15,1,1,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 19, '2026-11-26 11:09:38.084191+00', 'settle', 20, 1, NULL, '{5,36,37,34}', '{-infinity,-infinity,-infinity,-infinity}', '{16,2,2,2}', 19, -117, 0, 0, 62500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 20, '2026-11-26 11:09:39.411977+00', 'grant', NULL, NULL, '2', '{34}', '{-infinity}', '{3}', 0, 0, 13, 0, 0, 0, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 21, '2026-11-26 11:09:39.649752+00', 'hold', 21, NULL, NULL, '{5,36,37,34}', '{-infinity,-infinity,-infinity,-infinity}', '{17,3,3,4}', 0, 144, 0, 0, 0, 1110000, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 22, '2026-11-26 11:09:39.708926+00', 'settle', 21, 1, NULL, '{5,36,37,34}', '{-infinity,-infinity,-infinity,-infinity}', '{18,4,4,5}', 46, -144, 0, 0, 130000, -1110000, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 23, '2026-11-26 11:09:40.316866+00', 'hold', 24, NULL, NULL, '{5,40,41,39}', '{-infinity,-infinity,-infinity,-infinity}', '{19,1,1,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 24, '2026-11-26 11:09:40.599968+00', 'settle', 24, 1, NULL, '{5,40,41,39}', '{-infinity,-infinity,-infinity,-infinity}', '{20,2,2,2}', 19, -117, 0, 0, 62500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 25, '2026-11-26 11:09:40.95301+00', 'hold', 25, NULL, NULL, '{5,40,41,39}', '{-infinity,-infinity,-infinity,-infinity}', '{21,3,3,3}', 0, 144, 0, 0, 0, 1110000, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 26, '2026-11-26 11:09:41.03538+00', 'settle', 25, 1, NULL, '{5,40,41,39}', '{-infinity,-infinity,-infinity,-infinity}', '{22,4,4,4}', 46, -144, 0, 0, 130000, -1110000, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 27, '2026-11-26 11:09:41.64489+00', 'hold', 27, NULL, NULL, '{5,44,45,43}', '{-infinity,-infinity,-infinity,-infinity}', '{23,1,1,1}', 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 28, '2026-11-26 11:09:42.716866+00', 'settle', 27, 1, NULL, '{5,44,45,43}', '{-infinity,-infinity,-infinity,-infinity}', '{24,2,2,2}', 17, -117, 0, 0, 42500, -1042500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 29, '2026-11-26 11:09:45.766805+00', 'hold', 29, NULL, NULL, '{5,49,50,47}', '{-infinity,-infinity,-infinity,-infinity}', '{25,1,1,1}', 0, 1456, 0, 0, 0, 4390000, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 30, '2026-11-26 11:09:45.881731+00', 'settle', 29, 1, NULL, '{5,49,50,47}', '{-infinity,-infinity,-infinity,-infinity}', '{26,2,2,2}', 1358, -1456, 0, 0, 3410000, -4390000, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 31, '2026-11-26 11:09:46.486481+00', 'hold', 32, NULL, NULL, '{5,53,54,52}', '{-infinity,-infinity,-infinity,-infinity}', '{27,1,1,1}', 0, 4737, 0, 0, 0, 12592500, 0, 0, NULL, NULL, NULL);
INSERT INTO public.journal OVERRIDING SYSTEM VALUE VALUES ('acme', 32, '2026-11-26 11:09:46.79386+00', 'settle', 32, 1, NULL, '{5,53,54,52}', '{-infinity,-infinity,-infinity,-infinity}', '{28,2,2,2}', 4639, -4737, 0, 0, 11612500, -12592500, 0, 0, NULL, NULL, NULL);


--
-- Data for Name: keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.keys VALUES ('key-7c132daa15d5', 'acme', 'boss', 'approver', '\x44547c47a8e288929d98464a4307feb92ab6ccf881ab963927cafb0afbefcf42', 'test', '2026-11-26 11:09:35.855797+00', 'test', '2026-11-26 11:09:37.005661+00', NULL, NULL, '{}', '{}');
INSERT INTO public.keys VALUES ('key-08d648294125', 'acme', 'boss', 'approver', '\x74a4e31db2769105dfd0c108146371f4e530009d4709d92f368cb2103fbd9ed5', 'test', '2026-11-26 11:09:37.005661+00', NULL, NULL, NULL, NULL, '{}', '{}');


--
-- Data for Name: memory_postings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.memory_postings VALUES ('acme', 'long', 'sentenc', '', 0, '\x00000000080028000100000008002800020000000800280003000000080028000400000008002800050000000800280006000000080028000700000008002800080000000800280009000000080028000a000000080028000b000000080028000c000000080028000d000000080028000e000000080028000f0000000800280010000000080028001100000008002800120000000800280013000000080028001400000008002800150000000800280016000000080028001700000008002800180000000800280019000000080028001a000000080028001b000000080028001c000000080028001d000000080028001e000000080028001f0000000800280020000000080028002100000008002800220000000800280023000000080028002400000008002800250000000800280026000000080028002700000008002800280000000800280029000000080028002a000000080028002b000000080028002c000000080028002d000000080028002e000000080028002f0000000800280030000000080028003100000008002800320000000800280033000000080028003400000008002800350000000800280036000000080028003700000008002800380000000800280039000000080028003a000000080028003b00000008002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '0', '', 0, '\x0000000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', 'tell', '', 0, '\x00000000080028000100000008002800020000000800280003000000080028000400000008002800050000000800280006000000080028000700000008002800080000000800280009000000080028000a000000080028000b000000080028000c000000080028000d000000080028000e000000080028000f0000000800280010000000080028001100000008002800120000000800280013000000080028001400000008002800150000000800280016000000080028001700000008002800180000000800280019000000080028001a000000080028001b000000080028001c000000080028001d000000080028001e000000080028001f0000000800280020000000080028002100000008002800220000000800280023000000080028002400000008002800250000000800280026000000080028002700000008002800280000000800280029000000080028002a000000080028002b000000080028002c000000080028002d000000080028002e000000080028002f0000000800280030000000080028003100000008002800320000000800280033000000080028003400000008002800350000000800280036000000080028003700000008002800380000000800280039000000080028003a000000080028003b00000008002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', 'topic', '', 0, '\x00000000080028000100000008002800020000000800280003000000080028000400000008002800050000000800280006000000080028000700000008002800080000000800280009000000080028000a000000080028000b000000080028000c000000080028000d000000080028000e000000080028000f0000000800280010000000080028001100000008002800120000000800280013000000080028001400000008002800150000000800280016000000080028001700000008002800180000000800280019000000080028001a000000080028001b000000080028001c000000080028001d000000080028001e000000080028001f0000000800280020000000080028002100000008002800220000000800280023000000080028002400000008002800250000000800280026000000080028002700000008002800280000000800280029000000080028002a000000080028002b000000080028002c000000080028002d000000080028002e000000080028002f0000000800280030000000080028003100000008002800320000000800280033000000080028003400000008002800350000000800280036000000080028003700000008002800380000000800280039000000080028003a000000080028003b00000008002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '#11-26', '', 0, '\x00000000010028000100000001002800020000000100280003000000010028000400000001002800050000000100280006000000010028000700000001002800080000000100280009000000010028000a000000010028000b000000010028000c000000010028000d000000010028000e000000010028000f0000000100280010000000010028001100000001002800120000000100280013000000010028001400000001002800150000000100280016000000010028001700000001002800180000000100280019000000010028001a000000010028001b000000010028001c000000010028001d000000010028001e000000010028001f0000000100280020000000010028002100000001002800220000000100280023000000010028002400000001002800250000000100280026000000010028002700000001002800280000000100280029000000010028002a000000010028002b000000010028002c000000010028002d000000010028002e000000010028002f0000000100280030000000010028003100000001002800320000000100280033000000010028003400000001002800350000000100280036000000010028003700000001002800380000000100280039000000010028003a000000010028003b000000010028003c00000001000200');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '#11', '', 0, '\x00000000010028000100000001002800020000000100280003000000010028000400000001002800050000000100280006000000010028000700000001002800080000000100280009000000010028000a000000010028000b000000010028000c000000010028000d000000010028000e000000010028000f0000000100280010000000010028001100000001002800120000000100280013000000010028001400000001002800150000000100280016000000010028001700000001002800180000000100280019000000010028001a000000010028001b000000010028001c000000010028001d000000010028001e000000010028001f0000000100280020000000010028002100000001002800220000000100280023000000010028002400000001002800250000000100280026000000010028002700000001002800280000000100280029000000010028002a000000010028002b000000010028002c000000010028002d000000010028002e000000010028002f0000000100280030000000010028003100000001002800320000000100280033000000010028003400000001002800350000000100280036000000010028003700000001002800380000000100280039000000010028003a000000010028003b000000010028003c00000001000200');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '#2026', '', 0, '\x00000000010028000100000001002800020000000100280003000000010028000400000001002800050000000100280006000000010028000700000001002800080000000100280009000000010028000a000000010028000b000000010028000c000000010028000d000000010028000e000000010028000f0000000100280010000000010028001100000001002800120000000100280013000000010028001400000001002800150000000100280016000000010028001700000001002800180000000100280019000000010028001a000000010028001b000000010028001c000000010028001d000000010028001e000000010028001f0000000100280020000000010028002100000001002800220000000100280023000000010028002400000001002800250000000100280026000000010028002700000001002800280000000100280029000000010028002a000000010028002b000000010028002c000000010028002d000000010028002e000000010028002f0000000100280030000000010028003100000001002800320000000100280033000000010028003400000001002800350000000100280036000000010028003700000001002800380000000100280039000000010028003a000000010028003b000000010028003c00000001000200');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '1', '', 0, '\x0100000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '2', '', 0, '\x0200000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '3', '', 0, '\x0300000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '4', '', 0, '\x0400000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '5', '', 0, '\x0500000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '6', '', 0, '\x0600000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '7', '', 0, '\x0700000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '8', '', 0, '\x0800000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '9', '', 0, '\x0900000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '10', '', 0, '\x0a00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '11', '', 0, '\x0b00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '12', '', 0, '\x0c00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '13', '', 0, '\x0d00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '14', '', 0, '\x0e00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '15', '', 0, '\x0f00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '16', '', 0, '\x1000000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '17', '', 0, '\x1100000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '18', '', 0, '\x1200000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '19', '', 0, '\x1300000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '20', '', 0, '\x1400000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '21', '', 0, '\x1500000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '22', '', 0, '\x1600000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '23', '', 0, '\x1700000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '24', '', 0, '\x1800000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '25', '', 0, '\x1900000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '26', '', 0, '\x1a00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '27', '', 0, '\x1b00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '28', '', 0, '\x1c00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '29', '', 0, '\x1d00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '30', '', 0, '\x1e00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '31', '', 0, '\x1f00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '32', '', 0, '\x2000000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '33', '', 0, '\x2100000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '34', '', 0, '\x2200000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '35', '', 0, '\x2300000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '36', '', 0, '\x2400000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '37', '', 0, '\x2500000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '38', '', 0, '\x2600000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '39', '', 0, '\x2700000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '40', '', 0, '\x2800000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '41', '', 0, '\x2900000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '42', '', 0, '\x2a00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '43', '', 0, '\x2b00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '44', '', 0, '\x2c00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '45', '', 0, '\x2d00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '46', '', 0, '\x2e00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '47', '', 0, '\x2f00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '48', '', 0, '\x3000000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '49', '', 0, '\x3100000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '50', '', 0, '\x3200000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '51', '', 0, '\x3300000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '52', '', 0, '\x3400000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '53', '', 0, '\x3500000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '54', '', 0, '\x3600000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '55', '', 0, '\x3700000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '56', '', 0, '\x3800000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '57', '', 0, '\x3900000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '58', '', 0, '\x3a00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', '59', '', 0, '\x3b00000010002800');
INSERT INTO public.memory_postings VALUES ('acme', 'long', 'say', '', 0, '\x3c00000001000200');
INSERT INTO public.memory_postings VALUES ('acme', 'long', 'someth', '', 0, '\x3c00000001000200');


--
-- Data for Name: memory_sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.memory_sessions VALUES ('acme', 'long', 61, 0, NULL);


--
-- Data for Name: memory_threads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.memory_threads VALUES ('acme', 'long', '', 61, 2402, 16174, 8094, 0);


--
-- Data for Name: memory_turns; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.memory_turns VALUES ('acme', 'long', '', 0, 61, '\x000000000000000100000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000a000000000000000b000000000000000c000000000000000d000000000000000e000000000000000f0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001a000000000000001b000000000000001c000000000000001d000000000000001e000000000000001f0000000000000020000000000000002100000000000000220000000000000023000000000000002400000000000000250000000000000026000000000000002700000000000000280000000000000029000000000000002a000000000000002b000000000000002c000000000000002d000000000000002e000000000000002f0000000000000030000000000000003100000000000000320000000000000033000000000000003400000000000000350000000000000036000000000000003700000000000000380000000000000039000000000000003a000000000000003b000000000000003c000000000000003d', '\x01000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001');


--
-- Data for Name: memory_vectors; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: messages; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-e18744aa5bc1:input', 1, '2026-11-26 11:09:14.511927+00');
INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 2, 't-e18744aa5bc1/a', 'assistant', '{"role": "assistant", "content": null, "tool_calls": [{"id": "call-511bb336", "type": "function", "function": {"name": "unknown", "arguments": "{}"}}, {"id": "call-e8996235", "type": "function", "function": {"name": "unknown", "arguments": "{}"}}]}', '{call-511bb336,call-e8996235}', NULL, false, '81f8d2b63b01a78916f0167a5baf8f3f8f1cd97db44948d2eea402e09ecb2cda', '{"o200k_base": 8, "cl100k_base": 8}', 0, 'call:82d4a2fa-3651-5ffa-a72a-aff6a2932a81', 1, '2026-11-26 11:09:29.717701+00');
INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 3, 't-e18744aa5bc1/a', 'tool', '{"role": "tool", "content": "error: there is no tool of this name; use one of those that were declared", "tool_call_id": "call-511bb336"}', '{}', 'call-511bb336', false, '633dd0d985ba2cfc76d9590bd05b2bb6292f20f8547349e96d7d95708c6b238b', '{"o200k_base": 21, "cl100k_base": 21}', 73, 'tool:t-e18744aa5bc1/a:2:0', 1, '2026-11-26 11:09:29.793978+00');
INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 4, 't-e18744aa5bc1/a', 'tool', '{"role": "tool", "content": "error: there is no tool of this name; use one of those that were declared", "tool_call_id": "call-e8996235"}', '{}', 'call-e8996235', false, 'e9f0855664ff32cce8ecfb1c7ee8f87cc383f1a8bff9a2efe5c0cfb7998a8b94', '{"o200k_base": 21, "cl100k_base": 21}', 73, 'tool:t-e18744aa5bc1/a:2:1', 1, '2026-11-26 11:09:29.801134+00');
INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 5, 't-e18744aa5bc1/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:86089d2f-2e00-52ec-93da-5ca9f15e34b4', 1, '2026-11-26 11:09:29.951067+00');
INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 6, 't-e18744aa5bc1/b', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:85ced316-5d99-575b-a3ec-4e66183ee2d4', 1, '2026-11-26 11:09:30.256811+00');
INSERT INTO public.messages VALUES ('acme', 's-t-e18744aa5bc1', 7, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "b"}', '{}', NULL, false, '7a3cfafb5f0f82f397b33e5b8766841202e9e385881ab479361f6c27f473820a', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-e18744aa5bc1:replies', 1, '2026-11-26 11:09:30.348646+00');
INSERT INTO public.messages VALUES ('acme', 'slow', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-517888ebef50:input', 1, '2026-11-26 11:09:30.872792+00');
INSERT INTO public.messages VALUES ('acme', 'slow', 2, 't-517888ebef50/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:d5ae85c3-0066-544e-a92d-bc97a96f6d84', 1, '2026-11-26 11:09:33.069432+00');
INSERT INTO public.messages VALUES ('acme', 'slow', 3, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-517888ebef50:replies', 1, '2026-11-26 11:09:33.163438+00');
INSERT INTO public.messages VALUES ('acme', 'shared', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-395f69316abb:input', 1, '2026-11-26 11:09:33.586136+00');
INSERT INTO public.messages VALUES ('acme', 'shared', 2, 't-395f69316abb/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:c39cc9ff-26cd-56d8-b0a8-45c80de1b364', 1, '2026-11-26 11:09:35.029099+00');
INSERT INTO public.messages VALUES ('acme', 'shared', 3, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-395f69316abb:replies', 1, '2026-11-26 11:09:35.127411+00');
INSERT INTO public.messages VALUES ('acme', 's-t-20d268708884', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-20d268708884:input', 1, '2026-11-26 11:09:35.341653+00');
INSERT INTO public.messages VALUES ('acme', 's-t-20d268708884', 2, 't-20d268708884/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:239ec455-d850-5521-b009-cb27c440b99f', 1, '2026-11-26 11:09:36.138235+00');
INSERT INTO public.messages VALUES ('acme', 's-t-20d268708884', 3, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-20d268708884:replies', 1, '2026-11-26 11:09:36.233305+00');
INSERT INTO public.messages VALUES ('acme', 's-t-10c9c812e597', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-10c9c812e597:input', 1, '2026-11-26 11:09:36.503507+00');
INSERT INTO public.messages VALUES ('acme', 's-t-76c85f06c120', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-76c85f06c120:input', 1, '2026-11-26 11:09:37.73414+00');
INSERT INTO public.messages VALUES ('acme', 's-t-76c85f06c120', 2, 't-76c85f06c120/a', 'assistant', '{"role": "assistant", "content": null, "tool_calls": [{"id": "call-c3ba94b8", "type": "function", "function": {"name": "unknown", "arguments": "{}"}}]}', '{call-c3ba94b8}', NULL, false, 'fe3a4b61d58838989f5d79d676c8d69426c0a98bd94c88d107ac9baf2fa3bc45', '{"o200k_base": 6, "cl100k_base": 6}', 0, 'call:77327c0e-b256-5bf3-9721-e3b77d1015ea', 1, '2026-11-26 11:09:38.077758+00');
INSERT INTO public.messages VALUES ('acme', 's-t-76c85f06c120', 3, 't-76c85f06c120/a', 'tool', '{"role": "tool", "content": "error: there is no tool of this name; use one of those that were declared", "tool_call_id": "call-c3ba94b8"}', '{}', 'call-c3ba94b8', false, '866ebebfa77da0357db119bf5fa30333d7a8e9f349f5cdffcc80695ec57bda5c', '{"o200k_base": 21, "cl100k_base": 21}', 73, 'tool:t-76c85f06c120/a:2:0', 1, '2026-11-26 11:09:38.138016+00');
INSERT INTO public.messages VALUES ('acme', 's-t-76c85f06c120', 4, 't-76c85f06c120/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:430a6d10-8222-58bd-ad98-6b17a4294cf6', 1, '2026-11-26 11:09:39.705027+00');
INSERT INTO public.messages VALUES ('acme', 's-t-76c85f06c120', 5, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-76c85f06c120:replies', 1, '2026-11-26 11:09:39.846631+00');
INSERT INTO public.messages VALUES ('acme', 's-t-4d205a2dc661', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-4d205a2dc661:input', 1, '2026-11-26 11:09:40.094983+00');
INSERT INTO public.messages VALUES ('acme', 's-t-4d205a2dc661', 2, 't-4d205a2dc661/a', 'assistant', '{"role": "assistant", "content": null, "tool_calls": [{"id": "call-9204e9a2", "type": "function", "function": {"name": "unknown", "arguments": "{}"}}]}', '{call-9204e9a2}', NULL, false, '9e2a0f3f1bccd0777fc80f4bac0c3013aafb36223d7588519308b2ee2c5a702e', '{"o200k_base": 6, "cl100k_base": 6}', 0, 'call:fabfb047-7c53-535f-a013-d867b0ca603a', 1, '2026-11-26 11:09:40.577368+00');
INSERT INTO public.messages VALUES ('acme', 's-t-4d205a2dc661', 3, 't-4d205a2dc661/a', 'tool', '{"role": "tool", "content": "error: there is no tool of this name; use one of those that were declared", "tool_call_id": "call-9204e9a2"}', '{}', 'call-9204e9a2', false, '4f21c5742f9fbb3d206fa87841eb20304c7e555b61726ef0a4595857c6a01a68', '{"o200k_base": 21, "cl100k_base": 21}', 73, 'tool:t-4d205a2dc661/a:2:0', 1, '2026-11-26 11:09:40.661841+00');
INSERT INTO public.messages VALUES ('acme', 's-t-4d205a2dc661', 5, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-4d205a2dc661:replies', 1, '2026-11-26 11:09:41.124008+00');
INSERT INTO public.messages VALUES ('acme', 's-t-4d205a2dc661', 4, 't-4d205a2dc661/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:19b40f0c-4111-5b9f-b4e5-32a4143b5a37', 1, '2026-11-26 11:09:41.028803+00');
INSERT INTO public.messages VALUES ('acme', 's-t-7594dfea36ed', 1, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-7594dfea36ed:input', 1, '2026-11-26 11:09:41.347684+00');
INSERT INTO public.messages VALUES ('acme', 'long', 1, '', 'user', '{"role": "user", "content": "Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. "}', '{}', NULL, false, '118f8211d40d7a12c1491da4d3a468a765ee3e64723723a723516a7d51a15bf6', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 1, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 2, '', 'assistant', '{"role": "assistant", "content": "Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. "}', '{}', NULL, false, '544f7bb4cfd3bd53824a58c3fc3b85c4e4b68fada4df3ddbefa02f6945fd034d', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 2, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 3, '', 'user', '{"role": "user", "content": "Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. "}', '{}', NULL, false, '57e2cc3a73c5980ba67a2e53d9dcd96d13a59e1699e033fe38bd30380d140ee3', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 3, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 4, '', 'assistant', '{"role": "assistant", "content": "Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. "}', '{}', NULL, false, '90a3866fc199f223c55e946423d50c5e5fcc6c4c29c22ce042b7cdf69af3752b', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 4, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 5, '', 'user', '{"role": "user", "content": "Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. "}', '{}', NULL, false, 'fa62f4e94692e65aa71115c06acbb5299c64566763f09cea8510c8bb30ef19ac', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 5, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 6, '', 'assistant', '{"role": "assistant", "content": "Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. "}', '{}', NULL, false, 'd38a9b3e579a5d21c65760db1fdfcd3066e5e4c3783435c6e29a511e12556dd5', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 6, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 7, '', 'user', '{"role": "user", "content": "Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. "}', '{}', NULL, false, '7fd6b1c7408a1f7914e4feb086684153d2df64ba87903ae2fd57ca992fdd004c', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 7, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 8, '', 'assistant', '{"role": "assistant", "content": "Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. "}', '{}', NULL, false, 'ded0e226cb202984a4b3cf3780603c175e0b2e01e6d5bb8cfcd4646aade9b520', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 8, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 9, '', 'user', '{"role": "user", "content": "Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. "}', '{}', NULL, false, '3e62b6d3a800e9de765bf7996e30089fa5591fbbd6a238b152721d89436f04fb', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 9, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 10, '', 'assistant', '{"role": "assistant", "content": "Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. "}', '{}', NULL, false, 'e5238e310eae2a51d6c067ffb2f0a05feb5d9df4583ecc38053c26122fa1aa31', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 10, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 11, '', 'user', '{"role": "user", "content": "Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. "}', '{}', NULL, false, 'a36ba971bb61486b7b50dea178afa4fffdb2b2ab5fd9f1a16055f583f4f68dc4', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 11, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 12, '', 'assistant', '{"role": "assistant", "content": "Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. "}', '{}', NULL, false, '0214c91ffde26ada51ba57cf1ad24299a40ed9571fd2e277ba898c3b27861a14', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 12, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 13, '', 'user', '{"role": "user", "content": "Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. "}', '{}', NULL, false, 'a1b5c566797ffad47577a211dae739a5c0b94cb84fc9f1e4f0def39cd0bc71a3', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 13, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 14, '', 'assistant', '{"role": "assistant", "content": "Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. "}', '{}', NULL, false, 'e658a3e9c7c3985f4295c7cfd6187fb97c45d0684acde2c6c3a05418944f16fe', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 14, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 15, '', 'user', '{"role": "user", "content": "Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. "}', '{}', NULL, false, '57c0cccd997b16fbbd6d0ef1d3c258d6ae2c51583d473f4cb4823521d0cd2ecc', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 15, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 16, '', 'assistant', '{"role": "assistant", "content": "Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. "}', '{}', NULL, false, '4d260043f2200a7564094c38464c4e1cfc555c44833803aff25c0cab2239238b', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 16, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 17, '', 'user', '{"role": "user", "content": "Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. "}', '{}', NULL, false, '7733d5c5454f192b65d96a25d9a26b9ce8188d1b0a169ccdcdf71b3af74fd6d0', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 17, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 18, '', 'assistant', '{"role": "assistant", "content": "Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. "}', '{}', NULL, false, 'a02a75c35a1424af001afcf3e9d127594adb9a8a39bf37319098b56699943872', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 18, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 19, '', 'user', '{"role": "user", "content": "Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. "}', '{}', NULL, false, '23b994f3c8ea1bd069fe3339d4712ba4ace699884d3abcb97fae18e9549dc256', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 19, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 20, '', 'assistant', '{"role": "assistant", "content": "Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. "}', '{}', NULL, false, 'df25b97e4e51ad9bb8122662c2c598bc6f6c605d6f3d0a803024fcd185b57005', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 20, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 21, '', 'user', '{"role": "user", "content": "Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. "}', '{}', NULL, false, '54f426b063f41ac5d6a88c028896e319c480533d2059bf0aa51bb8d804cf55a9', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 21, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 22, '', 'assistant', '{"role": "assistant", "content": "Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. "}', '{}', NULL, false, 'a95cb1e059a9bf836a04a5428d7e1d33dc6a286d482b39a3da219214c83e755b', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 22, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 23, '', 'user', '{"role": "user", "content": "Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. "}', '{}', NULL, false, 'd1139eb736de67a49f5947b48f68def8017dda5630bab2bb52ff11d24fbc5a0d', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 23, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 24, '', 'assistant', '{"role": "assistant", "content": "Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. "}', '{}', NULL, false, 'edc06ce24c3e2f9b67db928c56f046adef90d1212433c4f679da2b3c9c32606a', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 24, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 25, '', 'user', '{"role": "user", "content": "Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. "}', '{}', NULL, false, '6789ab2bba6cdc5d0b8f5cfed3ae20227812c5dfb0391dd6513f44eca817bab2', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 25, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 26, '', 'assistant', '{"role": "assistant", "content": "Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. "}', '{}', NULL, false, 'f79133168d957e779cf5608fdf343ba31060684bca265b6df2b7dd14edaae472', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 26, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 27, '', 'user', '{"role": "user", "content": "Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. "}', '{}', NULL, false, '1c4f90990c597cb8502fa0ebc04fdbc5b5a6e8697a54909d396b1113f92a09f0', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 27, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 28, '', 'assistant', '{"role": "assistant", "content": "Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. "}', '{}', NULL, false, '9bb081be05df8a0975a6b6e0fc70920687cdbc0b32ea387ac594a7645e29e758', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 28, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 29, '', 'user', '{"role": "user", "content": "Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. "}', '{}', NULL, false, '96cb49379eaf80aee5c07d45d0b2bdb1cef0bdae440d15de6f87b33b4184238f', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 29, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 30, '', 'assistant', '{"role": "assistant", "content": "Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. "}', '{}', NULL, false, '0c6eef7c05d1a6320b1ff29cd606dee608a5b00d2b2d6ccc420bffe0d065f17e', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 30, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 31, '', 'user', '{"role": "user", "content": "Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. "}', '{}', NULL, false, 'e04b6a6d4b404654de7a78a3adccb4449e4ca6dacf6e322e8647c2f649641c2a', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 31, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 32, '', 'assistant', '{"role": "assistant", "content": "Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. "}', '{}', NULL, false, '94b2e1c342e0a5f40784082edb72b3ca820829060cffba7a17d719b2b725cf30', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 32, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 33, '', 'user', '{"role": "user", "content": "Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. "}', '{}', NULL, false, 'd33ea13bc3f3af7f45bdba34e1af735f6064071093ad9f945e528fdf919fe7d7', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 33, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 34, '', 'assistant', '{"role": "assistant", "content": "Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. "}', '{}', NULL, false, 'a61eabf7125090ace6dbb041beba936955f429d216b6f1590b5ee68f6319f282', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 34, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 35, '', 'user', '{"role": "user", "content": "Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. "}', '{}', NULL, false, 'ec642f5da34f12fb8675b5024f2ecd860744747fe3c295402a820e20cf41aeca', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 35, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 36, '', 'assistant', '{"role": "assistant", "content": "Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. "}', '{}', NULL, false, '86132c135ebf4622fd1d9727874fde2f6dbb2782a90dd2014675dcc0ab58f176', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 36, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 37, '', 'user', '{"role": "user", "content": "Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. "}', '{}', NULL, false, 'b9d6d034310ee9f265ccda6a828827a580c86a8c76362e72d9fa2ca06d530033', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 37, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 38, '', 'assistant', '{"role": "assistant", "content": "Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. "}', '{}', NULL, false, 'efb996c0646a3647d2ce8231f0d7fb39514c931d6e508d10c1e468ee8058a6ba', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 38, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 39, '', 'user', '{"role": "user", "content": "Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. "}', '{}', NULL, false, '0acc31134874c654db1f08dd5b7c292dcbe9b23d87943f341552367d041294dc', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 39, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 40, '', 'assistant', '{"role": "assistant", "content": "Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. "}', '{}', NULL, false, '5a0401c5eb90f6af4b9a147e2e481ccd4f16081bb23a357c1c3c584caee77def', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 40, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 41, '', 'user', '{"role": "user", "content": "Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. "}', '{}', NULL, false, '24ac5a8afaf23c34a23e4c659befce27277fc8a67956569d36a0c91c6c2b8bb0', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 41, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 42, '', 'assistant', '{"role": "assistant", "content": "Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. "}', '{}', NULL, false, '8b531a217684208f8941e79878f705205ebfe98307c3403b5b9bd1e912c38926', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 42, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 43, '', 'user', '{"role": "user", "content": "Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. "}', '{}', NULL, false, '475f1d1b1e843158f8d5e33f1d84ef016af8af76c479a72ab9136a737b8dde32', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 43, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 44, '', 'assistant', '{"role": "assistant", "content": "Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. "}', '{}', NULL, false, '391a44bd5ef3a08add3e41c6cdadb99cbcd2996cbc328ab802bcc2671df6e0d2', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 44, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 45, '', 'user', '{"role": "user", "content": "Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. "}', '{}', NULL, false, 'c4c3fc3a3d98cd3f96967ee1a8a15a77ecdd8911e51a965141e1429770019381', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 45, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 46, '', 'assistant', '{"role": "assistant", "content": "Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. "}', '{}', NULL, false, '257d5f4a6f7811cf92fa8e3dfb407eabf4f4a32a0a251f7d8c5a8843596b72e1', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 46, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 47, '', 'user', '{"role": "user", "content": "Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. "}', '{}', NULL, false, '52fd510f57e1e07aaf964f3a068746996181a3c8b078831f4b175aa5a3e9128f', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 47, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 48, '', 'assistant', '{"role": "assistant", "content": "Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. "}', '{}', NULL, false, 'feac72508714af4d6b628848d8fc7e307b6c2fe9e3b952d9dc2894483e63f301', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 48, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 49, '', 'user', '{"role": "user", "content": "Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. "}', '{}', NULL, false, '983875623fb097a4b94eb9c56ea85d0f04a91d5f1f3cc73a25a7e70ea5760e65', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 49, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 50, '', 'assistant', '{"role": "assistant", "content": "Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. "}', '{}', NULL, false, '0eaae00f284abff895730a223f2e9115fa765b097e42b171629c7d9a190efc26', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 50, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 51, '', 'user', '{"role": "user", "content": "Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. "}', '{}', NULL, false, 'e5713c7c9a3297fcdb1518ddca496dd788e014037f2d3e90c887612d89461944', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 51, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 52, '', 'assistant', '{"role": "assistant", "content": "Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. "}', '{}', NULL, false, '8e5dc3ac864634f226fedbf93f7575b8c2fecd399aead6b1d7367e187391d900', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 52, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 53, '', 'user', '{"role": "user", "content": "Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. "}', '{}', NULL, false, '052c544039fe571bfa93ee9d7fc0a2597772e5d8c4dc7776367ab2d53faccebc', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 53, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 54, '', 'assistant', '{"role": "assistant", "content": "Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. "}', '{}', NULL, false, '6a93905bee46e0e1ece9774fd5ff7ff97fcf6a973e1d3733369aa0a71faac3ee', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 54, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 55, '', 'user', '{"role": "user", "content": "Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. "}', '{}', NULL, false, '64e6732069620100d18df02854d1e1a604840d1cf9506e7091f7009f1a4e8ba7', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 55, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 56, '', 'assistant', '{"role": "assistant", "content": "Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. "}', '{}', NULL, false, '4b25cf61f1b4bcb1be35117f8352810060e6af52a9067d6ceeb327aec574d166', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 56, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 57, '', 'user', '{"role": "user", "content": "Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. "}', '{}', NULL, false, '82fdde7e0f909daf9c2b77c1aa97061f533a0817de2a1422504fe19574024276', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 57, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 58, '', 'assistant', '{"role": "assistant", "content": "Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. "}', '{}', NULL, false, '90c4eac335b50d62148e9d834c2e15c960e63311727984b83348bf1b6efa8844', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 58, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 59, '', 'user', '{"role": "user", "content": "Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. "}', '{}', NULL, false, 'e7b077d8ce0997f15c8c070cea9185e02551e2ed5195b17bbd76b2faecb413b7', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 59, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 60, '', 'assistant', '{"role": "assistant", "content": "Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. "}', '{}', NULL, false, '94e39eb761b7024f26d34507064cf0e468869785be7516efbd3e4a5b0971dc99', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 60, '2026-11-26 11:09:43.129385+00');
INSERT INTO public.messages VALUES ('acme', 'long', 61, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-3bce02b17032:input', 1, '2026-11-26 11:09:43.136149+00');
INSERT INTO public.messages VALUES ('acme', 'long', 62, 't-3bce02b17032/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:b5e9611a-2404-58fb-8b6d-1f59a7924418', 1, '2026-11-26 11:09:45.865903+00');
INSERT INTO public.messages VALUES ('acme', 'long', 63, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-3bce02b17032:replies', 1, '2026-11-26 11:09:45.945722+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 1, '', 'user', '{"role": "user", "content": "Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. Sentence 0 tells about topic 0. "}', '{}', NULL, false, '118f8211d40d7a12c1491da4d3a468a765ee3e64723723a723516a7d51a15bf6', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 1, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 2, '', 'assistant', '{"role": "assistant", "content": "Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. Sentence 1 tells about topic 1. "}', '{}', NULL, false, '544f7bb4cfd3bd53824a58c3fc3b85c4e4b68fada4df3ddbefa02f6945fd034d', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 2, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 3, '', 'user', '{"role": "user", "content": "Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. Sentence 2 tells about topic 2. "}', '{}', NULL, false, '57e2cc3a73c5980ba67a2e53d9dcd96d13a59e1699e033fe38bd30380d140ee3', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 3, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 4, '', 'assistant', '{"role": "assistant", "content": "Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. "}', '{}', NULL, false, '90a3866fc199f223c55e946423d50c5e5fcc6c4c29c22ce042b7cdf69af3752b', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 4, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 5, '', 'user', '{"role": "user", "content": "Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. Sentence 4 tells about topic 4. "}', '{}', NULL, false, 'fa62f4e94692e65aa71115c06acbb5299c64566763f09cea8510c8bb30ef19ac', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 5, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 6, '', 'assistant', '{"role": "assistant", "content": "Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. "}', '{}', NULL, false, 'd38a9b3e579a5d21c65760db1fdfcd3066e5e4c3783435c6e29a511e12556dd5', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 6, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 7, '', 'user', '{"role": "user", "content": "Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. Sentence 6 tells about topic 6. "}', '{}', NULL, false, '7fd6b1c7408a1f7914e4feb086684153d2df64ba87903ae2fd57ca992fdd004c', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 7, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 8, '', 'assistant', '{"role": "assistant", "content": "Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. "}', '{}', NULL, false, 'ded0e226cb202984a4b3cf3780603c175e0b2e01e6d5bb8cfcd4646aade9b520', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 8, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 9, '', 'user', '{"role": "user", "content": "Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. Sentence 8 tells about topic 8. "}', '{}', NULL, false, '3e62b6d3a800e9de765bf7996e30089fa5591fbbd6a238b152721d89436f04fb', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 9, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 10, '', 'assistant', '{"role": "assistant", "content": "Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. "}', '{}', NULL, false, 'e5238e310eae2a51d6c067ffb2f0a05feb5d9df4583ecc38053c26122fa1aa31', '{"o200k_base": 77, "cl100k_base": 77}', 256, 'talk', 10, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 11, '', 'user', '{"role": "user", "content": "Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. Sentence 10 tells about topic 10. "}', '{}', NULL, false, 'a36ba971bb61486b7b50dea178afa4fffdb2b2ab5fd9f1a16055f583f4f68dc4', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 11, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 12, '', 'assistant', '{"role": "assistant", "content": "Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. "}', '{}', NULL, false, '0214c91ffde26ada51ba57cf1ad24299a40ed9571fd2e277ba898c3b27861a14', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 12, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 13, '', 'user', '{"role": "user", "content": "Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. Sentence 12 tells about topic 12. "}', '{}', NULL, false, 'a1b5c566797ffad47577a211dae739a5c0b94cb84fc9f1e4f0def39cd0bc71a3', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 13, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 14, '', 'assistant', '{"role": "assistant", "content": "Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. "}', '{}', NULL, false, 'e658a3e9c7c3985f4295c7cfd6187fb97c45d0684acde2c6c3a05418944f16fe', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 14, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 15, '', 'user', '{"role": "user", "content": "Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. Sentence 14 tells about topic 14. "}', '{}', NULL, false, '57c0cccd997b16fbbd6d0ef1d3c258d6ae2c51583d473f4cb4823521d0cd2ecc', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 15, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 16, '', 'assistant', '{"role": "assistant", "content": "Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. "}', '{}', NULL, false, '4d260043f2200a7564094c38464c4e1cfc555c44833803aff25c0cab2239238b', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 16, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 17, '', 'user', '{"role": "user", "content": "Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. Sentence 16 tells about topic 16. "}', '{}', NULL, false, '7733d5c5454f192b65d96a25d9a26b9ce8188d1b0a169ccdcdf71b3af74fd6d0', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 17, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 18, '', 'assistant', '{"role": "assistant", "content": "Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. "}', '{}', NULL, false, 'a02a75c35a1424af001afcf3e9d127594adb9a8a39bf37319098b56699943872', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 18, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 19, '', 'user', '{"role": "user", "content": "Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. Sentence 18 tells about topic 18. "}', '{}', NULL, false, '23b994f3c8ea1bd069fe3339d4712ba4ace699884d3abcb97fae18e9549dc256', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 19, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 20, '', 'assistant', '{"role": "assistant", "content": "Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. "}', '{}', NULL, false, 'df25b97e4e51ad9bb8122662c2c598bc6f6c605d6f3d0a803024fcd185b57005', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 20, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 21, '', 'user', '{"role": "user", "content": "Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. Sentence 20 tells about topic 20. "}', '{}', NULL, false, '54f426b063f41ac5d6a88c028896e319c480533d2059bf0aa51bb8d804cf55a9', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 21, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 22, '', 'assistant', '{"role": "assistant", "content": "Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. "}', '{}', NULL, false, 'a95cb1e059a9bf836a04a5428d7e1d33dc6a286d482b39a3da219214c83e755b', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 22, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 23, '', 'user', '{"role": "user", "content": "Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. Sentence 22 tells about topic 22. "}', '{}', NULL, false, 'd1139eb736de67a49f5947b48f68def8017dda5630bab2bb52ff11d24fbc5a0d', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 23, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 24, '', 'assistant', '{"role": "assistant", "content": "Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. "}', '{}', NULL, false, 'edc06ce24c3e2f9b67db928c56f046adef90d1212433c4f679da2b3c9c32606a', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 24, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 25, '', 'user', '{"role": "user", "content": "Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. Sentence 24 tells about topic 24. "}', '{}', NULL, false, '6789ab2bba6cdc5d0b8f5cfed3ae20227812c5dfb0391dd6513f44eca817bab2', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 25, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 26, '', 'assistant', '{"role": "assistant", "content": "Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. "}', '{}', NULL, false, 'f79133168d957e779cf5608fdf343ba31060684bca265b6df2b7dd14edaae472', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 26, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 27, '', 'user', '{"role": "user", "content": "Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. Sentence 26 tells about topic 26. "}', '{}', NULL, false, '1c4f90990c597cb8502fa0ebc04fdbc5b5a6e8697a54909d396b1113f92a09f0', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 27, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 28, '', 'assistant', '{"role": "assistant", "content": "Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. Sentence 27 tells about topic 27. "}', '{}', NULL, false, '9bb081be05df8a0975a6b6e0fc70920687cdbc0b32ea387ac594a7645e29e758', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 28, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 29, '', 'user', '{"role": "user", "content": "Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. Sentence 28 tells about topic 28. "}', '{}', NULL, false, '96cb49379eaf80aee5c07d45d0b2bdb1cef0bdae440d15de6f87b33b4184238f', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 29, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 30, '', 'assistant', '{"role": "assistant", "content": "Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. Sentence 29 tells about topic 29. "}', '{}', NULL, false, '0c6eef7c05d1a6320b1ff29cd606dee608a5b00d2b2d6ccc420bffe0d065f17e', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 30, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 31, '', 'user', '{"role": "user", "content": "Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. Sentence 30 tells about topic 30. "}', '{}', NULL, false, 'e04b6a6d4b404654de7a78a3adccb4449e4ca6dacf6e322e8647c2f649641c2a', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 31, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 32, '', 'assistant', '{"role": "assistant", "content": "Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. Sentence 31 tells about topic 31. "}', '{}', NULL, false, '94b2e1c342e0a5f40784082edb72b3ca820829060cffba7a17d719b2b725cf30', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 32, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 33, '', 'user', '{"role": "user", "content": "Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. Sentence 32 tells about topic 32. "}', '{}', NULL, false, 'd33ea13bc3f3af7f45bdba34e1af735f6064071093ad9f945e528fdf919fe7d7', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 33, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 34, '', 'assistant', '{"role": "assistant", "content": "Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. Sentence 33 tells about topic 33. "}', '{}', NULL, false, 'a61eabf7125090ace6dbb041beba936955f429d216b6f1590b5ee68f6319f282', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 34, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 35, '', 'user', '{"role": "user", "content": "Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. Sentence 34 tells about topic 34. "}', '{}', NULL, false, 'ec642f5da34f12fb8675b5024f2ecd860744747fe3c295402a820e20cf41aeca', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 35, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 36, '', 'assistant', '{"role": "assistant", "content": "Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. Sentence 35 tells about topic 35. "}', '{}', NULL, false, '86132c135ebf4622fd1d9727874fde2f6dbb2782a90dd2014675dcc0ab58f176', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 36, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 37, '', 'user', '{"role": "user", "content": "Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. Sentence 36 tells about topic 36. "}', '{}', NULL, false, 'b9d6d034310ee9f265ccda6a828827a580c86a8c76362e72d9fa2ca06d530033', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 37, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 38, '', 'assistant', '{"role": "assistant", "content": "Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. Sentence 37 tells about topic 37. "}', '{}', NULL, false, 'efb996c0646a3647d2ce8231f0d7fb39514c931d6e508d10c1e468ee8058a6ba', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 38, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 39, '', 'user', '{"role": "user", "content": "Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. Sentence 38 tells about topic 38. "}', '{}', NULL, false, '0acc31134874c654db1f08dd5b7c292dcbe9b23d87943f341552367d041294dc', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 39, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 40, '', 'assistant', '{"role": "assistant", "content": "Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. Sentence 39 tells about topic 39. "}', '{}', NULL, false, '5a0401c5eb90f6af4b9a147e2e481ccd4f16081bb23a357c1c3c584caee77def', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 40, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 41, '', 'user', '{"role": "user", "content": "Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. Sentence 40 tells about topic 40. "}', '{}', NULL, false, '24ac5a8afaf23c34a23e4c659befce27277fc8a67956569d36a0c91c6c2b8bb0', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 41, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 42, '', 'assistant', '{"role": "assistant", "content": "Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. Sentence 41 tells about topic 41. "}', '{}', NULL, false, '8b531a217684208f8941e79878f705205ebfe98307c3403b5b9bd1e912c38926', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 42, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 43, '', 'user', '{"role": "user", "content": "Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. Sentence 42 tells about topic 42. "}', '{}', NULL, false, '475f1d1b1e843158f8d5e33f1d84ef016af8af76c479a72ab9136a737b8dde32', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 43, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 44, '', 'assistant', '{"role": "assistant", "content": "Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. Sentence 43 tells about topic 43. "}', '{}', NULL, false, '391a44bd5ef3a08add3e41c6cdadb99cbcd2996cbc328ab802bcc2671df6e0d2', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 44, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 45, '', 'user', '{"role": "user", "content": "Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. Sentence 44 tells about topic 44. "}', '{}', NULL, false, 'c4c3fc3a3d98cd3f96967ee1a8a15a77ecdd8911e51a965141e1429770019381', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 45, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 46, '', 'assistant', '{"role": "assistant", "content": "Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. Sentence 45 tells about topic 45. "}', '{}', NULL, false, '257d5f4a6f7811cf92fa8e3dfb407eabf4f4a32a0a251f7d8c5a8843596b72e1', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 46, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 47, '', 'user', '{"role": "user", "content": "Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. Sentence 46 tells about topic 46. "}', '{}', NULL, false, '52fd510f57e1e07aaf964f3a068746996181a3c8b078831f4b175aa5a3e9128f', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 47, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 48, '', 'assistant', '{"role": "assistant", "content": "Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. Sentence 47 tells about topic 47. "}', '{}', NULL, false, 'feac72508714af4d6b628848d8fc7e307b6c2fe9e3b952d9dc2894483e63f301', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 48, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 49, '', 'user', '{"role": "user", "content": "Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. Sentence 48 tells about topic 48. "}', '{}', NULL, false, '983875623fb097a4b94eb9c56ea85d0f04a91d5f1f3cc73a25a7e70ea5760e65', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 49, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 50, '', 'assistant', '{"role": "assistant", "content": "Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. Sentence 49 tells about topic 49. "}', '{}', NULL, false, '0eaae00f284abff895730a223f2e9115fa765b097e42b171629c7d9a190efc26', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 50, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 51, '', 'user', '{"role": "user", "content": "Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. Sentence 50 tells about topic 50. "}', '{}', NULL, false, 'e5713c7c9a3297fcdb1518ddca496dd788e014037f2d3e90c887612d89461944', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 51, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 52, '', 'assistant', '{"role": "assistant", "content": "Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. Sentence 51 tells about topic 51. "}', '{}', NULL, false, '8e5dc3ac864634f226fedbf93f7575b8c2fecd399aead6b1d7367e187391d900', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 52, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 53, '', 'user', '{"role": "user", "content": "Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. Sentence 52 tells about topic 52. "}', '{}', NULL, false, '052c544039fe571bfa93ee9d7fc0a2597772e5d8c4dc7776367ab2d53faccebc', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 53, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 54, '', 'assistant', '{"role": "assistant", "content": "Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. Sentence 53 tells about topic 53. "}', '{}', NULL, false, '6a93905bee46e0e1ece9774fd5ff7ff97fcf6a973e1d3733369aa0a71faac3ee', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 54, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 55, '', 'user', '{"role": "user", "content": "Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. Sentence 54 tells about topic 54. "}', '{}', NULL, false, '64e6732069620100d18df02854d1e1a604840d1cf9506e7091f7009f1a4e8ba7', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 55, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 56, '', 'assistant', '{"role": "assistant", "content": "Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. Sentence 55 tells about topic 55. "}', '{}', NULL, false, '4b25cf61f1b4bcb1be35117f8352810060e6af52a9067d6ceeb327aec574d166', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 56, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 57, '', 'user', '{"role": "user", "content": "Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. Sentence 56 tells about topic 56. "}', '{}', NULL, false, '82fdde7e0f909daf9c2b77c1aa97061f533a0817de2a1422504fe19574024276', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 57, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 58, '', 'assistant', '{"role": "assistant", "content": "Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. Sentence 57 tells about topic 57. "}', '{}', NULL, false, '90c4eac335b50d62148e9d834c2e15c960e63311727984b83348bf1b6efa8844', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 58, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 59, '', 'user', '{"role": "user", "content": "Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. Sentence 58 tells about topic 58. "}', '{}', NULL, false, 'e7b077d8ce0997f15c8c070cea9185e02551e2ed5195b17bbd76b2faecb413b7', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 59, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 60, '', 'assistant', '{"role": "assistant", "content": "Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. Sentence 59 tells about topic 59. "}', '{}', NULL, false, '94e39eb761b7024f26d34507064cf0e468869785be7516efbd3e4a5b0971dc99', '{"o200k_base": 77, "cl100k_base": 77}', 272, 'talk', 60, '2026-11-26 11:09:46.240357+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 61, '', 'user', '{"role": "user", "content": "Say something."}', '{}', NULL, false, 'cfe6d22f8844b9552dff8a56b66baa6ee7521a5843b5a67496b22defcb5f1e04', '{"o200k_base": 7, "cl100k_base": 7}', 14, 'task:t-6bf79b2ae0d1:input', 1, '2026-11-26 11:09:46.255345+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 62, 't-6bf79b2ae0d1/a', 'assistant', '{"role": "assistant", "content": "Done."}', '{}', NULL, false, 'ebcd61c688c5fe0e590be032c2f0cab72e66b80e354db1d21e0fb8465a3b6843', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'call:e957c103-140d-5814-8b4f-353773222948', 1, '2026-11-26 11:09:46.758672+00');
INSERT INTO public.messages VALUES ('acme', 'longer', 63, '', 'assistant', '{"role": "assistant", "content": "Done.", "name": "a"}', '{}', NULL, false, '0ceb041ae8143eea1b1a8ba8398656c52be58650b16d7ba9c4ae45116651efd3', '{"o200k_base": 6, "cl100k_base": 6}', 5, 'task:t-6bf79b2ae0d1:replies', 1, '2026-11-26 11:09:46.970179+00');


--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 1, 'task-acme/t-e18744aa5bc1', '@start', '{"tenant": "acme", "task_id": "t-e18744aa5bc1"}', '2026-11-26 11:09:15.108984+00', '2026-11-26 11:09:45.112485+00', 1, '2026-11-26 11:09:15.148832+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 2, 'task-acme/t-517888ebef50', '@start', '{"tenant": "acme", "task_id": "t-517888ebef50"}', '2026-11-26 11:09:30.913064+00', '2026-11-26 11:10:00.917999+00', 1, '2026-11-26 11:09:30.938771+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 3, 'task-acme/t-395f69316abb', '@start', '{"tenant": "acme", "task_id": "t-395f69316abb"}', '2026-11-26 11:09:33.61297+00', '2026-11-26 11:10:03.617769+00', 1, '2026-11-26 11:09:33.659117+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 4, 'task-acme/t-20d268708884', '@start', '{"tenant": "acme", "task_id": "t-20d268708884"}', '2026-11-26 11:09:35.437944+00', '2026-11-26 11:10:05.444635+00', 1, '2026-11-26 11:09:35.473407+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 5, 'task-acme/t-20d268708884/a', 'approval_decided', '{"state": "approved", "approval_id": "8095d5f7-a7ea-4a60-a744-82ff07fb3c2a"}', '2026-11-26 11:09:35.912457+00', '2026-11-26 11:10:05.953922+00', 1, '2026-11-26 11:09:35.976106+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 6, 'task-acme/t-10c9c812e597', '@start', '{"tenant": "acme", "task_id": "t-10c9c812e597"}', '2026-11-26 11:09:36.592912+00', '2026-11-26 11:10:06.601164+00', 1, '2026-11-26 11:09:36.63167+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 7, 'task-acme/t-10c9c812e597/a', 'approval_decided', '{"state": "denied", "approval_id": "19030802-a386-46f8-81f2-fea621b22c96"}', '2026-11-26 11:09:37.302817+00', '2026-11-26 11:10:07.321644+00', 1, '2026-11-26 11:09:37.349344+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 8, 'task-acme/t-76c85f06c120', '@start', '{"tenant": "acme", "task_id": "t-76c85f06c120"}', '2026-11-26 11:09:37.779387+00', '2026-11-26 11:10:07.789096+00', 1, '2026-11-26 11:09:37.809129+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 9, 'task-acme/t-76c85f06c120/a', 'approval_decided', '{"state": "approved", "approval_id": "20f397b4-57ef-46aa-827d-40a0eb2020b2"}', '2026-11-26 11:09:39.411977+00', '2026-11-26 11:10:09.577495+00', 1, '2026-11-26 11:09:39.602322+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 10, 'task-acme/t-4d205a2dc661', '@start', '{"tenant": "acme", "task_id": "t-4d205a2dc661"}', '2026-11-26 11:09:40.150102+00', '2026-11-26 11:10:10.158633+00', 1, '2026-11-26 11:09:40.167893+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 11, 'task-acme/t-7594dfea36ed', '@start', '{"tenant": "acme", "task_id": "t-7594dfea36ed"}', '2026-11-26 11:09:41.436287+00', '2026-11-26 11:10:11.439955+00', 1, '2026-11-26 11:09:41.456271+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 12, 'task-acme/t-3bce02b17032', '@start', '{"tenant": "acme", "task_id": "t-3bce02b17032"}', '2026-11-26 11:09:43.150633+00', '2026-11-26 11:10:13.152982+00', 1, '2026-11-26 11:09:43.169455+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES ('acme', 13, 'task-acme/t-6bf79b2ae0d1', '@start', '{"tenant": "acme", "task_id": "t-6bf79b2ae0d1"}', '2026-11-26 11:09:46.268935+00', '2026-11-26 11:10:16.271328+00', 1, '2026-11-26 11:09:46.288051+00');


--
-- Data for Name: pacing; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: pins; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: placeholders; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: policies; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.policies VALUES ('acme', 1, 't-e18744aa5bc1', 10, NULL, 'hard', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'someone', '2026-11-26 11:09:15.0902+00');
INSERT INTO public.policies VALUES ('acme', 14, '', 10, NULL, NULL, NULL, NULL, NULL, '[["1.00", 100]]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'test', '2026-11-26 11:09:30.807784+00');
INSERT INTO public.policies VALUES ('acme', 19, '', 1000, NULL, 'hard', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'test', '2026-11-26 11:09:33.510773+00');
INSERT INTO public.policies VALUES ('acme', 24, 't-20d268708884', 10, NULL, 'approval', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'someone', '2026-11-26 11:09:35.426629+00');
INSERT INTO public.policies VALUES ('acme', 29, 't-10c9c812e597', 10, NULL, 'approval', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'someone', '2026-11-26 11:09:36.581838+00');
INSERT INTO public.policies VALUES ('acme', 34, 't-76c85f06c120', 150, NULL, 'approval', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'someone', '2026-11-26 11:09:37.772049+00');
INSERT INTO public.policies VALUES ('acme', 47, 't-3bce02b17032', 3000, NULL, 'hard', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'someone', '2026-11-26 11:09:43.143152+00');


--
-- Data for Name: policy_templates; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: postings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.postings VALUES ('acme', 3, '-infinity', 1, 1, 1, 1, '2026-11-26 11:09:15.551015+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 4, '-infinity', 1, 1, 1, 1, '2026-11-26 11:09:15.551015+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 1, 1, 1, 1, '2026-11-26 11:09:15.551015+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 6, '-infinity', 1, 1, 1, 1, '2026-11-26 11:09:15.551015+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 3, '-infinity', 2, 2, 2, 2, '2026-11-26 11:09:29.74075+00', false, 21, 0, 0, 0, 82500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 4, '-infinity', 2, 2, 2, 2, '2026-11-26 11:09:29.74075+00', false, 21, 0, 0, 0, 82500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 2, 2, 2, 2, '2026-11-26 11:09:29.74075+00', false, 21, 0, 0, 0, 82500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 6, '-infinity', 2, 2, 2, 2, '2026-11-26 11:09:29.74075+00', false, 21, 0, 0, 0, 82500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 3, '-infinity', 3, 3, 3, 3, '2026-11-26 11:09:29.853035+00', false, 21, 167, 0, 0, 82500, 1167500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 4, '-infinity', 3, 3, 3, 3, '2026-11-26 11:09:29.853035+00', false, 21, 167, 0, 0, 82500, 1167500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 3, 3, 3, 3, '2026-11-26 11:09:29.853035+00', false, 21, 167, 0, 0, 82500, 1167500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 6, '-infinity', 3, 3, 3, 3, '2026-11-26 11:09:29.853035+00', false, 21, 167, 0, 0, 82500, 1167500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 3, '-infinity', 4, 4, 4, 4, '2026-11-26 11:09:29.955212+00', false, 90, 0, 0, 0, 270000, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 4, '-infinity', 4, 4, 4, 4, '2026-11-26 11:09:29.955212+00', false, 90, 0, 0, 0, 270000, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 4, 4, 4, 4, '2026-11-26 11:09:29.955212+00', false, 90, 0, 0, 0, 270000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 6, '-infinity', 4, 4, 4, 4, '2026-11-26 11:09:29.955212+00', false, 90, 0, 0, 0, 270000, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 3, '-infinity', 5, 5, 5, 5, '2026-11-26 11:09:30.161656+00', false, 90, 123, 0, 0, 270000, 1057500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 4, '-infinity', 5, 5, 5, 5, '2026-11-26 11:09:30.161656+00', false, 90, 123, 0, 0, 270000, 1057500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 5, 5, 5, 5, '2026-11-26 11:09:30.161656+00', false, 90, 123, 0, 0, 270000, 1057500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 10, '-infinity', 1, 1, 5, 5, '2026-11-26 11:09:30.161656+00', false, 0, 123, 0, 0, 0, 1057500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 3, '-infinity', 6, 6, 6, 6, '2026-11-26 11:09:30.262746+00', false, 115, 0, 0, 0, 347500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 4, '-infinity', 6, 6, 6, 6, '2026-11-26 11:09:30.262746+00', false, 115, 0, 0, 0, 347500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 6, 6, 6, 6, '2026-11-26 11:09:30.262746+00', false, 115, 0, 0, 0, 347500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 10, '-infinity', 2, 2, 6, 6, '2026-11-26 11:09:30.262746+00', false, 25, 0, 0, 0, 77500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 7, 7, 7, 7, '2026-11-26 11:09:31.208571+00', false, 115, 117, 0, 0, 347500, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 14, '-infinity', 1, 1, 7, 7, '2026-11-26 11:09:31.208571+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 10, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 15, '-infinity', 1, 1, 7, 7, '2026-11-26 11:09:31.208571+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 17, '-infinity', 1, 1, 7, 7, '2026-11-26 11:09:31.208571+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 8, 8, 8, 8, '2026-11-26 11:09:33.039153+00', false, 232, 0, 0, 0, 1390000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 14, '-infinity', 2, 2, 8, 8, '2026-11-26 11:09:33.039153+00', false, 117, 0, 0, 0, 1042500, 0, 0, 0, 10, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 15, '-infinity', 2, 2, 8, 8, '2026-11-26 11:09:33.039153+00', false, 117, 0, 0, 0, 1042500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 17, '-infinity', 2, 2, 8, 8, '2026-11-26 11:09:33.039153+00', false, 117, 0, 0, 0, 1042500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 9, 9, 9, 9, '2026-11-26 11:09:33.039153+00', false, 232, 117, 0, 0, 1390000, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 14, '-infinity', 3, 3, 9, 9, '2026-11-26 11:09:33.039153+00', false, 117, 117, 0, 0, 1042500, 1042500, 0, 0, 10, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 15, '-infinity', 3, 3, 9, 9, '2026-11-26 11:09:33.039153+00', false, 117, 117, 0, 0, 1042500, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 17, '-infinity', 3, 3, 9, 9, '2026-11-26 11:09:33.039153+00', false, 117, 117, 0, 0, 1042500, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 10, 10, 10, 10, '2026-11-26 11:09:33.085476+00', false, 251, 0, 0, 0, 1452500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 14, '-infinity', 4, 4, 10, 10, '2026-11-26 11:09:33.085476+00', false, 136, 0, 0, 0, 1105000, 0, 0, 0, 10, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 15, '-infinity', 4, 4, 10, 10, '2026-11-26 11:09:33.085476+00', false, 136, 0, 0, 0, 1105000, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 17, '-infinity', 4, 4, 10, 10, '2026-11-26 11:09:33.085476+00', false, 136, 0, 0, 0, 1105000, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 19, '-infinity', 1, 1, 11, 11, '2026-11-26 11:09:33.558422+00', false, 0, 900, 0, 0, 0, 0, 0, 0, 1000, NULL, 'hard');
INSERT INTO public.postings VALUES ('acme', 19, '-infinity', 2, 2, 12, 12, '2026-11-26 11:09:34.00566+00', false, 0, 0, 0, 0, 0, 0, 0, 0, 1000, NULL, 'hard');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 11, 11, 13, 13, '2026-11-26 11:09:34.946084+00', false, 251, 117, 0, 0, 1452500, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 20, '-infinity', 1, 1, 13, 13, '2026-11-26 11:09:34.946084+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 22, '-infinity', 1, 1, 13, 13, '2026-11-26 11:09:34.946084+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 19, '-infinity', 3, 3, 13, 13, '2026-11-26 11:09:34.946084+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 1000, NULL, 'hard');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 12, 12, 14, 14, '2026-11-26 11:09:35.049639+00', false, 270, 0, 0, 0, 1515000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 20, '-infinity', 2, 2, 14, 14, '2026-11-26 11:09:35.049639+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 22, '-infinity', 2, 2, 14, 14, '2026-11-26 11:09:35.049639+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 19, '-infinity', 4, 4, 14, 14, '2026-11-26 11:09:35.049639+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 1000, NULL, 'hard');
INSERT INTO public.postings VALUES ('acme', 24, '-infinity', 1, 1, 15, 15, '2026-11-26 11:09:35.912457+00', false, 0, 0, 107, 0, 0, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 13, 13, 16, 16, '2026-11-26 11:09:36.067727+00', false, 270, 117, 0, 0, 1515000, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 24, '-infinity', 2, 2, 16, 16, '2026-11-26 11:09:36.067727+00', false, 0, 117, 107, 0, 0, 1042500, 0, 0, 10, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 25, '-infinity', 1, 1, 16, 16, '2026-11-26 11:09:36.067727+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 26, '-infinity', 1, 1, 16, 16, '2026-11-26 11:09:36.067727+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 14, 14, 17, 17, '2026-11-26 11:09:36.156926+00', false, 289, 0, 0, 0, 1577500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 24, '-infinity', 3, 3, 17, 17, '2026-11-26 11:09:36.156926+00', false, 19, 0, 107, 0, 62500, 0, 0, 0, 10, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 25, '-infinity', 2, 2, 17, 17, '2026-11-26 11:09:36.156926+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 26, '-infinity', 2, 2, 17, 17, '2026-11-26 11:09:36.156926+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 15, 15, 18, 18, '2026-11-26 11:09:37.950253+00', false, 289, 117, 0, 0, 1577500, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 34, '-infinity', 1, 1, 18, 18, '2026-11-26 11:09:37.950253+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 150, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 36, '-infinity', 1, 1, 18, 18, '2026-11-26 11:09:37.950253+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 37, '-infinity', 1, 1, 18, 18, '2026-11-26 11:09:37.950253+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 16, 16, 19, 19, '2026-11-26 11:09:38.084191+00', false, 308, 0, 0, 0, 1640000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 34, '-infinity', 2, 2, 19, 19, '2026-11-26 11:09:38.084191+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 150, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 36, '-infinity', 2, 2, 19, 19, '2026-11-26 11:09:38.084191+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 37, '-infinity', 2, 2, 19, 19, '2026-11-26 11:09:38.084191+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 34, '-infinity', 3, 3, 20, 20, '2026-11-26 11:09:39.411977+00', false, 19, 0, 13, 0, 62500, 0, 0, 0, 150, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 17, 17, 21, 21, '2026-11-26 11:09:39.649752+00', false, 308, 144, 0, 0, 1640000, 1110000, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 34, '-infinity', 4, 4, 21, 21, '2026-11-26 11:09:39.649752+00', false, 19, 144, 13, 0, 62500, 1110000, 0, 0, 150, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 36, '-infinity', 3, 3, 21, 21, '2026-11-26 11:09:39.649752+00', false, 19, 144, 0, 0, 62500, 1110000, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 37, '-infinity', 3, 3, 21, 21, '2026-11-26 11:09:39.649752+00', false, 19, 144, 0, 0, 62500, 1110000, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 18, 18, 22, 22, '2026-11-26 11:09:39.708926+00', false, 354, 0, 0, 0, 1770000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 34, '-infinity', 5, 5, 22, 22, '2026-11-26 11:09:39.708926+00', false, 65, 0, 13, 0, 192500, 0, 0, 0, 150, NULL, 'approval');
INSERT INTO public.postings VALUES ('acme', 36, '-infinity', 4, 4, 22, 22, '2026-11-26 11:09:39.708926+00', false, 65, 0, 0, 0, 192500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 37, '-infinity', 4, 4, 22, 22, '2026-11-26 11:09:39.708926+00', false, 65, 0, 0, 0, 192500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 19, 19, 23, 23, '2026-11-26 11:09:40.316866+00', false, 354, 117, 0, 0, 1770000, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 39, '-infinity', 1, 1, 23, 23, '2026-11-26 11:09:40.316866+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 40, '-infinity', 1, 1, 23, 23, '2026-11-26 11:09:40.316866+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 41, '-infinity', 1, 1, 23, 23, '2026-11-26 11:09:40.316866+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 20, 20, 24, 24, '2026-11-26 11:09:40.599968+00', false, 373, 0, 0, 0, 1832500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 39, '-infinity', 2, 2, 24, 24, '2026-11-26 11:09:40.599968+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 40, '-infinity', 2, 2, 24, 24, '2026-11-26 11:09:40.599968+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 41, '-infinity', 2, 2, 24, 24, '2026-11-26 11:09:40.599968+00', false, 19, 0, 0, 0, 62500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 21, 21, 25, 25, '2026-11-26 11:09:40.95301+00', false, 373, 144, 0, 0, 1832500, 1110000, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 39, '-infinity', 3, 3, 25, 25, '2026-11-26 11:09:40.95301+00', false, 19, 144, 0, 0, 62500, 1110000, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 40, '-infinity', 3, 3, 25, 25, '2026-11-26 11:09:40.95301+00', false, 19, 144, 0, 0, 62500, 1110000, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 41, '-infinity', 3, 3, 25, 25, '2026-11-26 11:09:40.95301+00', false, 19, 144, 0, 0, 62500, 1110000, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 22, 22, 26, 26, '2026-11-26 11:09:41.03538+00', false, 419, 0, 0, 0, 1962500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 39, '-infinity', 4, 4, 26, 26, '2026-11-26 11:09:41.03538+00', false, 65, 0, 0, 0, 192500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 40, '-infinity', 4, 4, 26, 26, '2026-11-26 11:09:41.03538+00', false, 65, 0, 0, 0, 192500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 41, '-infinity', 4, 4, 26, 26, '2026-11-26 11:09:41.03538+00', false, 65, 0, 0, 0, 192500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 23, 23, 27, 27, '2026-11-26 11:09:41.64489+00', false, 419, 117, 0, 0, 1962500, 1042500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 43, '-infinity', 1, 1, 27, 27, '2026-11-26 11:09:41.64489+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 44, '-infinity', 1, 1, 27, 27, '2026-11-26 11:09:41.64489+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 45, '-infinity', 1, 1, 27, 27, '2026-11-26 11:09:41.64489+00', false, 0, 117, 0, 0, 0, 1042500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 24, 24, 28, 28, '2026-11-26 11:09:42.716866+00', false, 436, 0, 0, 0, 2005000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 43, '-infinity', 2, 2, 28, 28, '2026-11-26 11:09:42.716866+00', false, 17, 0, 0, 0, 42500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 44, '-infinity', 2, 2, 28, 28, '2026-11-26 11:09:42.716866+00', false, 17, 0, 0, 0, 42500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 45, '-infinity', 2, 2, 28, 28, '2026-11-26 11:09:42.716866+00', false, 17, 0, 0, 0, 42500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 25, 25, 29, 29, '2026-11-26 11:09:45.766805+00', false, 436, 1456, 0, 0, 2005000, 4390000, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 47, '-infinity', 1, 1, 29, 29, '2026-11-26 11:09:45.766805+00', false, 0, 1456, 0, 0, 0, 4390000, 0, 0, 3000, NULL, 'hard');
INSERT INTO public.postings VALUES ('acme', 49, '-infinity', 1, 1, 29, 29, '2026-11-26 11:09:45.766805+00', false, 0, 1456, 0, 0, 0, 4390000, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 50, '-infinity', 1, 1, 29, 29, '2026-11-26 11:09:45.766805+00', false, 0, 1456, 0, 0, 0, 4390000, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 26, 26, 30, 30, '2026-11-26 11:09:45.881731+00', false, 1794, 0, 0, 0, 5415000, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 47, '-infinity', 2, 2, 30, 30, '2026-11-26 11:09:45.881731+00', false, 1358, 0, 0, 0, 3410000, 0, 0, 0, 3000, NULL, 'hard');
INSERT INTO public.postings VALUES ('acme', 49, '-infinity', 2, 2, 30, 30, '2026-11-26 11:09:45.881731+00', false, 1358, 0, 0, 0, 3410000, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 50, '-infinity', 2, 2, 30, 30, '2026-11-26 11:09:45.881731+00', false, 1358, 0, 0, 0, 3410000, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 27, 27, 31, 31, '2026-11-26 11:09:46.486481+00', false, 1794, 4737, 0, 0, 5415000, 12592500, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 52, '-infinity', 1, 1, 31, 31, '2026-11-26 11:09:46.486481+00', false, 0, 4737, 0, 0, 0, 12592500, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 53, '-infinity', 1, 1, 31, 31, '2026-11-26 11:09:46.486481+00', false, 0, 4737, 0, 0, 0, 12592500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 54, '-infinity', 1, 1, 31, 31, '2026-11-26 11:09:46.486481+00', false, 0, 4737, 0, 0, 0, 12592500, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 5, '-infinity', 28, 28, 32, 32, '2026-11-26 11:09:46.79386+00', false, 6433, 0, 0, 0, 17027500, 0, 0, 0, NULL, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 52, '-infinity', 2, 2, 32, 32, '2026-11-26 11:09:46.79386+00', false, 4639, 0, 0, 0, 11612500, 0, 0, 0, 50000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 53, '-infinity', 2, 2, 32, 32, '2026-11-26 11:09:46.79386+00', false, 4639, 0, 0, 0, 11612500, 0, 0, 0, 200000, NULL, 'soft');
INSERT INTO public.postings VALUES ('acme', 54, '-infinity', 2, 2, 32, 32, '2026-11-26 11:09:46.79386+00', false, 4639, 0, 0, 0, 11612500, 0, 0, 0, 200000, NULL, 'soft');


--
-- Data for Name: redaction_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.redaction_keys VALUES ('acme', 'long', '\xe60013ae740a34e8d97387c03ec570f4dc6da444a3cd02db0aededb741596ff8');
INSERT INTO public.redaction_keys VALUES ('acme', 'longer', '\x9e2afb33562a9ee2f985e598859c6536d7a85872a6382320a8e24cec1bfbc4ea');


--
-- Data for Name: reply_outputs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reply_outputs VALUES ('acme', 'b', 'openai/gpt-4o', '{2}');
INSERT INTO public.reply_outputs VALUES ('acme', 'a', 'openai/gpt-4o', '{2,2,2,2,2,2,2,2,2,2,4}');


--
-- Data for Name: retention; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: scope_parents; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: scopes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 3, 'session', 's-t-e18744aa5bc1', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 5, 'tenant', 'acme', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 4, 'task', 't-e18744aa5bc1', '2026-11-26 11:09:30.376862+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 1, 'agent', 't-e18744aa5bc1/poor', '2026-11-26 11:09:30.377035+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 6, 'agent', 't-e18744aa5bc1/a', '2026-11-26 11:09:30.377043+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 10, 'agent', 't-e18744aa5bc1/b', '2026-11-26 11:09:30.377048+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 14, 'session', 'slow', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 17, 'task', 't-517888ebef50', '2026-11-26 11:09:33.181496+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 15, 'agent', 't-517888ebef50/a', '2026-11-26 11:09:33.181564+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 19, 'session', 'shared', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 22, 'task', 't-395f69316abb', '2026-11-26 11:09:35.131768+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 20, 'agent', 't-395f69316abb/a', '2026-11-26 11:09:35.131931+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 26, 'session', 's-t-20d268708884', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 24, 'task', 't-20d268708884', '2026-11-26 11:09:36.237395+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 25, 'agent', 't-20d268708884/a', '2026-11-26 11:09:36.237517+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 31, 'session', 's-t-10c9c812e597', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 29, 'task', 't-10c9c812e597', '2026-11-26 11:09:37.455721+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 30, 'agent', 't-10c9c812e597/a', '2026-11-26 11:09:37.455768+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 36, 'session', 's-t-76c85f06c120', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 37, 'task', 't-76c85f06c120', '2026-11-26 11:09:39.851512+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 34, 'agent', 't-76c85f06c120/a', '2026-11-26 11:09:39.851626+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 40, 'session', 's-t-4d205a2dc661', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 41, 'task', 't-4d205a2dc661', '2026-11-26 11:09:41.128342+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 39, 'agent', 't-4d205a2dc661/a', '2026-11-26 11:09:41.12852+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 44, 'session', 's-t-7594dfea36ed', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 45, 'task', 't-7594dfea36ed', '2026-11-26 11:09:42.80248+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 43, 'agent', 't-7594dfea36ed/a', '2026-11-26 11:09:42.802652+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 49, 'session', 'long', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 50, 'task', 't-3bce02b17032', '2026-11-26 11:09:45.96062+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 47, 'agent', 't-3bce02b17032/a', '2026-11-26 11:09:45.960782+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 53, 'session', 'longer', NULL);
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 54, 'task', 't-6bf79b2ae0d1', '2026-11-26 11:09:46.985561+00');
INSERT INTO public.scopes OVERRIDING SYSTEM VALUE VALUES ('acme', 52, 'agent', 't-6bf79b2ae0d1/a', '2026-11-26 11:09:46.98574+00');


--
-- Data for Name: session_settings; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.sessions VALUES ('acme', 's-t-e18744aa5bc1', 8, NULL, '2026-11-26', '2026-11-26 11:09:14.511927+00');
INSERT INTO public.sessions VALUES ('acme', 'slow', 4, NULL, '2026-11-26', '2026-11-26 11:09:30.872792+00');
INSERT INTO public.sessions VALUES ('acme', 'shared', 4, NULL, '2026-11-26', '2026-11-26 11:09:33.586136+00');
INSERT INTO public.sessions VALUES ('acme', 's-t-20d268708884', 4, NULL, '2026-11-26', '2026-11-26 11:09:35.341653+00');
INSERT INTO public.sessions VALUES ('acme', 's-t-10c9c812e597', 2, NULL, '2026-11-26', '2026-11-26 11:09:36.503507+00');
INSERT INTO public.sessions VALUES ('acme', 's-t-76c85f06c120', 6, NULL, '2026-11-26', '2026-11-26 11:09:37.73414+00');
INSERT INTO public.sessions VALUES ('acme', 's-t-4d205a2dc661', 6, NULL, '2026-11-26', '2026-11-26 11:09:40.094983+00');
INSERT INTO public.sessions VALUES ('acme', 's-t-7594dfea36ed', 2, NULL, '2026-11-26', '2026-11-26 11:09:41.347684+00');
INSERT INTO public.sessions VALUES ('acme', 'long', 64, NULL, '2026-11-26', '2026-11-26 11:09:43.129385+00');
INSERT INTO public.sessions VALUES ('acme', 'longer', 64, NULL, '2026-11-26', '2026-11-26 11:09:46.240357+00');


--
-- Data for Name: shadow_counts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: sign_in_links; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: summaries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.summaries VALUES ('acme', 'long', '', 1, 3, 57, '[Summary of the earlier conversation - source 14832 characters, summary 2199 characters]
assistant: Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3.
assistant: Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5.
assistant: Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7.
assistant: Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9.
assistant: Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11.
assistant: Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13.
assistant: Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15.
assistant: Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17.
Facts, with their message:
3 user: Sentence 2 tells about topic 2.
5 user: Sentence 4 tells about topic 4.
7 user: Sentence 6 tells about topic 6.
9 user: Sentence 8 tells about topic 8.', '{"o200k_base": 688, "cl100k_base": 689}', 4235, 688, 'extractive', NULL, 'a25e4e1e7c54f04f6c3ad16c4581270bc1b8f55e3b84d9f47aa82562a5f92a3a', '09457bfb-14d0-5f6f-8111-2dcd0498a32f', NULL, '[{"text": "assistant: Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3.\nassistant: Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5.\nassistant: Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7.\nassistant: Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9.\nassistant: Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11.\nassistant: Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13.\nassistant: Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15.\nassistant: Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17.", "level": 0, "last_seq": 57, "messages": 55, "first_seq": 3}]', 14832, NULL, 'en', 0.26666666666666666, 'overflow', '{}', '2026-11-26 11:09:45.641667+00');
INSERT INTO public.summaries VALUES ('acme', 'longer', '', 1, 3, 57, '[Summary of the earlier conversation - source 14832 characters, summary 3331 characters]
assistant: Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3.
assistant: Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5.
assistant: Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7.
assistant: Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9.
assistant: Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11.
assistant: Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13.
assistant: Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15.
assistant: Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17.
assistant: Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19.
assistant: Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21.
assistant: Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23.
assistant: Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25.
Facts, with their message:
3 user: Sentence 2 tells about topic 2.
5 user: Sentence 4 tells about topic 4.
7 user: Sentence 6 tells about topic 6.
9 user: Sentence 8 tells about topic 8.
11 user: Sentence 10 tells about topic 10.
13 user: Sentence 12 tells about topic 12.
15 user: Sentence 14 tells about topic 14.
17 user: Sentence 16 tells about topic 16.
19 user: Sentence 18 tells about topic 18.
21 user: Sentence 20 tells about topic 20.', '{"o200k_base": 1056, "cl100k_base": 1057}', 4235, 1056, 'extractive', NULL, 'a25e4e1e7c54f04f6c3ad16c4581270bc1b8f55e3b84d9f47aa82562a5f92a3a', '3cccd65c-68fa-5846-b79d-8c455bb11537', NULL, '[{"text": "assistant: Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3. Sentence 3 tells about topic 3.\nassistant: Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5. Sentence 5 tells about topic 5.\nassistant: Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7. Sentence 7 tells about topic 7.\nassistant: Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9. Sentence 9 tells about topic 9.\nassistant: Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11. Sentence 11 tells about topic 11.\nassistant: Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13. Sentence 13 tells about topic 13.\nassistant: Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15. Sentence 15 tells about topic 15.\nassistant: Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17. Sentence 17 tells about topic 17.\nassistant: Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19. Sentence 19 tells about topic 19.\nassistant: Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21. Sentence 21 tells about topic 21.\nassistant: Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23. Sentence 23 tells about topic 23.\nassistant: Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25. Sentence 25 tells about topic 25.", "level": 0, "last_seq": 57, "messages": 55, "first_seq": 3}]', 14832, NULL, 'en', 0.4, 'soft_mark', '{}', '2026-11-26 11:09:47.719947+00');


--
-- Data for Name: tasks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (1, 'acme', 't-e18744aa5bc1', 's-t-e18744aa5bc1', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:42899/r/522d4dc9746b483d9d6399cead13770c/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}, {"id": "b", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:42899/r/2ee29193e1ec492f95278a0b75840407/b/v1", "depends_on": ["a"], "instructions": "Be brief.", "max_output_tokens": 100}, {"id": "poor", "model": "openai/gpt-4o", "budget": {"mode": "hard", "limit_tokens": 10}, "api_base": "http://127.0.0.1:42899/r/6e56e21a170341ac873a8d0a795710db/poor/v1", "instructions": "Be brief.", "max_output_tokens": 100}, {"id": "heir", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:42899/r/847f7e42940f464a8cf96820282931f3/heir/v1", "depends_on": ["poor"], "instructions": "Be brief.", "max_output_tokens": 100}], "task_id": "t-e18744aa5bc1", "session_id": "s-t-e18744aa5bc1"}', '\x365b6614ea5a87386b6e4048e7a3e133230e26b5ffb3fa280d1b9b264c96dd2e', 'someone', NULL, false, '{}', 'partial', 1, '2026-11-26 11:09:15.083604+00', '2026-11-26 11:09:30.349623+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (2, 'acme', 't-517888ebef50', 'slow', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:39901/r/4954961c1f3f4606b57c1748e15ccb48/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "task_id": "t-517888ebef50", "session_id": "slow"}', '\x694b6ab3f7de028bf2e1828a8bf2262f805085977e67209eac2a3b102cb22788', 'someone', NULL, false, '{}', 'completed', 1, '2026-11-26 11:09:30.90922+00', '2026-11-26 11:09:33.164307+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (3, 'acme', 't-395f69316abb', 'shared', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:35561/r/dbfcea8d20ea4441903427a7fe033483/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "task_id": "t-395f69316abb", "session_id": "shared"}', '\x1f1a38f04953f314c5b3953e291b5ddf21074844da42e06a86be67c8e4af2ed2', 'someone', NULL, false, '{}', 'completed', 1, '2026-11-26 11:09:33.60878+00', '2026-11-26 11:09:35.128297+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (4, 'acme', 't-20d268708884', 's-t-20d268708884', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:33613/r/a2ec8022504f4403ac7cbea46bf528c0/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "budget": {"task": {"mode": "approval", "limit_tokens": 10}}, "task_id": "t-20d268708884", "session_id": "s-t-20d268708884"}', '\x0bd48c70e0bfa14aa3cf6e172b18f41deb791458d79e722b1e8853e146085a7c', 'someone', NULL, false, '{}', 'completed', 1, '2026-11-26 11:09:35.417694+00', '2026-11-26 11:09:36.234054+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (5, 'acme', 't-10c9c812e597', 's-t-10c9c812e597', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:34363/r/9bd0e7d3c5f74854a923bbb21ab2506a/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "budget": {"task": {"mode": "approval", "limit_tokens": 10}}, "task_id": "t-10c9c812e597", "session_id": "s-t-10c9c812e597"}', '\x6379d040d22f64e425c8eb187ac0b8648a3fa4e843fe2c3fff445736f58b7605', 'someone', NULL, false, '{}', 'refused', 1, '2026-11-26 11:09:36.578076+00', '2026-11-26 11:09:37.454613+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (6, 'acme', 't-76c85f06c120', 's-t-76c85f06c120', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "budget": {"mode": "approval", "limit_tokens": 150}, "api_base": "http://127.0.0.1:42749/r/c3e1674bd6fb48469d0137700ae9aee4/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "task_id": "t-76c85f06c120", "session_id": "s-t-76c85f06c120"}', '\x950877ef65ffd9ebdce863f13d6fc40eb8fcbd4f3e9f1e6243febd9c4c69cdb8', 'someone', NULL, false, '{}', 'completed', 1, '2026-11-26 11:09:37.768948+00', '2026-11-26 11:09:39.847409+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (7, 'acme', 't-4d205a2dc661', 's-t-4d205a2dc661', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:38169/r/eda9baf5a49b4e62964e1bc72f4d5c4c/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "task_id": "t-4d205a2dc661", "session_id": "s-t-4d205a2dc661"}', '\xc5917a58f8257f88feee28c52f62d130b08bcdb0fd5841bba2ca0e4925307bb7', 'someone', NULL, false, '{}', 'completed', 1, '2026-11-26 11:09:40.146753+00', '2026-11-26 11:09:41.124831+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (8, 'acme', 't-7594dfea36ed', 's-t-7594dfea36ed', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:43169/r/5809784988b64dcb8c2f389e68c70f41/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}, {"id": "b", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:43169/r/a5c647ffc6f64574859fc780d05caac5/b/v1", "depends_on": ["a"], "instructions": "Be brief.", "max_output_tokens": 100}], "task_id": "t-7594dfea36ed", "session_id": "s-t-7594dfea36ed"}', '\xf5e9f92e85429452c67f6e87f91c656429825a6c633945bc6900d5ec319418c2', 'someone', NULL, false, '{}', 'cancelled', 1, '2026-11-26 11:09:41.432096+00', '2026-11-26 11:09:42.800861+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (9, 'acme', 't-3bce02b17032', 'long', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "budget": {"mode": "hard", "limit_tokens": 3000}, "api_base": "http://127.0.0.1:38351/r/021cce3cb44a492baf7c10f6f31ee075/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "context": {"primers_count": 2, "recents_count": 4, "history_window_size": 10}, "task_id": "t-3bce02b17032", "session_id": "long"}', '\xf3e3d86cd0208a4f79aeb808bd04479db3f1b1cad0aabfcb2f79fc842884c961', 'someone', NULL, false, '{}', 'completed', 61, '2026-11-26 11:09:43.140128+00', '2026-11-26 11:09:45.946426+00', '', NULL, NULL);
INSERT INTO public.tasks OVERRIDING SYSTEM VALUE VALUES (10, 'acme', 't-6bf79b2ae0d1', 'longer', NULL, '{"input": "Say something.", "agents": [{"id": "a", "model": "openai/gpt-4o", "api_base": "http://127.0.0.1:45711/r/aa88878d14cb4e9388aa7c727dfdc6ef/a/v1", "instructions": "Be brief.", "max_output_tokens": 100}], "context": {"primers_count": 2, "recents_count": 4, "history_window_size": 10}, "task_id": "t-6bf79b2ae0d1", "session_id": "longer"}', '\xb9f5d51248edc820d04468c78c3674f40dd0503177604e2292560eb824d8ef74', 'someone', NULL, false, '{}', 'completed', 61, '2026-11-26 11:09:46.265571+00', '2026-11-26 11:09:46.977036+00', '', NULL, NULL);


--
-- Data for Name: templated_policies; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: token_calibrations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: user_settings; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: waiters; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: webhook_cursor; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.webhook_cursor VALUES (true, 0);


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Name: changes_change_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.changes_change_id_seq', 8, true);


--
-- Name: checkpoints_checkpoint_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.checkpoints_checkpoint_id_seq', 1, false);


--
-- Name: deliveries_delivery_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.deliveries_delivery_id_seq', 1, false);


--
-- Name: event_positions; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.event_positions', 1, false);


--
-- Name: events_event_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.events_event_id_seq', 95, true);


--
-- Name: grants_grant_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.grants_grant_id_seq', 2, true);


--
-- Name: holds_hold_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.holds_hold_id_seq', 34, true);


--
-- Name: journal_number_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.journal_number_seq', 32, true);


--
-- Name: outbox_outbox_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.outbox_outbox_id_seq', 13, true);


--
-- Name: pins_pin_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.pins_pin_id_seq', 1, false);


--
-- Name: scopes_scope_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.scopes_scope_id_seq', 55, true);


--
-- Name: tasks_number_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tasks_number_seq', 10, true);


--
-- Name: agents agents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (tenant, task_id, agent_id);


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: answers answers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (tenant, key_id, key_digest);


--
-- Name: approval_waiters approval_waiters_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.approval_waiters
    ADD CONSTRAINT approval_waiters_pkey PRIMARY KEY (tenant, approval_id, key);


--
-- Name: approvals approvals_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (tenant, approval_id);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (tenant, hold_id, attempt);


--
-- Name: audit_result audit_result_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit_result
    ADD CONSTRAINT audit_result_pkey PRIMARY KEY (one);


--
-- Name: balance_samples balance_samples_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.balance_samples
    ADD CONSTRAINT balance_samples_pkey PRIMARY KEY (tenant, scope_id, window_start, at);


--
-- Name: balance_sampling balance_sampling_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.balance_sampling
    ADD CONSTRAINT balance_sampling_pkey PRIMARY KEY (one);


--
-- Name: balances balances_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.balances
    ADD CONSTRAINT balances_pkey PRIMARY KEY (tenant, scope_id, window_start);


--
-- Name: browser_sessions browser_sessions_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_digest_key UNIQUE (digest);


--
-- Name: browser_sessions browser_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_pkey PRIMARY KEY (session_id);


--
-- Name: call_failures call_failures_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.call_failures
    ADD CONSTRAINT call_failures_pkey PRIMARY KEY (tenant, key, attempt);


--
-- Name: calls calls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (tenant, key);


--
-- Name: carried_events carried_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.carried_events
    ADD CONSTRAINT carried_events_pkey PRIMARY KEY (tenant, hold_id, kind, attempt);


--
-- Name: changes changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (tenant, change_id);


--
-- Name: checkpoint_horizon checkpoint_horizon_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkpoint_horizon
    ADD CONSTRAINT checkpoint_horizon_pkey PRIMARY KEY (one);


--
-- Name: checkpoints checkpoints_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (checkpoint_id);


--
-- Name: closed_ranges closed_ranges_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.closed_ranges
    ADD CONSTRAINT closed_ranges_pkey PRIMARY KEY (checkpoint_id);


--
-- Name: closings closings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.closings
    ADD CONSTRAINT closings_pkey PRIMARY KEY (tenant, scope_id, window_start);


--
-- Name: compression_health compression_health_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compression_health
    ADD CONSTRAINT compression_health_pkey PRIMARY KEY (tenant, session_id, thread);


--
-- Name: compressions compressions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compressions
    ADD CONSTRAINT compressions_pkey PRIMARY KEY (tenant, session_id, thread);


--
-- Name: decisions decisions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (tenant, decision_id);


--
-- Name: deleted_sessions deleted_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deleted_sessions
    ADD CONSTRAINT deleted_sessions_pkey PRIMARY KEY (tenant, session_id);


--
-- Name: deliveries deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (delivery_id);


--
-- Name: deliveries deliveries_webhook_id_position_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_webhook_id_position_key UNIQUE (webhook_id, "position");


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (tenant, event_id);


--
-- Name: events events_position; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_position UNIQUE (tenant, "position");


--
-- Name: fact_progress fact_progress_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.fact_progress
    ADD CONSTRAINT fact_progress_pkey PRIMARY KEY (tenant, session_id, thread);


--
-- Name: forgotten_events forgotten_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.forgotten_events
    ADD CONSTRAINT forgotten_events_pkey PRIMARY KEY (tenant);


--
-- Name: grants grants_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_pkey PRIMARY KEY (tenant, grant_id);


--
-- Name: holds holds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (tenant, hold_id);


--
-- Name: journal journal_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (tenant, number);


--
-- Name: keys keys_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_digest_key UNIQUE (digest);


--
-- Name: keys keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key_id);


--
-- Name: memory_postings memory_postings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_postings
    ADD CONSTRAINT memory_postings_pkey PRIMARY KEY (tenant, session_id, term, thread, block);


--
-- Name: memory_sessions memory_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_sessions
    ADD CONSTRAINT memory_sessions_pkey PRIMARY KEY (tenant, session_id);


--
-- Name: memory_threads memory_threads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_threads
    ADD CONSTRAINT memory_threads_pkey PRIMARY KEY (tenant, session_id, thread);


--
-- Name: memory_turns memory_turns_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_turns
    ADD CONSTRAINT memory_turns_pkey PRIMARY KEY (tenant, session_id, thread, block);


--
-- Name: memory_vectors memory_vectors_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_vectors
    ADD CONSTRAINT memory_vectors_pkey PRIMARY KEY (tenant, session_id, seq);


--
-- Name: messages messages_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (tenant, session_id, seq);


--
-- Name: messages messages_tenant_session_id_origin_part_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_tenant_session_id_origin_part_key UNIQUE (tenant, session_id, origin, part);


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (tenant, outbox_id);


--
-- Name: pacing pacing_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pacing
    ADD CONSTRAINT pacing_pkey PRIMARY KEY (name);


--
-- Name: pins pins_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pins
    ADD CONSTRAINT pins_pkey PRIMARY KEY (pin_id);


--
-- Name: placeholders placeholders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.placeholders
    ADD CONSTRAINT placeholders_pkey PRIMARY KEY (tenant, session_id, label, number);


--
-- Name: placeholders placeholders_tenant_session_id_label_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.placeholders
    ADD CONSTRAINT placeholders_tenant_session_id_label_digest_key UNIQUE (tenant, session_id, label, digest);


--
-- Name: policies policies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (tenant, scope_id, task);


--
-- Name: policy_templates policy_templates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policy_templates
    ADD CONSTRAINT policy_templates_pkey PRIMARY KEY (tenant, pattern);


--
-- Name: postings postings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.postings
    ADD CONSTRAINT postings_pkey PRIMARY KEY (tenant, scope_id, window_start, last_seq);


--
-- Name: redaction_keys redaction_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.redaction_keys
    ADD CONSTRAINT redaction_keys_pkey PRIMARY KEY (tenant, session_id);


--
-- Name: reply_outputs reply_outputs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reply_outputs
    ADD CONSTRAINT reply_outputs_pkey PRIMARY KEY (tenant, agent_id, model);


--
-- Name: retention retention_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (tenant, version);


--
-- Name: scope_parents scope_parents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scope_parents
    ADD CONSTRAINT scope_parents_pkey PRIMARY KEY (tenant, scope_id);


--
-- Name: scopes scopes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scopes
    ADD CONSTRAINT scopes_pkey PRIMARY KEY (tenant, scope_id);


--
-- Name: session_settings session_settings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.session_settings
    ADD CONSTRAINT session_settings_pkey PRIMARY KEY (tenant, session_id, version);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (tenant, session_id);


--
-- Name: shadow_counts shadow_counts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shadow_counts
    ADD CONSTRAINT shadow_counts_pkey PRIMARY KEY (tenant, scope_id, window_start, outcome);


--
-- Name: sign_in_links sign_in_links_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_pkey PRIMARY KEY (digest);


--
-- Name: summaries summaries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.summaries
    ADD CONSTRAINT summaries_pkey PRIMARY KEY (tenant, session_id, thread, version);


--
-- Name: summaries summaries_tenant_session_id_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.summaries
    ADD CONSTRAINT summaries_tenant_session_id_key_key UNIQUE (tenant, session_id, key);


--
-- Name: tasks tasks_number_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_number_key UNIQUE (number);


--
-- Name: tasks tasks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (tenant, task_id);


--
-- Name: templated_policies templated_policies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.templated_policies
    ADD CONSTRAINT templated_policies_pkey PRIMARY KEY (tenant, scope_id);


--
-- Name: token_calibrations token_calibrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.token_calibrations
    ADD CONSTRAINT token_calibrations_pkey PRIMARY KEY (tenant, model, encoding);


--
-- Name: user_settings user_settings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_settings
    ADD CONSTRAINT user_settings_pkey PRIMARY KEY (tenant, user_id, version);


--
-- Name: waiters waiters_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.waiters
    ADD CONSTRAINT waiters_pkey PRIMARY KEY (tenant, hold_id, scope_id);


--
-- Name: webhook_cursor webhook_cursor_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_cursor
    ADD CONSTRAINT webhook_cursor_pkey PRIMARY KEY (only_row);


--
-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id);


--
-- Name: agents_asking; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX agents_asking ON public.agents USING btree (tenant, task_id) WHERE (status = 'waiting_approval'::text);


--
-- Name: answers_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX answers_age ON public.answers USING btree (created_at);


--
-- Name: approval_waiters_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX approval_waiters_key ON public.approval_waiters USING btree (tenant, key);


--
-- Name: approval_waiters_of_task; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX approval_waiters_of_task ON public.approval_waiters USING btree (tenant, task_id);


--
-- Name: approval_waiters_task; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX approval_waiters_task ON public.approval_waiters USING btree (tenant, task_id) WHERE (left_at IS NULL);


--
-- Name: approvals_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX approvals_due ON public.approvals USING btree (deadline) WHERE (state = 'pending'::text);


--
-- Name: approvals_listed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX approvals_listed ON public.approvals USING btree (tenant, state, created_at);


--
-- Name: approvals_one_pending; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX approvals_one_pending ON public.approvals USING btree (tenant, scope_id, window_start, task) WHERE (state = 'pending'::text);


--
-- Name: balance_samples_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX balance_samples_at ON public.balance_samples USING btree (at);


--
-- Name: browser_sessions_ending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX browser_sessions_ending ON public.browser_sessions USING btree (expires_at);


--
-- Name: calls_agent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX calls_agent ON public.calls USING btree (tenant, task_id, agent_id, turn);


--
-- Name: changes_of_target; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_of_target ON public.changes USING btree (tenant, target, change_id);


--
-- Name: decisions_approval; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX decisions_approval ON public.decisions USING btree (tenant, approval_id);


--
-- Name: deliveries_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_due ON public.deliveries USING btree (webhook_id, next_at) WHERE (state = 'pending'::text);


--
-- Name: deliveries_listed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deliveries_listed ON public.deliveries USING btree (webhook_id, delivery_id DESC);


--
-- Name: events_in_order; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_in_order ON public.events USING btree ("position");


--
-- Name: events_once; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX events_once ON public.events USING btree (tenant, scope, window_start, threshold) WHERE (kind = 'threshold'::text);


--
-- Name: events_unnumbered; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_unnumbered ON public.events USING btree (event_id) WHERE ("position" IS NULL);


--
-- Name: facts_once; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX facts_once ON public.facts USING btree (tenant, session_id, thread, seq, kind, md5(subject), md5(relation), md5(value));


--
-- Name: grants_ending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX grants_ending ON public.grants USING btree (until) WHERE ((ended_at IS NULL) AND (until IS NOT NULL));


--
-- Name: grants_live; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX grants_live ON public.grants USING btree (tenant, scope_id, window_start) WHERE (ended_at IS NULL);


--
-- Name: holds_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX holds_key ON public.holds USING btree (tenant, key) WHERE (key IS NOT NULL);


--
-- Name: holds_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX holds_open ON public.holds USING btree (expires_at) WHERE (state = 'held'::text);


--
-- Name: journal_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX journal_at ON public.journal USING brin (at, ((0 + number))) WITH (pages_per_range='32', autosummarize='on');


--
-- Name: journal_hold; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX journal_hold ON public.journal USING btree (tenant, hold_id) WHERE (hold_id IS NOT NULL);


--
-- Name: journal_of_trouble; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX journal_of_trouble ON public.journal USING btree (tenant, kind, hold_id, attempt) WHERE (kind = ANY (ARRAY['presumed'::text, 'late'::text, 'expire'::text]));


--
-- Name: keys_listed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX keys_listed ON public.keys USING btree (tenant, created_at, key_id);


--
-- Name: keys_one_live_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX keys_one_live_name ON public.keys USING btree (tenant, name) WHERE (revoked_at IS NULL);


--
-- Name: messages_fixed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX messages_fixed ON public.messages USING btree (tenant, session_id, thread, seq) WHERE (pinned OR (role = ANY (ARRAY['system'::text, 'developer'::text])));


--
-- Name: messages_thread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX messages_thread ON public.messages USING btree (tenant, session_id, thread, seq);


--
-- Name: outbox_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX outbox_due ON public.outbox USING btree (sent_at NULLS FIRST, next_at);


--
-- Name: pins_of_message; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pins_of_message ON public.pins USING btree (tenant, session_id, seq);


--
-- Name: pins_one_live; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX pins_one_live ON public.pins USING btree (tenant, session_id, seq) WHERE (ended_at IS NULL);


--
-- Name: policies_with_ladder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX policies_with_ladder ON public.policies USING btree (tenant) WHERE (ladder IS NOT NULL);


--
-- Name: postings_in_order; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX postings_in_order ON public.postings USING brin (last_number) WITH (pages_per_range='32', autosummarize='on');


--
-- Name: postings_late; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX postings_late ON public.postings USING btree (tenant, scope_id, window_start, last_seq) WHERE late;


--
-- Name: scope_parents_of; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX scope_parents_of ON public.scope_parents USING btree (tenant, parent_id);


--
-- Name: scopes_further; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX scopes_further ON public.scopes USING btree (tenant, kind, split_part(id, '@'::text, 1)) WHERE (strpos(id, '@'::text) > 0);


--
-- Name: scopes_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX scopes_name ON public.scopes USING btree (tenant, kind, id) WHERE (kind IS NOT NULL);


--
-- Name: sessions_idle; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_idle ON public.sessions USING btree (tenant, active_on);


--
-- Name: sessions_newest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_newest ON public.sessions USING btree (tenant, created_at DESC, session_id DESC);


--
-- Name: sessions_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_of_user ON public.sessions USING btree (tenant, user_id) WHERE (user_id IS NOT NULL);


--
-- Name: sign_in_links_ending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sign_in_links_ending ON public.sign_in_links USING btree (expires_at);


--
-- Name: tasks_by_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tasks_by_status ON public.tasks USING btree (tenant, status, number DESC);


--
-- Name: tasks_listed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tasks_listed ON public.tasks USING btree (tenant, number DESC);


--
-- Name: tasks_of_session; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tasks_of_session ON public.tasks USING btree (tenant, session_id);


--
-- Name: tasks_unchecked; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tasks_unchecked ON public.tasks USING btree (COALESCE(checked_at, submitted_at)) WHERE (ended_at IS NULL);


--
-- Name: waiters_scope; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX waiters_scope ON public.waiters USING btree (tenant, scope_id, since);


--
-- Name: webhooks_listed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhooks_listed ON public.webhooks USING btree (tenant, created_at, webhook_id);


--
-- Name: scopes apply_templates; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER apply_templates AFTER INSERT ON public.scopes REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.apply_templates_to_new_scopes();


--
-- Name: changes changes_append_only; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER changes_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.changes FOR EACH STATEMENT EXECUTE FUNCTION public.changes_are_append_only();


--
-- Name: checkpoints checkpoints_append_only; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER checkpoints_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.checkpoints FOR EACH STATEMENT EXECUTE FUNCTION public.checkpoints_are_append_only();


--
-- Name: closed_ranges closed_ranges_append_only; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER closed_ranges_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.closed_ranges FOR EACH STATEMENT EXECUTE FUNCTION public.closed_ranges_are_append_only();


--
-- Name: sessions deleted_sessions_stay_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER deleted_sessions_stay_deleted AFTER INSERT ON public.sessions FOR EACH ROW EXECUTE FUNCTION public.deleted_sessions_stay_deleted();


--
-- Name: agents emit_agent_status; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_agent_status AFTER UPDATE OF status ON public.agents FOR EACH ROW WHEN ((old.status <> new.status)) EXECUTE FUNCTION public.emit_agent_event();


--
-- Name: summaries emit_compression; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_compression AFTER INSERT ON public.summaries FOR EACH ROW EXECUTE FUNCTION public.emit_compression_event();


--
-- Name: policies emit_policy; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_policy AFTER INSERT OR UPDATE ON public.policies FOR EACH ROW WHEN ((new.task = ''::text)) EXECUTE FUNCTION public.emit_policy_event();


--
-- Name: tasks emit_task; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_task AFTER INSERT ON public.tasks FOR EACH ROW EXECUTE FUNCTION public.emit_task_event();


--
-- Name: tasks emit_task_status; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_task_status AFTER UPDATE OF status ON public.tasks FOR EACH ROW WHEN ((old.status <> new.status)) EXECUTE FUNCTION public.emit_task_event();


--
-- Name: calls emit_turn_admitted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_turn_admitted AFTER UPDATE OF hold_id ON public.calls FOR EACH ROW WHEN ((old.hold_id IS DISTINCT FROM new.hold_id)) EXECUTE FUNCTION public.emit_turn_event('admitted');


--
-- Name: calls emit_turn_rejected; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_turn_rejected AFTER UPDATE OF rejected ON public.calls FOR EACH ROW WHEN (((old.rejected IS NULL) AND (new.rejected IS NOT NULL))) EXECUTE FUNCTION public.emit_turn_event('rejected');


--
-- Name: calls emit_turn_settled; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER emit_turn_settled AFTER UPDATE OF reply_seq ON public.calls FOR EACH ROW WHEN (((old.reply_seq IS NULL) AND (new.reply_seq IS NOT NULL))) EXECUTE FUNCTION public.emit_turn_event('settled');


--
-- Name: journal journal_append_only; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER journal_append_only BEFORE UPDATE OR TRUNCATE ON public.journal FOR EACH STATEMENT EXECUTE FUNCTION public.journal_is_append_only();


--
-- Name: journal journal_closed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER journal_closed AFTER DELETE ON public.journal REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION public.journal_is_closed('number');


--
-- Name: postings postings_append_only; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER postings_append_only BEFORE UPDATE OR TRUNCATE ON public.postings FOR EACH STATEMENT EXECUTE FUNCTION public.journal_is_append_only();


--
-- Name: postings postings_closed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER postings_closed AFTER DELETE ON public.postings REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION public.journal_is_closed('last_number');


--
-- Name: agents agents_tenant_task_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_tenant_task_id_fkey FOREIGN KEY (tenant, task_id) REFERENCES public.tasks(tenant, task_id);


--
-- Name: approval_waiters approval_waiters_tenant_approval_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.approval_waiters
    ADD CONSTRAINT approval_waiters_tenant_approval_id_fkey FOREIGN KEY (tenant, approval_id) REFERENCES public.approvals(tenant, approval_id);


--
-- Name: approvals approvals_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: balances balances_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.balances
    ADD CONSTRAINT balances_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: browser_sessions browser_sessions_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.keys(key_id);


--
-- Name: call_failures call_failures_tenant_key_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.call_failures
    ADD CONSTRAINT call_failures_tenant_key_fkey FOREIGN KEY (tenant, key) REFERENCES public.calls(tenant, key) ON DELETE CASCADE;


--
-- Name: calls calls_tenant_task_id_agent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_tenant_task_id_agent_id_fkey FOREIGN KEY (tenant, task_id, agent_id) REFERENCES public.agents(tenant, task_id, agent_id);


--
-- Name: compression_health compression_health_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compression_health
    ADD CONSTRAINT compression_health_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: decisions decisions_tenant_approval_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_tenant_approval_id_fkey FOREIGN KEY (tenant, approval_id) REFERENCES public.approvals(tenant, approval_id);


--
-- Name: deliveries deliveries_webhook_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES public.webhooks(webhook_id) ON DELETE CASCADE;


--
-- Name: fact_progress fact_progress_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.fact_progress
    ADD CONSTRAINT fact_progress_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: facts facts_tenant_session_id_seq_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_tenant_session_id_seq_fkey FOREIGN KEY (tenant, session_id, seq) REFERENCES public.messages(tenant, session_id, seq) ON DELETE CASCADE;


--
-- Name: grants grants_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: memory_postings memory_postings_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_postings
    ADD CONSTRAINT memory_postings_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.memory_sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: memory_sessions memory_sessions_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_sessions
    ADD CONSTRAINT memory_sessions_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: memory_threads memory_threads_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_threads
    ADD CONSTRAINT memory_threads_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.memory_sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: memory_turns memory_turns_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_turns
    ADD CONSTRAINT memory_turns_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.memory_sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: memory_vectors memory_vectors_tenant_session_id_seq_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.memory_vectors
    ADD CONSTRAINT memory_vectors_tenant_session_id_seq_fkey FOREIGN KEY (tenant, session_id, seq) REFERENCES public.messages(tenant, session_id, seq) ON DELETE CASCADE;


--
-- Name: messages messages_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: pins pins_tenant_session_id_seq_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pins
    ADD CONSTRAINT pins_tenant_session_id_seq_fkey FOREIGN KEY (tenant, session_id, seq) REFERENCES public.messages(tenant, session_id, seq) ON DELETE CASCADE;


--
-- Name: placeholders placeholders_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.placeholders
    ADD CONSTRAINT placeholders_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: policies policies_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: redaction_keys redaction_keys_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.redaction_keys
    ADD CONSTRAINT redaction_keys_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: scope_parents scope_parents_tenant_parent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scope_parents
    ADD CONSTRAINT scope_parents_tenant_parent_id_fkey FOREIGN KEY (tenant, parent_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: scope_parents scope_parents_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scope_parents
    ADD CONSTRAINT scope_parents_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: session_settings session_settings_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.session_settings
    ADD CONSTRAINT session_settings_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: shadow_counts shadow_counts_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shadow_counts
    ADD CONSTRAINT shadow_counts_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: sign_in_links sign_in_links_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.keys(key_id);


--
-- Name: summaries summaries_tenant_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.summaries
    ADD CONSTRAINT summaries_tenant_session_id_fkey FOREIGN KEY (tenant, session_id) REFERENCES public.sessions(tenant, session_id) ON DELETE CASCADE;


--
-- Name: templated_policies templated_policies_tenant_scope_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.templated_policies
    ADD CONSTRAINT templated_policies_tenant_scope_id_fkey FOREIGN KEY (tenant, scope_id) REFERENCES public.scopes(tenant, scope_id);


--
-- Name: waiters waiters_tenant_hold_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.waiters
    ADD CONSTRAINT waiters_tenant_hold_id_fkey FOREIGN KEY (tenant, hold_id) REFERENCES public.holds(tenant, hold_id);


--
-- PostgreSQL database dump complete
--


