-- Under which scope a scope was seen in the path of a hold; null: outermost. Derived from holds and never read by the gate.
create table scope_parents (
    scope_id  bigint primary key references scopes,
    parent_id bigint references scopes
);
create index scope_parents_of on scope_parents (parent_id);
