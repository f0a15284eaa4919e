-- What pages look up.
create index tasks_by_status on tasks (tenant, status, number desc);
create index agents_asking on agents (tenant, task_id) where status = 'waiting_approval';
create index approval_waiters_of_task on approval_waiters (tenant, task_id);
create index sessions_newest on sessions (tenant, created_at desc, session_id desc);
