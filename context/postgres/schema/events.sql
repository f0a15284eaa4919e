-- Publishes each new summary as a `compression` event: ids, figures and codes, never a text.
create function emit_compression_event() returns trigger language plpgsql as $$
begin
    perform put_event(new.tenant, 'compression', 'session:' || new.session_id,
                      jsonb_build_object('session_id', new.session_id, 'thread', new.thread, 'version', new.version,
                                         'tokens_before', new.tokens_before, 'tokens_after', new.tokens_after,
                                         'method', new.method, 'trigger', new.trigger, 'model', new.model));
    return null;
end $$;
create trigger emit_compression after insert on summaries for each row execute function emit_compression_event();
