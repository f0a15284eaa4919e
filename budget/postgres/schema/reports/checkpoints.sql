-- Digests of closed ranges of the journal, made in the background: they reveal what is deleted or changed later.
-- A range can be closed once every transaction that may have taken one of its numbers has ended.

create table checkpoints (
    checkpoint_id bigint generated always as identity primary key,
    first_number  bigint not null,                    -- numbers may be missing: failed transactions took them
    last_number   bigint not null,
    events        bigint not null,
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

-- The highest number that was taken at some time, and the first transaction that cannot have taken a number up to it.
create table checkpoint_horizon (
    one         boolean primary key default true check (one),
    last_number bigint not null,
    xid         xid8 not null
);

-- SHA-256 over the previous digest and the rows of a range in order: its events, then the postings that end in it. Columns
-- are named: adding one later changes no digest.
create function ledger_digest(p_first bigint, p_last bigint, p_previous bytea) returns bytea
language sql stable set timezone = 'UTC' set datestyle = 'ISO' as $$
    select sha256(p_previous || convert_to(e'\n' || coalesce((
        select string_agg(
            row(j.tenant, j.number, j.at, j.kind, j.hold_id, j.attempt, j.ref, j.scope_ids, j.window_starts, j.seqs,
                j.d_spent_tokens, j.d_held_tokens, j.d_granted_tokens, j.d_overrun_tokens,
                j.d_spent_nano, j.d_held_nano, j.d_granted_nano, j.d_overrun_nano, j.limits_tokens, j.limits_nano, j.modes)::text,
            e'\n' order by j.number)
        from journal j where 0 + j.number between p_first and p_last), '') || e'\n\n' || coalesce((
        select string_agg(
            row(p.tenant, p.scope_id, p.window_start, p.first_seq, p.last_seq, p.first_number, p.last_number, p.at, p.late,
                p.spent_tokens, p.held_tokens, p.granted_tokens, p.overrun_tokens,
                p.spent_nano, p.held_nano, p.granted_nano, p.overrun_nano, p.limit_tokens, p.limit_nano, p.mode)::text,
            e'\n' order by p.last_number, p.tenant, p.scope_id, p.window_start, p.last_seq)
        from postings p where p.last_number between p_first and p_last), ''), 'UTF8'))
$$;

-- Closes the range that can be closed, at most p_most numbers at once, and records the highest number. Several processes
-- may call it at the same time: one does the work. Returns how many numbers were closed.
create function ledger_checkpoint(p_most bigint, p_now timestamptz) returns bigint language plpgsql as $$
declare
    v_snapshot pg_snapshot := pg_current_snapshot();
    -- Read before this transaction has an id: whoever took a number up to it has a lower transaction id.
    v_highest bigint := coalesce(pg_sequence_last_value(pg_get_serial_sequence('journal', 'number')::regclass), 0);
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
        v_first := coalesce(v_before.last_number, 0) + 1;
        v_last := least(v_horizon.last_number, v_first + p_most - 1);
        if v_last >= v_first then
            v_closed := v_last - v_first + 1;
            insert into checkpoints (first_number, last_number, events, previous, digest, made_at)
            values (v_first, v_last, (select count(*) from journal j where 0 + j.number between v_first and v_last),
                coalesce(v_before.digest, ''), ledger_digest(v_first, v_last, coalesce(v_before.digest, '')),
                    coalesce(p_now, clock_timestamp()));
        end if;
    -- A horizon beyond all transactions comes from another cluster: the database was restored.
    elsif found and v_horizon.xid <= pg_snapshot_xmax(v_snapshot) then
        return 0;
    end if;
    -- The horizon only moves once all numbers up to it are closed.
    if v_horizon.last_number is null or v_last is null or v_last >= v_horizon.last_number then
        insert into checkpoint_horizon (last_number, xid) values (v_highest, pg_current_xact_id())
        on conflict (one) do update set last_number = excluded.last_number, xid = excluded.xid;
    end if;
    return v_closed;
end $$;
