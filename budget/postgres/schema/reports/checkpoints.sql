-- Digests of closed ranges of entries, made in the background: they reveal entries that are deleted or changed later.
-- A range can be closed once every transaction that may have taken one of its ids has ended.

create table checkpoints (
    checkpoint_id bigint generated always as identity primary key,
    first_entry   bigint not null,                    -- ids may be missing: failed transactions took them
    last_entry    bigint not null,
    entries       bigint not null,
    previous      bytea not null,                     -- digest of the previous checkpoint; empty for the first
    digest        bytea not null,
    made_at       timestamptz not null
);

create function checkpoints_are_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'checkpoints are append-only';
end $$;
create trigger checkpoints_append_only before update or delete or truncate on checkpoints
    for each statement execute function checkpoints_are_append_only();

-- The highest entry id that was taken at some time, and the first transaction that cannot have taken an id up to it.
create table checkpoint_horizon (
    one        boolean primary key default true check (one),
    last_entry bigint not null,
    xid        xid8 not null
);

-- SHA-256 over the previous digest and the rows of a range in order. Columns are named: adding one later changes no
-- digest.
create function ledger_digest(p_first bigint, p_last bigint, p_previous bytea) returns bytea
language sql stable set timezone = 'UTC' set datestyle = 'ISO' as $$
    select sha256(p_previous || convert_to(coalesce(string_agg(
        row(e.tenant, e.entry_id, e.at, e.scope_id, e.window_start, e.seq, e.kind, e.hold_id, e.attempt, e.ref,
            e.d_spent_tokens, e.d_held_tokens, e.d_granted_tokens, e.d_overrun_tokens,
            e.d_spent_nano, e.d_held_nano, e.d_granted_nano, e.d_overrun_nano,
            e.spent_tokens, e.held_tokens, e.granted_tokens, e.overrun_tokens,
            e.spent_nano, e.held_nano, e.granted_nano, e.overrun_nano, e.limit_tokens, e.limit_nano, e.mode)::text,
        e'\n' order by e.entry_id), ''), 'UTF8'))
    from entries e where e.entry_id between p_first and p_last
$$;

-- Closes the range that can be closed, at most p_most ids at once, and records the highest entry id. Several processes
-- may call it at the same time: one does the work. Returns how many ids were closed.
create function ledger_checkpoint(p_most bigint, p_now timestamptz) returns bigint language plpgsql as $$
declare
    v_snapshot pg_snapshot := pg_current_snapshot();
    -- Read before this transaction has an id: whoever took an entry id up to it has a lower transaction id.
    v_highest bigint := coalesce(pg_sequence_last_value(pg_get_serial_sequence('entries', 'entry_id')::regclass), 0);
    v_horizon checkpoint_horizon%rowtype;
    v_before checkpoints%rowtype;
    v_first bigint;
    v_last bigint;
    v_closed bigint := 0;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('purser checkpoints', 0)) then
        return 0;
    end if;
    select * into v_horizon from checkpoint_horizon;
    if found and pg_snapshot_xmin(v_snapshot) >= v_horizon.xid then
        select * into v_before from checkpoints order by checkpoint_id desc limit 1;
        v_first := coalesce(v_before.last_entry, 0) + 1;
        v_last := least(v_horizon.last_entry, v_first + p_most - 1);
        if v_last >= v_first then
            v_closed := v_last - v_first + 1;
            insert into checkpoints (first_entry, last_entry, entries, previous, digest, made_at)
            values (v_first, v_last, (select count(*) from entries e where e.entry_id between v_first and v_last),
                coalesce(v_before.digest, ''), ledger_digest(v_first, v_last, coalesce(v_before.digest, '')),
                    coalesce(p_now, clock_timestamp()));
        end if;
    -- A horizon beyond all transactions comes from another cluster: the database was restored.
    elsif found and v_horizon.xid <= pg_snapshot_xmax(v_snapshot) then
        return 0;
    end if;
    -- The horizon only moves once all ids up to it are closed.
    if v_horizon.last_entry is null or v_last is null or v_last >= v_horizon.last_entry then
        insert into checkpoint_horizon (last_entry, xid) values (v_highest, pg_current_xact_id())
        on conflict (one) do update set last_entry = excluded.last_entry, xid = excluded.xid;
    end if;
    return v_closed;
end $$;
