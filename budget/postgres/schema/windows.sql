-- Windows: the time span to which a limit applies.

-- First instant of the window that contains p_at. An hour is elapsed time, so a repeated hour is two windows; a day
-- begins at the first of two midnights where the clock is set back over midnight.
create function ledger_window_start(p_window text, p_zone text, p_at timestamptz) returns timestamptz language plpgsql stable as $$
declare
    v_midnight timestamp;
    v_start timestamptz;
    v_first timestamptz;
begin
    if p_window = 'lifetime' then
        return '-infinity';
    elsif p_window = 'hour' then
        return p_at - (p_at at time zone p_zone - date_trunc('hour', p_at at time zone p_zone));
    end if;
    v_midnight := date_trunc(p_window, p_at at time zone p_zone);
    v_start := v_midnight at time zone p_zone;
    -- The same midnight at the offset of the day before; of two midnights Postgres returns the later one.
    v_first := v_start - ((v_start - interval '24 hours') at time zone p_zone - (v_midnight - interval '24 hours'));
    return case when v_first < v_start and v_first at time zone p_zone = v_midnight then v_first else v_start end;
end $$;

-- End (exclusive) of the window that begins at p_start; null for a lifetime. As for its start, the time zone data of
-- Postgres applies: that of Python may be of another version.
create function ledger_window_end(p_window text, p_zone text, p_start timestamptz) returns timestamptz language sql stable as $$
    select case p_window when 'lifetime' then null when 'hour' then p_start + interval '1 hour'
           else ledger_window_start(p_window, p_zone, p_start + case p_window when 'day' then interval '36 hours' else interval '32 days' end) end
$$;
