-- What becomes of tasks, agents and turns, as events: triggers, so that no way past them exists. Ids, figures
-- and codes, never a text.

create function tell_task() returns trigger language plpgsql as $$
begin
    perform put_event(new.tenant, 'task', 'task:' || new.task_id,
            jsonb_build_object('task_id', new.task_id, 'session_id', new.session_id, 'status', new.status));
    return null;
end $$;
create trigger tell_task after insert on tasks for each row execute function tell_task();
create trigger tell_task_status after update of status on tasks for each row
    when (old.status <> new.status) execute function tell_task();

create function tell_agent() returns trigger language plpgsql as $$
begin
    perform put_event(new.tenant, 'agent', 'agent:' || new.task_id || '/' || new.agent_id,
            jsonb_build_object('task_id', new.task_id, 'agent_id', new.agent_id, 'status', new.status, 'reason', nullif(new.reason, ''),
                               'short_scope', nullif(new.scope, '')));
    return null;
end $$;
create trigger tell_agent_status after update of status on agents for each row
    when (old.status <> new.status) execute function tell_agent();

-- One turn tells of itself when its hold is there (in the transaction of the hold), and when it is over.
create function tell_turn() returns trigger language plpgsql as $$
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
create trigger tell_turn_admitted after update of hold_id on calls for each row
    when (old.hold_id is distinct from new.hold_id) execute function tell_turn('admitted');
create trigger tell_turn_settled after update of reply_seq on calls for each row
    when (old.reply_seq is null and new.reply_seq is not null) execute function tell_turn('settled');
create trigger tell_turn_rejected after update of rejected on calls for each row
    when (old.rejected is null and new.rejected is not null) execute function tell_turn('rejected');
