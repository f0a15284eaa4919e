-- Tasks by session, for its deletion.
create index tasks_of_session on tasks (tenant, session_id);
