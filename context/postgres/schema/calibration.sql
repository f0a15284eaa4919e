-- Calibration of token counts by reported usage.

create table token_calibrations (
    tenant     text not null,
    model      text not null,
    encoding   text not null,                          -- how it was counted; another margin is learned separately
    ratio      integer not null default 1000000 check (ratio > 0), -- reported by counted, parts per million
    calls      bigint not null default 0,
    updated_at timestamptz not null default now(),
    primary key (tenant, model, encoding)
);
