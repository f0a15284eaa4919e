-- The schema of release 0.1.0, frozen: later changes are revisions of their own.

-- Tasks, their agents, and the model calls of agents. Texts are stored with the conversation and in the task's body.

create table tasks (
    number       bigint generated always as identity unique,   -- order of submission; pages continue from it
    tenant       text not null,
    task_id      text not null,
    session_id   text not null,
    user_id      text,                                -- user on whose budget it draws, from the file or the session at submission
    body         jsonb not null,                      -- the task file as submitted
    digest       bytea not null,                      -- binds the id to the body
    submitter    text,
    submitted_by text,                                -- the key that submitted it; `submitter` is the name in the task file
    vouched      boolean not null default false,      -- that key may act for others: `submitter` is trusted
    tags         jsonb not null default '{}',         -- of all its calls: those of the file and of that key
    status       text not null default 'running' check (status in ('running', 'paused', 'completed', 'partial', 'refused',
                 'failed', 'cancelled')),
    input_seq    bigint not null,                     -- the input, as a message of the session
    submitted_at timestamptz not null default clock_timestamp(),
    ended_at     timestamptz,
    reason       text not null default '',            -- stable code, if there is one: `budget`, or why another than its workflow ended it
    lost_at      timestamptz,                         -- since when Temporal does not know its workflow
    checked_at   timestamptz,                         -- when the existence of its workflow was last checked
    primary key (tenant, task_id)
);
create index tasks_listed on tasks (tenant, number desc);
create index tasks_by_status on tasks (tenant, status, number desc);
create index tasks_of_session on tasks (tenant, session_id);
create index tasks_unchecked on tasks (coalesce(checked_at, submitted_at)) where ended_at is null;

create table agents (
    tenant    text not null,
    task_id   text not null,
    agent_id  text not null,
    position  integer not null,                       -- in the task file
    status    text not null default 'waiting' check (status in ('waiting', 'running', 'paused', 'waiting_approval', 'completed',
              'refused', 'failed', 'cancelled', 'skipped')),
    reason    text not null default '',               -- stable code of the end
    scope     text not null default '',               -- the scope that refused
    shortfall jsonb,                                  -- budget of its last window that was too small, tokens by required part
    reply_seq bigint,                                 -- its last reply, once it completed
    ended_at  timestamptz,
    primary key (tenant, task_id, agent_id),
    foreign key (tenant, task_id) references tasks
);
create index agents_asking on agents (tenant, task_id) where status = 'waiting_approval';

-- A task waits for approval while one of its agents does.
create view task_states as
select t.*, case when t.status = 'running' and exists (
                 select 1 from agents a where a.tenant = t.tenant and a.task_id = t.task_id and a.status = 'waiting_approval')
            then 'waiting_approval' else t.status end as state
from tasks t;

-- One model call by the key of its hold: what it asks for, which never changes, and its result.
create table calls (
    tenant        text not null,
    key           text not null,
    task_id       text not null,
    agent_id      text not null,
    turn          integer not null,
    model         text not null,
    plan          jsonb not null,                     -- the window by reference
    output_cap    bigint not null,                    -- most output: as the agent declared, or less by a ladder
    learned_output bigint,                            -- output in the ask, if less than the cap: learned from earlier replies
    request_cap   bigint,                             -- most output that its requests ask for; null: not admitted yet
    tokens        bigint not null,                    -- asked: prompt and output
    nano          bigint not null,
    least_tokens  bigint not null,                    -- the smallest useful ask
    least_nano    bigint not null,
    priced        boolean not null default true,      -- false: the price was unknown, and the asks contain no money
    last          boolean not null default false,     -- the agent's last call, which may use what budgets reserve for it
    ladder        jsonb not null default '[]',        -- the steps of ladders that it took, with what they changed
    hold_id       bigint,
    delay_ms      integer not null default 0,         -- backpressure, without the jitter that the workflow adds
    slowed_by     text not null default '',           -- the scope that caused the delay
    slowed_ratio  double precision,                   -- share of that scope that was used, this call included
    slot_at       timestamptz,                        -- when the provider's pace allows its next request; null: not known
    paced_ms      bigint not null default 0,          -- how long the provider's pace delayed it
    refusal       jsonb,                              -- figures of the last answer that did not admit it
    would         text not null default '',           -- how a policy in shadow would have held it up, and its scope
    reply_seq     bigint,
    usage         jsonb,                              -- of the attempt that replied
    output_capped boolean not null default false,
    rejected      text,                               -- stable code if the call was given up
    created_at    timestamptz not null default clock_timestamp(),
    primary key (tenant, key),
    foreign key (tenant, task_id, agent_id) references agents
);
create index calls_agent on calls (tenant, task_id, agent_id, turn);

-- Failures of requests to a provider, by the number of their attempt.
create table call_failures (
    tenant   text not null,
    key      text not null,
    attempt  integer not null,
    reason   text not null,                           -- stable code
    at       timestamptz not null default clock_timestamp(),
    primary key (tenant, key, attempt),
    foreign key (tenant, key) references calls on delete cascade
);

-- Output that the latest replies of an agent needed, newest first: what learned holds learn from. Agents with the same
-- id learn together in all tasks of a tenant.
create table reply_outputs (
    tenant   text not null,
    agent_id text not null,
    model    text not null,
    outputs  bigint[] not null,
    primary key (tenant, agent_id, model)
) with (fillfactor = 60);

-- The columns of calls for other packages.
create view call_facts as
select tenant, task_id, agent_id, turn, key, delay_ms, reply_seq, plan from calls;

-- The pace of requests to providers: one row for each limit in use, of all tenants, which share the provider's quota.

create table pacing (
    name         text primary key,                        -- provider and model, or a prefix of them with a `*`
    requests_at  timestamptz not null default '-infinity', -- when the requests so far are paid off
    tokens_at    timestamptz not null default '-infinity', -- the same of their tokens
    paused_until timestamptz not null default '-infinity'  -- the provider asked to wait until then
);

-- Gives a request its slot under all of its limits, as `Spacing` describes. Returns the seconds until the slot, 0 to send
-- now; null if it is further away than p_most_s: then nothing was changed. A call (p_tenant, p_key) keeps its slot while it
-- waits; a slot that it missed, or that is within a pause, is replaced.
create function pacing_wait(
    p_names text[], p_request_s double precision[], p_request_burst_s double precision[], p_token_s double precision[],
    p_token_burst_s double precision[], p_tokens bigint, p_slack_s double precision, p_most_s double precision,
    p_tenant text, p_key text, p_now timestamptz
) returns double precision language plpgsql as $$
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

-- Events of tasks, agents and turns. Triggers emit them, so that no change goes without its event. They contain ids,
-- figures and codes, never a text.

create function emit_task_event() returns trigger language plpgsql as $$
begin
    perform put_event(new.tenant, 'task', 'task:' || new.task_id,
            jsonb_build_object('task_id', new.task_id, 'session_id', new.session_id, 'status', new.status));
    return null;
end $$;
create trigger emit_task after insert on tasks for each row execute function emit_task_event();
create trigger emit_task_status after update of status on tasks for each row
    when (old.status <> new.status) execute function emit_task_event();

create function emit_agent_event() returns trigger language plpgsql as $$
begin
    perform put_event(new.tenant, 'agent', 'agent:' || new.task_id || '/' || new.agent_id,
            jsonb_build_object('task_id', new.task_id, 'agent_id', new.agent_id, 'status', new.status, 'reason', nullif(new.reason, ''),
                               'short_scope', nullif(new.scope, '')));
    return null;
end $$;
create trigger emit_agent_status after update of status on agents for each row
    when (old.status <> new.status) execute function emit_agent_event();

-- A turn emits an event when its hold is admitted, in the same transaction, and when it ends.
create function emit_turn_event() returns trigger language plpgsql as $$
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
create trigger emit_turn_admitted after update of hold_id on calls for each row
    when (old.hold_id is distinct from new.hold_id) execute function emit_turn_event('admitted');
create trigger emit_turn_settled after update of reply_seq on calls for each row
    when (old.reply_seq is null and new.reply_seq is not null) execute function emit_turn_event('settled');
create trigger emit_turn_rejected after update of rejected on calls for each row
    when (old.rejected is null and new.rejected is not null) execute function emit_turn_event('rejected');
