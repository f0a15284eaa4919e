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
