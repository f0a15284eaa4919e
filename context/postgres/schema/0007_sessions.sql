-- Pins, settings, retention and deletion of sessions.
select 1;
