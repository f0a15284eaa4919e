-- Templates: fields for all scopes of a tenant whose name matches a pattern, such as `session:*` or `agent:*/writer`.
-- What they give a scope is merged when the scope appears and when a template changes, so that the gate reads one row.

create table policy_templates (
    tenant     text not null,
    pattern    text not null check (kind_rank(kind_of(pattern)) is not null and pattern like '%*%'),
    fields     jsonb not null,                        -- by the names of the columns of policies
    updated_by text not null,
    updated_at timestamptz not null,
    primary key (tenant, pattern)
);

-- The merged fields of the templates that match a scope.
create table templated_policies (
    tenant         text not null,
    scope_id       bigint not null,
    limit_tokens   bigint,
    limit_nano_usd bigint,
    mode           text,
    "window"       text,
    timezone       text,
    warn_at        numeric[],
    backpressure   jsonb,
    approval       jsonb,
    frozen         boolean,
    shadow         boolean,
    learned_holds  numeric,
    last_answer    numeric,
    rollover       numeric,
    ladder         jsonb,
    sources        jsonb not null,                    -- the pattern that each field comes from
    primary key (tenant, scope_id),
    foreign key (tenant, scope_id) references scopes
);

-- Whether fields may stop calls, or say that their policy applies: then no less specific source turns them into a shadow.
create function binds(p_fields jsonb) returns boolean language sql immutable parallel safe
return (p_fields ->> 'shadow') is distinct from 'true'
   and jsonb_strip_nulls(p_fields) ?| array['limit_tokens', 'limit_nano_usd', 'mode', 'frozen', 'shadow'];

-- The fields that operators stored for each scope: its own policy, then its templates. Templates in shadow never take the
-- force from a scope's own policy, see `binds`.
create view stored_policies as
select s.tenant, s.scope_id, s.kind, s.id,
       coalesce(o.limit_tokens, t.limit_tokens) as limit_tokens, coalesce(o.limit_nano_usd, t.limit_nano_usd) as limit_nano_usd,
       coalesce(o.mode, t.mode) as mode, coalesce(o."window", t."window") as "window", coalesce(o.timezone, t.timezone) as timezone,
       coalesce(o.warn_at, t.warn_at) as warn_at, coalesce(o.backpressure, t.backpressure) as backpressure,
       coalesce(o.approval, t.approval) as approval, coalesce(o.frozen, t.frozen) as frozen,
       coalesce(o.shadow, t.shadow) as shadow,
       coalesce(o.last_answer, t.last_answer) as last_answer,
       coalesce(o.rollover, t.rollover) as rollover,
       coalesce(o.ladder, t.ladder) as ladder
from scopes s
left join policies o on o.tenant = s.tenant and o.scope_id = s.scope_id and o.task = ''
left join templated_policies t on t.tenant = s.tenant and t.scope_id = s.scope_id
          and not coalesce(t.shadow and binds(to_jsonb(o)), false);

-- `*` matches any characters; the others match themselves. A further limit matches by its period, too: `session:*` matches
-- no `s1@day`, and `session:*@day` nothing else.
create function template_matches(p_pattern text, p_kind text, p_id text) returns boolean language sql immutable parallel safe
return kind_of(p_pattern) = p_kind and split_part(p_id, '@', 2) = split_part(p_pattern, '@', 2)
   and p_id like replace(replace(id_of(p_pattern), '_', '\_'), '*', '%');

-- How specific a pattern is: its number of characters other than `*`.
create function template_rank(p_pattern text) returns integer language sql immutable parallel safe
return length(replace(p_pattern, '*', ''));

-- One number for each tenant. Shared: scopes appear. Exclusive: a template changes. So no scope misses a template.
create function template_lock(p_tenant text) returns bigint language sql immutable parallel safe
return hashtextextended('templates of ' || p_tenant, 0);

-- The fields that templates, by pattern, give a scope, and the pattern that each comes from: of several that set one, the
-- most specific. One in shadow gives none where a more specific one binds.
create function merge_templates(p_templates jsonb, p_kind text, p_id text, out fields jsonb, out sources jsonb) language sql immutable as $$
    with matching as materialized (
        select t.key as pattern, t.value as fields, template_rank(t.key) as rank
        from jsonb_each(p_templates) t where template_matches(t.key, p_kind, p_id)
    )
    select jsonb_object_agg(e.key, e.value order by m.rank, m.pattern), jsonb_object_agg(e.key, m.pattern order by m.rank, m.pattern)
    from matching m cross join lateral jsonb_each(m.fields) e
    where not (m.fields @> '{"shadow": true}'
               and exists (select from matching u where binds(u.fields) and (u.rank, u.pattern) > (m.rank, m.pattern)))
$$;

-- What the stored templates give a scope.
create function merged_templates(p_tenant text, p_kind text, p_id text, out fields jsonb, out sources jsonb) language sql stable as $$
    select m.fields, m.sources
    from (select jsonb_object_agg(t.pattern, t.fields) as templates from policy_templates t
          where t.tenant = p_tenant and template_matches(t.pattern, p_kind, p_id)) t
    cross join lateral merge_templates(coalesce(t.templates, '{}'), p_kind, p_id) m
$$;

-- Merges anew what templates give these scopes.
create function ledger_apply_templates(p_tenant text, p_scopes bigint[]) returns void language sql as $$
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

create function apply_templates_to_new_scopes() returns trigger language plpgsql as $$
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
create trigger apply_templates after insert on scopes referencing new table as made
    for each statement execute function apply_templates_to_new_scopes();
