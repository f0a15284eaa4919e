-- Tables follow.
SELECT 1;
