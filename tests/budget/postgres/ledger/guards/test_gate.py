"""Guards of the gate and of the queue before it: without each of them a test of another file fails."""

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.events import test_events
from tests.budget.postgres.ledger import test_life_cycle, test_waiting
from tests.budget.postgres.ledger.guards.guard import Guard, fails_without
from tests.budget.postgres.ledger.limits import (
    test_calendar,
    test_further_limits,
    test_labels,
    test_last_answers,
    test_policies,
)
from tests.budget.postgres.ledger.parallel import test_meetings

GUARDS = {
    # --- the gate
    "an ask joins its labels": Guard(
        "if p_labels = '{}' and not exists",
        "if not exists",
        test_labels.test_what_is_settled_topped_up_and_released_counts_on_the_label,
    ),
    "an ask joins the further limits of its path": Guard(
        "and not exists (select from unnest(p_path) x (name)",
        "and true or exists (select from unnest(p_path) x (name)",
        test_further_limits.test_a_further_limit_counts_only_while_it_has_a_policy,
    ),
    "an ask joins the further limits of templates": Guard(
        "and not exists (select from policy_templates t where t.tenant = p_tenant)",
        "",
        test_further_limits.test_a_template_gives_sessions_that_exist_a_further_limit,
    ),
    "an ask that reaches a threshold of tokens warns": Guard(
        "if v_tokens >= v_calm_tokens or ",
        "if ",
        test_events.test_a_threshold_fires_when_it_is_reached_and_not_one_below,
    ),
    "an ask that reaches a threshold of money warns": Guard(
        " or v_nano >= v_calm_nano then", " then", test_events.test_one_ask_that_passes_several_thresholds_fires_each
    ),
    "balances are locked before they are read": Guard(
        "and b.window_start = x.w for update offset 0) b;",
        "and b.window_start = x.w offset 0) b;",
        test_meetings.test_two_asks_for_the_last_tokens_do_not_both_get_them,
    ),
    "tokens must fit": Guard(
        "if v_stopped or v_tokens < p_least_tokens then",
        "if v_stopped then",
        test_life_cycle.test_a_refused_ask_touches_no_scope_of_its_path,
    ),
    "money must fit": Guard(
        "if p_nano > v_room_nano then",
        "if false then",
        test_life_cycle.test_the_tightest_scope_of_a_path_decides_at_any_level,
    ),
    "what costs nothing needs no money": Guard(
        "case when p.limit_nano is not null then greatest(0,\n               "
        "ledger_room(p.limit_nano + g.nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])) end",
        "ledger_room(p.limit_nano + g.nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])",
        test_life_cycle.test_what_costs_nothing_passes_an_exhausted_money_limit_in_every_way,
    ),
    "an ordinary ask leaves the reserve alone": Guard(
        "then p_left - p_reserve",
        "then p_left",
        test_last_answers.test_only_last_calls_use_the_reserve_each_its_part,
    ),
    "a last call leaves the others their parts": Guard(
        "greatest(p_reserve / p_last_of,",
        "greatest(p_reserve,",
        test_last_answers.test_only_last_calls_use_the_reserve_each_its_part,
    ),
    "a batch leaves the reserve alone": Guard(
        "- coalesce((f.policy -> 'reserve' ->> 0)::bigint, 0) end",
        "end",
        test_last_answers.test_a_batch_leaves_the_reserve_alone,
    ),
    "a further attempt leaves the reserve alone": Guard(
        "h.task, p_defaults, false, interval '0', p_now) v;",
        "h.task, p_defaults, false, interval '0', p_now, array_fill(1, array[9])) v;",
        test_last_answers.test_a_further_attempt_of_a_last_call_takes_no_more_of_the_reserve,
    ),
    "no scope of the path is left out": Guard(
        "min(v.room_tokens) filter",
        "max(v.room_tokens) filter",
        test_life_cycle.test_the_tightest_scope_of_a_path_decides_at_any_level,
    ),
    "a label counts where it has a policy": Guard(
        "offset 0) s on true\n    cross join lateral (select exists (select from policies p where",
        "offset 0) s on true\n    cross join lateral (select exists (select from policies p where false and",
        test_labels.test_a_label_limit_refuses_with_nothing_held_on_the_path,
    ),
    "a label counts where a template gives it a policy": Guard(
        "where t.tenant = p_tenant and template_matches(t.pattern, kind_of(x.name)",
        "where false and template_matches(t.pattern, kind_of(x.name)",
        test_labels.test_a_label_joins_by_a_template_from_its_first_call_on,
    ),
    "a frozen scope lets nothing through": Guard(
        "p.frozen or (q.bounded and",
        "(q.bounded and",
        test_policies.test_freezing_stops_new_asks_and_top_ups_and_lets_live_holds_settle,
    ),
    "the window is looked up again under the lock": Guard(
        "continue when v_windows is distinct from v_wanted;",
        "",
        test_meetings.test_an_ask_sees_a_window_that_changed_while_it_waited,
    ),
    "grants that have ended give no headroom": Guard(
        "perform ledger_end_grants(p_tenant, p_scopes, p_windows, p_now);",
        # Else the gate would see for ever that they are due.
        "update balances b set grants_end_at = null where b.tenant = p_tenant and b.scope_id = any (p_scopes);",
        test_calendar.test_a_grant_counts_until_the_instant_it_ends,
    ),
    "grants that have ended give no top-up": Guard(
        "perform ledger_catch_up(h.tenant, h.scope_ids, h.window_starts, p_defaults, p_now);",
        "exit;",
        test_calendar.test_top_ups_do_not_use_grants_that_have_ended,
    ),
    "a top-up goes through the gate": Guard(
        "    if v_fits then",
        "    if true then",
        test_life_cycle.test_an_extension_adds_through_the_gate_or_not_at_all,
    ),
    # --- waiting
    "who has waited longer goes first": Guard(
        "select l.bounded, l.bounded and p_patient and exists (",
        "select l.bounded, false and exists (",
        test_waiting.test_large_asks_do_not_starve_behind_a_stream_of_small_ones,
    ),
    "an ask that cannot be helped takes no place": Guard(
        "if v_waits then",
        "if true then",
        test_waiting.test_an_ask_refused_elsewhere_on_its_path_takes_no_place,
    ),
    "one age of a waiter counts everywhere": Guard(
        "where m.tenant = p_tenant and m.hold_id = p_hold and m.last_asked",
        "where m.tenant = p_tenant and m.hold_id = p_hold and m.scope_id = p.scope_id and m.last_asked",
        test_waiting.test_two_that_wait_at_different_scopes_do_not_block_each_other,
    ),
    "a place is lost by not asking": Guard(
        "w.asks >= 2 and w.last_asked > p_now - p_lapse",
        "w.asks >= 2",
        test_waiting.test_a_place_ends_when_its_waiter_stops_asking,
    ),
    "who comes back goes to the end": Guard(
        "where w.tenant = p_tenant and w.hold_id = h.hold_id and w.last_asked > v_now - p_lapse;",
        "where w.tenant = p_tenant and w.hold_id = h.hold_id;",
        test_waiting.test_a_waiter_that_stops_asking_loses_its_place_and_comes_back_to_the_end,
    ),
    "a place is taken with the second ask": Guard(
        "w.asks >= 2 and w.last_asked > p_now",
        "w.last_asked > p_now",
        test_waiting.test_a_place_is_taken_with_the_second_ask,
    ),
    # --- policies
    "a request cannot raise a stored limit": Guard(
        "else least(s.limit_tokens, r.limit_tokens) end",
        "else coalesce(r.limit_tokens, s.limit_tokens) end",
        test_calendar.test_under_a_stored_limit_no_request_counts_in_another_window,
    ),
    "a request cannot move a stored limit to another window": Guard(
        """case when not k.binding then r."window" end""",
        """r."window\"""",
        test_calendar.test_under_a_stored_limit_no_request_counts_in_another_window,
    ),
    "raised or lowered is judged by the stored policy": Guard(
        "case when m.moved then x.limit_tokens else o.limit_tokens end as old_tokens",
        "x.limit_tokens as old_tokens",
        test_policies.test_raised_or_lowered_is_judged_by_the_stored_policy_not_by_what_one_task_asked_for,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(pool: Pool, name: str) -> None:
    assert await fails_without(GUARDS[name], pool), f"its specification passes without {name!r}"
