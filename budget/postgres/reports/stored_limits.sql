-- name: stored_limits
-- Token limits of stored policies and templates of all tenants, the smallest first, for the configuration linter.
select * from (
    select s.tenant, s.kind || ':' || s.id as name, p.limit_tokens, p.mode
    from policies p join scopes s on s.tenant = p.tenant and s.scope_id = p.scope_id
    where p.task = '' and p.limit_tokens is not null
    union all
    select t.tenant, t.pattern, (t.fields ->> 'limit_tokens')::bigint, t.fields ->> 'mode' from policy_templates t
    where t.fields ? 'limit_tokens'
) as limits order by limit_tokens, tenant, name limit $1;
