-- Names of scopes, `kind:id`, and their kinds.

create function kind_of(p_scope text) returns text language sql immutable parallel safe
return split_part(p_scope, ':', 1);

create function id_of(p_scope text) returns text language sql immutable parallel safe
return substr(p_scope, strpos(p_scope, ':') + 1);

-- The position of a kind, outermost first, then labels; null if there is no such kind. A test compares the list with `Kind`.
create function kind_rank(p_kind text) returns integer language sql immutable parallel safe
return array_position(array['tenant', 'user', 'session', 'task', 'agent', 'tag', 'model', 'tool'], p_kind);

-- Whether scopes of this kind are labels: no level of a path, and joined only where they have a policy.
create function is_label(p_kind text) returns boolean language sql immutable parallel safe
return kind_rank(p_kind) >= kind_rank('tag');

-- Whether several tasks may draw on a scope of this kind.
create function is_shared(p_kind text) returns boolean language sql immutable parallel safe
return p_kind not in ('task', 'agent');

-- The task whose request applies to a scope by default: for a task itself, for an agent its task.
create function requesting_task(p_kind text, p_id text) returns text language sql immutable parallel safe
return case p_kind when 'task' then p_id when 'agent' then split_part(p_id, '/', 1) end;
