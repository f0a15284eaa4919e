-- Who changed what: every change that a person or a key made, with how it was before and after. Never a text of a
-- conversation, never a secret.

create table changes (
    change_id bigint generated always as identity primary key,
    at        timestamptz not null default clock_timestamp(),
    tenant    text not null,
    by        text not null,                          -- name of the key, or of the part of Purser that acted
    key_id    text,                                   -- of the key; null where no key acted
    action    text not null,                          -- `policy.set`, `key.create`, …
    target    text not null,                          -- `session:s1`, `key:key-…`, …
    before    jsonb,                                  -- null: it was not there
    after     jsonb                                   -- null: it is gone
);
create index changes_listed on changes (tenant, change_id);
create index changes_of_target on changes (tenant, target, change_id);

create function changes_are_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'changes are append-only: a change back is another change';
end $$;
create trigger changes_append_only before update or delete or truncate on changes
    for each statement execute function changes_are_append_only();

-- Until now, changes of sessions stood among the events.
insert into changes (at, tenant, by, action, target, before, after)
select at, tenant, coalesce(data ->> 'by', 'unknown'), case when kind = 'deletion' then 'session.delete'
            when kind = 'pin' and data -> 'after' = 'null' then 'pin.end' else kind || '.set' end, scope,
       case when jsonb_typeof(data -> 'before') = 'object' then data -> 'before' || seq
            when kind = 'retention' then jsonb_build_object('days', data -> 'before') end,
       case when jsonb_typeof(data -> 'after') = 'object' then data -> 'after' || seq
            when kind = 'retention' then jsonb_build_object('days', data -> 'after') end
from events
cross join lateral (select jsonb_strip_nulls(jsonb_build_object('seq', data -> 'seq')) as seq) s
where kind in ('pin', 'settings', 'retention', 'deletion') order by event_id;
delete from events where kind in ('pin', 'settings', 'retention', 'deletion');

insert into changes (at, tenant, by, action, target, before, after)
select at, tenant, approver, 'approval.' || decision, 'approval:' || approval_id, null,
       answer || jsonb_build_object('decision_id', decision_id, 'identity', identity, 'grant_tokens', grant_tokens,
                                    'grant_nano_usd', grant_nano)
from decisions order by at;

-- A task may be submitted in another's name; whoever really did is barred from deciding too.
alter table approval_waiters add column submitted_by text;
-- Whether that key may act for others. Only then is the name that the task gives barred.
alter table approval_waiters add column vouched boolean not null default false;
