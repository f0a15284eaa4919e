-- Calibration of token counts by reported usage.
select 1;
