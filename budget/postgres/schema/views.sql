-- The interface of the ledger for other packages: its tables may change, these columns stay.

create view hold_facts as
select tenant, hold_id, key, task, model, path, path[cardinality(path)] as payer, state, tokens, nano, attempts,
       charged_tokens, charged_nano, created_at, expires_at, ended_at
from holds;

-- Entries on each scope: `tokens` held or freed, and the tokens held after the entry.
create view scope_entries as
select e.tenant, s.kind, s.id, e.kind as entry, e.hold_id, e.at, e.d_held_tokens as tokens,
       (select a.held_tokens from ledger_posting(e.tenant, e.scope_id, e.window_start, e.seq) p cross join lateral ledger_after(p, e.number) a)
           as held_after
from scopes s join balance_moves e on e.tenant = s.tenant and e.scope_id = s.scope_id;

-- Events of holds: `tokens` held or freed on each scope of the path.
create view hold_events as
select tenant, kind, hold_id, at, d_held_tokens as tokens from journal where hold_id is not null;

create view attempt_facts as
select h.tenant, h.key, a.hold_id, a.attempt, a.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, a.usage,
       a.started_at, a.reported_at
from attempts a join holds h on h.tenant = a.tenant and h.hold_id = a.hold_id;

-- Presumed attempts, late reports and expired holds.
create view hold_faults as
select tenant, kind, hold_id, at from journal where kind in ('presumed', 'late', 'expire');

-- What each scope has spent, by window; in a rolling window with what has fallen out of it.
create view scope_spending as
select s.tenant, s.kind, s.id, b.window_start, b.spent_tokens + b.rolled_tokens as tokens, b.spent_nano + b.rolled_nano as nano
from scopes s join balances b on b.tenant = s.tenant and b.scope_id = s.scope_id;

-- The calls that wait, or waited, for an approval.
create view approval_calls as
select w.tenant, w.task_id, w.agent_id, w.key, w.since, w.left_at, w.tokens, a.approval_id, a.state, a.created_at, a.decided_at,
       s.kind || ':' || s.id as scope, a.asked_tokens, a.asked_nano, a.granted_tokens, a.granted_nano,
       (select d.approver from decisions d where d.tenant = a.tenant and d.approval_id = a.approval_id order by d.at desc limit 1) as approver
from approval_waiters w
join approvals a on a.tenant = w.tenant and a.approval_id = w.approval_id
join scopes s on s.tenant = a.tenant and s.scope_id = a.scope_id;

create view unsent_messages as
select tenant, workflow_id, created_at, tries from outbox where sent_at is null;

create view threshold_events as
select tenant, event_id, at, scope, window_start, threshold from events where kind = 'threshold';
