-- What reports read. Samples of balances, from which burn rates follow without a write on the way of any call, and
-- indexes for reports by time and by what was called.

-- What a balance had spent. Rows are written when it changes, so between two with the same figures it was quiet.
create table balance_samples (
    scope_id     bigint not null,
    window_start timestamptz not null,
    at           timestamptz not null,
    spent_tokens bigint not null,
    spent_nano   bigint not null,
    primary key (scope_id, window_start, at)
);
create index balance_samples_at on balance_samples (at);

-- When balances were last looked at.
create table balance_sampling (
    one        boolean primary key default true check (one),
    sampled_at timestamptz not null
);

-- What a balance had spent at a time: between two samples it went evenly; no row before the first.
create function ledger_spent_at(p_scope bigint, p_window timestamptz, p_at timestamptz,
                                p_now timestamptz, p_tokens bigint, p_nano bigint)
returns table (tokens bigint, nano bigint) language sql stable as $$
    select a.spent_tokens + div((coalesce(z.spent_tokens, p_tokens) - a.spent_tokens) * g.gone, g.whole)::bigint,
           a.spent_nano + div((coalesce(z.spent_nano, p_nano) - a.spent_nano) * g.gone, g.whole)::bigint
    from (select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.scope_id = p_scope and s.window_start = p_window and s.at <= p_at order by s.at desc limit 1) a
    left join lateral (
          select s.at, s.spent_tokens, s.spent_nano from balance_samples s
          where s.scope_id = p_scope and s.window_start = p_window and s.at > p_at and s.at < p_now order by s.at limit 1) z on true
    cross join lateral (select extract(epoch from p_at - a.at) * 1000000 as gone, extract(epoch from coalesce(z.at, p_now) - a.at) * 1000000 as whole) g
$$;

-- Entries come in the order of time, so a summary of each block finds a range of days and costs a call nothing.
create index entries_at on entries using brin (at) with (pages_per_range = 32, autosummarize = on);
