-- The change log: every change by a person or a key, with the values before and after. Never text of a conversation,
-- never a secret.

create table changes (
    tenant    text not null,
    change_id bigint generated always as identity,
    at        timestamptz not null default clock_timestamp(),
    by        text not null,                          -- name of the key, or of the component of Purser that acted
    key_id    text,                                   -- null if no key acted
    action    text not null,                          -- `policy.set`, `key.create`, …
    target    text not null,                          -- `session:s1`, `key:key-…`, …
    before    jsonb,                                  -- null: it did not exist
    after     jsonb,                                  -- null: it does not exist any more
    primary key (tenant, change_id)
);
create index changes_of_target on changes (tenant, target, change_id);

create function changes_are_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'changes are append-only: a change back is another change';
end $$;
create trigger changes_append_only before update or delete or truncate on changes
    for each statement execute function changes_are_append_only();
