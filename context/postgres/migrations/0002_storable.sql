-- Replaces what no reader can show in stored JSON: NULs and halves of surrogate pairs become U+FFFD.
-- JSON escapes control characters, so the raw ones are free to mark escaped backslashes (1) and whole pairs (2) meanwhile.

create function storable(value json) returns json language sql immutable as $$
    select replace(
        regexp_replace(
            regexp_replace(
                regexp_replace(replace(value::text, '\\', chr(1)), '\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})',
                               chr(2) || '\1\2', 'gi'),
                '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi'),
            chr(2) || '([0-9a-f]{4})([0-9a-f]{4})', '\\u\1\\u\2', 'gi'),
        chr(1), '\\')::json
$$;

-- Counts of a changed message are made anew when a window asks for them.
update messages set body = storable(body), tokens = '{}'
where body::text ~* '\\u(0000|d[89a-f])' and storable(body)::text <> body::text;

update user_settings set fields = storable(fields)
where fields::text ~* '\\u(0000|d[89a-f])' and storable(fields)::text <> fields::text;

update session_settings set fields = storable(fields)
where fields::text ~* '\\u(0000|d[89a-f])' and storable(fields)::text <> fields::text;

drop function storable(json);
