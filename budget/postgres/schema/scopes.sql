-- Names of scopes, `kind:id`.

create function kind_of(p_scope text) returns text language sql immutable parallel safe
return split_part(p_scope, ':', 1);

create function id_of(p_scope text) returns text language sql immutable parallel safe
return substr(p_scope, strpos(p_scope, ':') + 1);

-- The task whose request applies to a scope by default: for a task itself, for an agent its task.
create function requesting_task(p_kind text, p_id text) returns text language sql immutable parallel safe
return case p_kind when 'task' then p_id when 'agent' then split_part(p_id, '/', 1) end;
