-- The scopes on which a call draws.

-- The scopes of one hold, in this order:
--   1. its path;
--   2. those of its labels that have a policy, stored or by a template;
--   3. further limits of its path and labels, such as `session:s1@day`, that have a policy, stored or by a template.
-- `scope_id` is null for a scope that is still to be created. What has no policy in 2 and 3 is left out, so it
-- costs nothing. Scopes are looked up one by one: see `ledger_policies`.
create function ledger_expand(p_tenant text, p_path text[], p_labels text[])
returns table (ord bigint, name text, scope_id bigint) language sql stable as $$
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
