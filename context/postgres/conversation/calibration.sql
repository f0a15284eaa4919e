-- name: read
select ratio, calls from token_calibrations where tenant = $1 and model = $2 and encoding = $3;

-- name: begin
insert into token_calibrations (tenant, model, encoding) values ($1, $2, $3) on conflict do nothing;

-- name: lock
select ratio, calls from token_calibrations where tenant = $1 and model = $2 and encoding = $3 for update;

-- name: write
update token_calibrations set ratio = $4, calls = $5, updated_at = clock_timestamp()
where tenant = $1 and model = $2 and encoding = $3;
