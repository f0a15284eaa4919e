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
