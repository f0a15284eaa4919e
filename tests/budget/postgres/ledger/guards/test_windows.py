"""Guards of windows, rollovers and further limits: without each of them a test of another file fails."""

from functools import partial

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.ledger.guards.guard import Guard, fails_without
from tests.budget.postgres.ledger.limits import test_further_limits, test_rolling, test_rollover

GUARDS = {
    # --- rolling windows
    "what has fallen out of a rolling window gives room": Guard(
        "perform ledger_catch_up(p_tenant, v_scopes, v_windows, p_defaults, v_now);",
        "exit;",
        test_rolling.test_a_charge_counts_for_the_length_of_the_window_and_no_longer,
    ),
    "what has fallen out of a rolling window gives room to top-ups": Guard(
        "perform ledger_catch_up(h.tenant, h.scope_ids, h.window_starts, p_defaults, p_now);",
        "exit;",
        test_rolling.test_a_top_up_uses_the_room_that_has_returned,
    ),
    "nothing falls out of a rolling window too early": Guard(
        "p.at > p_now - rolling_length(b.window_start)\n",
        "p.at > p_now - rolling_length(b.window_start) * 0.9\n",
        partial(test_rolling.test_the_ledger_equals_a_plain_sum_to_a_sixtieth, seed=1, window="1h"),
    ),
    "a rolling window is added up once in a sixtieth": Guard(
        "greatest(s.at + rolling_length(b.window_start), p_now + rolling_length(b.window_start) / 60)",
        "s.at + rolling_length(b.window_start)",
        test_rolling.test_charges_fall_out_at_most_once_in_a_sixtieth_of_the_length,
    ),
    "a late report of a charge that is out falls out, too": Guard(
        "and (c.seq > b.rolled_to or e.seq > b.rolled_seq)",
        "and c.seq > b.rolled_to",
        test_rolling.test_a_late_report_falls_out_with_the_charge_that_it_replaces,
    ),
    "a late report is taken out before the next ask": Guard(
        "and b.rolls_at is not null;",
        "and false;",
        test_rolling.test_a_late_report_falls_out_with_the_charge_that_it_replaces,
    ),
    "a batch waits for what has to be taken out": Guard(
        "or b.rolls_at <= p_now",
        "",
        test_rolling.test_a_late_report_falls_out_with_the_charge_that_it_replaces,
    ),
    "a grant to a rolling window ends": Guard(
        "p_until := least(p_until, p_now + rolling_length(p_window));",
        "",
        test_rolling.test_a_grant_ends_after_the_length_of_the_window,
    ),
    "a warning of a rolling window fires again": Guard(
        "where (x.spent_tokens + x.held_tokens >= t *",
        "where true or (x.spent_tokens + x.held_tokens >= t *",
        test_rolling.test_a_warning_fires_again_after_the_balance_fell_below_it,
    ),
    # --- rollover
    "a window rolls over once": Guard(
        "and b.window_start = x.w and b.rolled_over_at is null",
        "and b.window_start = x.w",
        test_rollover.test_a_day_rolls_over_once_while_hours_of_its_path_begin,
    ),
    "no more than the share rolls over": Guard(
        "least(floor(p_tokens * p_share), greatest(0, l.tokens))",
        "greatest(0, l.tokens)",
        test_rollover.test_what_had_rolled_over_rolls_over_again_within_the_share,
    ),
    "open holds do not roll over": Guard(
        "- b.spent_tokens - b.held_tokens) end as tokens",
        "- b.spent_tokens) end as tokens",
        test_rollover.test_open_holds_and_other_grants_do_not_roll_over,
    ),
    "other grants do not roll over": Guard(
        "and g.window_start = b.window_start and g.rolled_over)",
        "and g.window_start = b.window_start)",
        test_rollover.test_open_holds_and_other_grants_do_not_roll_over,
    ),
    "nothing rolls over from another kind of window": Guard(
        "where b.window_start <= before.start and",
        "where",
        test_rollover.test_nothing_rolls_over_from_a_window_without_this_limit_or_of_another_kind,
    ),
    "a batch waits for what rolls over": Guard(
        "or (b.rolled_over_at is null and calendar_start(b.window_start) is not null)\n",
        "\n",
        test_rollover.test_many_first_calls_roll_over_once,
    ),
    # --- further limits
    "a further limit without a policy does not count": Guard(
        "        where j.limits",
        "        where true",
        test_further_limits.test_a_further_limit_counts_only_while_it_has_a_policy,
    ),
    "a further limit has no default limit": Guard(
        "else (p_defaults -> s.kind) - array['limit_tokens', 'limit_nano_usd'] end",
        "else p_defaults -> s.kind end",
        test_further_limits.test_a_further_limit_counts_only_while_it_has_a_policy,
    ),
    "the window of a further limit is its period": Guard(
        'coalesce(n.period, s."window"',
        'coalesce(s."window"',
        partial(
            test_further_limits.test_five_limits_decide_as_a_plain_model_of_them_does, seed=1, start="2028-02-28 20:00"
        ),
    ),
    "a template joins further limits that were never used": Guard(
        "where t.tenant = p_tenant and strpos(t.pattern, '@') > 0 and",
        "where false and",
        test_further_limits.test_a_template_gives_every_session_a_further_limit,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(pool: Pool, name: str) -> None:
    assert await fails_without(GUARDS[name], pool), f"its specification passes without {name!r}"
