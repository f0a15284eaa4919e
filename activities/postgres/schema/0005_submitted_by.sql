-- Who really submitted a task: `submitter` is whoever the task file names.

alter table tasks add column submitted_by text;
alter table tasks add column vouched boolean not null default false;  -- that key may act for others: `submitter` is believed

drop view task_states;
create view task_states as
select t.*, case when t.status = 'running' and exists (
                 select 1 from agents a where a.tenant = t.tenant and a.task_id = t.task_id and a.status = 'waiting_approval')
            then 'waiting_approval' else t.status end as state
from tasks t;
