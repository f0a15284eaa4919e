-- Windows: the time span to which a limit applies.

-- Whether a window has this name: a calendar window, or the length of a rolling one, from an hour to 31 days. A test
-- compares it with `read_window`.
create function is_window(p_window text) returns boolean language sql immutable parallel safe
return p_window in ('lifetime', 'hour', 'day', 'week', 'month')
    or (p_window ~ '^[1-9][0-9]{0,2}[hd]$' and replace(replace(p_window, 'd', ' days'), 'h', ' hours')::interval <= interval '31 days');

-- The start of a calendar window; null for a lifetime and for a rolling window, whose start is only a key.
create function calendar_start(p_start timestamptz) returns timestamptz language sql immutable parallel safe
return case when p_start >= timestamptz '1000-01-01 00:00:00+00' then p_start end;

-- The length of a rolling window, from the key of its balance; null for other windows.
create function rolling_length(p_start timestamptz) returns interval language sql immutable parallel safe
return case when p_start > '-infinity' and p_start < timestamptz '1000-01-01 00:00:00+00'
            then make_interval(secs => extract(epoch from p_start - timestamptz '0100-01-01 00:00:00+00')::float8) end;

-- First instant of the window that contains p_at; for a rolling window a key from which its length follows: the year 100
-- and the length. An hour is elapsed time, so a repeated hour is two windows; a day
-- begins at the first of two midnights where the clock is set back over midnight.
create function ledger_window_start(p_window text, p_zone text, p_at timestamptz) returns timestamptz language plpgsql stable as $$
declare
    v_midnight timestamp;
    v_start timestamptz;
    v_first timestamptz;
begin
    if p_window = 'lifetime' then
        return '-infinity';
    elsif left(p_window, 1) between '1' and '9' then
        return timestamptz '0100-01-01 00:00:00+00'
             + make_interval(hours => left(p_window, -1)::integer * case right(p_window, 1) when 'd' then 24 else 1 end);
    elsif p_window = 'hour' then
        return p_at - (p_at at time zone p_zone - date_trunc('hour', p_at at time zone p_zone));
    end if;
    v_midnight := date_trunc(p_window, p_at at time zone p_zone);
    v_start := v_midnight at time zone p_zone;
    -- The same midnight at the offset of the day before; of two midnights Postgres returns the later one.
    v_first := v_start - ((v_start - interval '24 hours') at time zone p_zone - (v_midnight - interval '24 hours'));
    return case when v_first < v_start and v_first at time zone p_zone = v_midnight then v_first else v_start end;
end $$;

-- End (exclusive) of the window that begins at p_start; null for a lifetime and for a rolling window. As for its start, the time zone data of
-- Postgres applies: that of Python may be of another version.
create function ledger_window_end(p_window text, p_zone text, p_start timestamptz) returns timestamptz language sql stable as $$
    select case when calendar_start(p_start) is null then null when p_window = 'hour' then p_start + interval '1 hour'
           else ledger_window_start(p_window, p_zone, p_start + case p_window when 'day' then interval '36 hours' when 'week' then interval '10 days'
                                                             else interval '32 days' end) end
$$;
