-- Facts that sessions keep word for word.
select 1;
