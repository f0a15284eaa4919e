"""Every guard matters: without it in the SQL, a specification fails that otherwise passes.

The specifications are the unchanged tests of the other files.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from purser.budget.gate import Verdict
from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.ledger import (
    test_attempts,
    test_batches,
    test_calendar,
    test_further_limits,
    test_labels,
    test_last_answers,
    test_life_cycle,
    test_locks,
    test_meetings,
    test_policies,
    test_rolling,
    test_rollover,
    test_shadow,
    test_unpriced,
    test_waiting,
)
from tests.support.ledger import Books, request, restore, without

Spec = Callable[..., Awaitable[None]]
CONTEXT = "select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold for update;\n    "


@dataclass(frozen=True)
class Guard:
    """A piece of SQL, its replacement without the guard, and a specification that fails then."""

    sql: str
    instead: str
    spec: Spec


GUARDS = {
    # --- the gate
    "balances are locked before they are read": Guard(
        "order by b.scope_id, b.window_start for update of b;",
        "order by b.scope_id, b.window_start;",
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
        "ledger_room(p.limit_nano + b.granted_nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])) end",
        "ledger_room(p.limit_nano + b.granted_nano - b.spent_nano - b.held_nano, r.nano, p_last_of[p.ord])",
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
        "\n    where exists (select from policies p where",
        "\n    where exists (select from policies p where false and",
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
        "",
        test_calendar.test_a_grant_counts_until_the_instant_it_ends,
    ),
    "grants that have ended give no top-up": Guard(
        "perform ledger_catch_up(h.tenant, h.scope_ids, h.window_starts, p_defaults, p_now);",
        "exit;",
        test_calendar.test_top_ups_do_not_use_grants_that_have_ended,
    ),
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
        "e.at > p_now - rolling_length(b.window_start)\n",
        "e.at > p_now - rolling_length(b.window_start) * 0.9\n",
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
        "and b.rolls_at > v_now;",
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
        "        where exists (select from policies p where p.tenant = p_tenant and p.scope_id = s.scope_id",
        "        where true or exists (select from policies p where p.tenant = p_tenant and p.scope_id = s.scope_id",
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
    "a top-up goes through the gate": Guard(
        "    if v_fits then",
        "    if true then",
        test_life_cycle.test_an_extension_adds_through_the_gate_or_not_at_all,
    ),
    "an ask needs a price where money is limited": Guard(
        "if v_needs_price then",
        "if false then",
        partial(test_unpriced.test_where_money_is_limited_nothing_is_held_without_a_price, mode="soft"),
    ),
    "a policy in shadow needs no price": Guard(
        "p.limit_nano is not null and p.shadow = '{}',",
        "p.limit_nano is not null,",
        test_shadow.test_an_ask_without_a_price_passes_a_money_limit_in_shadow,
    ),
    "a policy in shadow bounds nothing": Guard(
        "case when a.shadow then 'soft' else m.mode end",
        "m.mode",
        partial(
            test_shadow.test_a_policy_in_shadow_admits_and_counts_each_call_once,
            policy={"limit_tokens": 100, "mode": "hard"},
            outcome="refuse",
        ),
    ),
    "a policy in shadow freezes nothing": Guard(
        "a.frozen and not a.shadow",
        "a.frozen",
        partial(
            test_shadow.test_a_policy_in_shadow_admits_and_counts_each_call_once,
            policy={"frozen": True},
            outcome="refuse",
        ),
    ),
    "a call is counted once in shadow": Guard(
        "and h.would is null order by",
        "order by",
        partial(
            test_shadow.test_a_policy_in_shadow_admits_and_counts_each_call_once,
            policy={"limit_tokens": 100, "mode": "hard"},
            outcome="refuse",
        ),
    ),
    "a verdict in shadow is an event once": Guard(
        "where f.first order by",
        "order by",
        test_shadow.test_an_event_comes_once_for_each_window_and_outcome_and_no_threshold,
    ),
    "a policy in shadow warns of no threshold": Guard(
        "and not p.policy ? 'shadow'",
        "",
        test_shadow.test_an_event_comes_once_for_each_window_and_outcome_and_no_threshold,
    ),
    "a request turns no stored policy into a shadow": Guard(
        "coalesce(s.shadow, (d.v ->> 'shadow')::boolean, false) and r.shadow is not false end as shadow",
        "coalesce(r.shadow, s.shadow, (d.v ->> 'shadow')::boolean, false) end as shadow",
        test_shadow.test_a_request_of_a_task_turns_no_stored_policy_into_a_shadow,
    ),
    "an addition needs a price where money is limited": Guard(
        "or (p_nano is null and v.needs_price)",
        "",
        test_unpriced.test_an_addition_needs_a_price_where_money_is_limited,
    ),
    "a report needs a price where money is limited": Guard(
        "p where p.limit_nano is not null and p.shadow = '{}'",
        "p where false",
        test_unpriced.test_a_report_needs_a_price_where_money_is_limited,
    ),
    "a report without a price is judged under the locks": Guard(
        "        perform ledger_lock(p_tenant, h.scope_ids, h.window_starts, coalesce(p_now, clock_timestamp()));\n",
        "",
        test_unpriced.test_a_report_sees_a_money_limit_that_was_set_while_it_waited,
    ),
    "a settled report needs no price": Guard(
        "and a.state = 'reported') then",
        "and false) then",
        test_unpriced.test_a_settled_report_repeats_its_answer_after_money_was_limited,
    ),
    "an ask that needs a price writes nothing": Guard(
        "exception when sqlstate 'PB002' then",
        "exception when sqlstate 'PB003' then",
        partial(test_unpriced.test_where_money_is_limited_nothing_is_held_without_a_price, mode="soft"),
    ),
    # --- keys
    "a key is bound to its payload": Guard(
        "if h.digest is not null and h.digest <> p_digest then",
        "if false then",
        partial(
            test_life_cycle.test_another_payload_under_a_used_key_is_an_error_whatever_the_verdict_was, verdict="refuse"
        ),
    ),
    "a key that holds repeats its answer": Guard(
        "elsif h.state <> 'none' then\n            return query select case when",
        "elsif false then\n            return query select case when",
        test_life_cycle.test_once_a_hold_exists_its_answer_repeats_and_adds_nothing,
    ),
    "a key that is released is closed": Guard(
        "update holds x set state = 'released', ended_at = v_now where x.tenant = p_tenant and x.hold_id = v_hold;",
        "",
        partial(
            test_life_cycle.test_releasing_a_key_that_never_held_closes_it_to_stragglers, asked_before=True
        ),
    ),
    # --- attempts and their charges
    "a hold is locked while it is settled": Guard(
        CONTEXT + "if not found or h.state = 'none'",
        CONTEXT.replace(" for update", "") + "if not found or h.state = 'none'",
        test_meetings.test_a_report_that_arrives_twice_at_once_is_charged_once,
    ),
    "a report is charged once": Guard(
        "if a.state = 'reported' then",
        "if false then",
        test_attempts.test_a_report_sent_twice_is_charged_once,
    ),
    "a report is final": Guard(
        "case when a.digest = p_digest then 'repeat' else 'conflict' end",
        "'repeat'",
        test_attempts.test_a_report_sent_twice_is_charged_once,
    ),
    "a new attempt presumes the silent one": Guard(
        "    perform ledger_presume(p_tenant, p_hold, v_now);\n"
        "    select * into h from holds x where x.tenant = p_tenant and x.hold_id = p_hold;\n    i",
        "    i",
        test_attempts.test_a_call_that_really_happened_twice_is_two_attempts_both_charged,
    ),
    "attempts start in order": Guard(
        "elsif v_state is not null or v_attempt <> h.attempts + 1 then",
        "elsif v_state is not null then",
        test_attempts.test_attempts_start_in_order,
    ),
    "only an attempt that is next or known may report": Guard(
        "elsif a.state is null and p_attempt <> h.attempts + 1 then",
        "elsif false then",
        test_attempts.test_attempts_start_in_order,
    ),
    "releasing presumes a silent attempt": Guard(
        "    perform ledger_presume(p_tenant, p_hold, p_now);\n",
        "",
        test_life_cycle.test_releasing_presumes_an_attempt_that_never_reported,
    ),
    "a hold ends once": Guard(
        "    if h.state <> 'held' then\n        return;\n    end if;\n",
        "",
        test_life_cycle.test_a_settled_hold_cannot_be_released,
    ),
    "overrun is recorded": Guard(
        "if v_over > 0 or v_over_nano > 0 then\n            perform ledger_post(p_tenant, 'overrun'",
        "if false then\n            perform ledger_post(p_tenant, 'overrun'",
        partial(
            test_attempts.test_usage_above_the_hold_is_recorded_in_full_and_gives_no_headroom,
            left=51,
            verdict=Verdict.REFUSE,
        ),
    ),
    "a straggler's report replaces what was presumed": Guard(
        "if h.state <> 'held' or a.state = 'presumed' then",
        "if h.state <> 'held' then",
        partial(
            test_attempts.test_a_late_report_replaces_the_presumed_charge, actual=40, overrun=0, end="next attempt"
        ),
    ),
    "an unreported attempt is presumed at the most that it can use": Guard(
        "tokens = greatest(h.tokens, t.most_tokens), nano",
        "tokens = h.tokens, nano",
        partial(
            test_attempts.test_an_attempt_that_may_exceed_its_hold_is_presumed_at_the_most_it_can_use,
            actual=40,
            overrun=0,
            end="expired",
        ),
    ),
    "a late report replaces the presumed overrun": Guard(
        "row(v_over - a.overrun_tokens, v_over_nano - a.overrun_nano)",
        "row(v_over, v_over_nano)",
        partial(
            test_attempts.test_an_attempt_that_may_exceed_its_hold_is_presumed_at_the_most_it_can_use,
            actual=40,
            overrun=0,
            end="expired",
        ),
    ),
    "what a hold sets aside itself is nothing to wait for": Guard(
        "jsonb_agg(v.shown || jsonb_build_object('own', jsonb_build_array(h.tokens, h.nano)) order by v.ord)",
        "jsonb_agg(v.shown order by v.ord)",
        test_attempts.test_a_top_up_that_does_not_fit_starts_nothing_and_says_what_lacks,
    ),
    "a lease has a grace": Guard(
        "v_lapsed timestamptz := v_now - p_grace",
        "v_lapsed timestamptz := v_now",
        test_life_cycle.test_a_hold_expires_one_instant_after_lease_and_grace,
    ),
    "a lease never gets shorter": Guard(
        "greatest(x.expires_at, v_now + coalesce(p_lease, x.lease))",
        "v_now + coalesce(p_lease, x.lease)",
        test_life_cycle.test_a_lease_is_renewed_by_attempts_and_extensions_and_never_gets_shorter,
    ),
    "a sweeper does not wait": Guard(
        "order by y.expires_at limit p_limit - v_count for update skip locked",
        "order by y.expires_at limit p_limit - v_count",
        test_meetings.test_a_sweep_skips_a_hold_that_is_locked,
    ),
    **{
        f"tenants are separate: {verb}": Guard(
            sql,
            sql.replace("x.tenant = p_tenant", "true"),
            test_life_cycle.test_tenants_are_separate,
        )
        for verb, sql in {
            "settle": CONTEXT + "if not found or h.state = 'none'",
            "start": CONTEXT + "if not found then\n        return query select 'not_found', p_attempt",
            "extend": CONTEXT + "if not found then\n        return query select 'not_found', null",
        }.items()
    },
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
    # --- policies and events
    "a request cannot raise a stored limit": Guard(
        "else least(s.limit_tokens, r.limit_tokens) end",
        "else coalesce(r.limit_tokens, s.limit_tokens) end",
        test_calendar.test_under_a_stored_limit_no_request_counts_in_another_window,
    ),
    "a request cannot move a stored limit to another window": Guard(
        """case when not k.limited then r."window" end""",
        """r."window\"""",
        test_calendar.test_under_a_stored_limit_no_request_counts_in_another_window,
    ),
    "raised or lowered is judged by the stored policy": Guard(
        "o.limit_tokens as old_tokens",
        "x.limit_tokens as old_tokens",
        test_policies.test_raised_or_lowered_is_judged_by_the_stored_policy_not_by_what_one_task_asked_for,
    ),
    # --- locks and their order
    "a sweep locks all balances before it closes a hold": Guard(
        "perform ledger_lock(v_tenant, array_agg(d.s), array_agg(d.w), v_now)\n"
        "        from (select distinct u.s, u.w from holds x",
        "perform 1\n        from (select distinct u.s, u.w from holds x",
        test_locks.test_a_sweep_locks_the_balances_of_all_holds_in_the_one_order,
    ),
    "an ask locks its hold": Guard(
        "where t.tenant = p_tenant and t.key = p_key for update;",
        "where t.tenant = p_tenant and t.key = p_key;",
        test_locks.test_two_processes_that_ask_with_one_key_hold_once,
    ),
    "a release locks its hold": Guard(
        "where x.tenant = p_tenant and x.hold_id = v_hold for update;",
        "where x.tenant = p_tenant and x.hold_id = v_hold;",
        test_locks.test_a_release_meets_an_ask_that_is_about_to_hold,
    ),
    "a policy changes under the locks of its balances": Guard(
        "    perform 1 from balances b where b.tenant = p_tenant and b.scope_id = any (p_scopes)"
        " order by b.scope_id, b.window_start for update;\n",
        "",
        test_locks.test_two_changes_of_a_policy_at_once_are_judged_one_after_the_other,
    ),
    "a further attempt tops up money": Guard(
        "if h.tokens < h.asked_tokens or h.nano < h.asked_nano then",
        "if h.tokens < h.asked_tokens then",
        test_locks.test_a_further_attempt_tops_up_money_that_the_last_one_cost,
    ),
    "equal ages do not block each other": Guard(
        "and w.since < coalesce(",
        "and w.since <= coalesce(",
        test_locks.test_of_two_that_began_to_wait_at_one_instant_one_goes,
    ),
    "a batch takes its keys in order": Guard(
        "order by a.key on conflict (tenant, key) where key is not null do nothing",
        "on conflict (tenant, key) where key is not null do nothing",
        test_locks.test_a_batch_takes_its_keys_in_the_one_order,
    ),
    "a batch locks the holds that it settles": Guard(
        "where h.tenant = p_tenant and h.hold_id = any (p_holds) order by h.hold_id for update;",
        "where false;",
        test_locks.test_a_batch_of_settlements_waits_for_a_hold_that_is_being_settled,
    ),
    # --- batches
    "a batch has new keys only": Guard(
        "if array_position(v_held, null) is not null or exists (",
        "if exists (",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest,
            other=request("known", 100, 100),
        ),
    ),
    "the asks of a batch fit together": Guard(
        "d.tokens > r.room_tokens or",
        "",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest, other=request("b", 892)
        ),
    ),
    "an ask of a batch fits with those before it": Guard(
        "and (r.sum_tokens > r.room_tokens) is not true",
        "",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest, other=request("b", 892)
        ),
    ),
    "an ask of a batch leaves room for those before it": Guard(
        "sum(case when h.hopeless then 0 else h.tokens end) over w as sum_tokens",
        "h.tokens as sum_tokens",
        test_batches.test_who_comes_first_in_a_batch_is_not_passed_by_who_comes_later,
    ),
    "one ask that is not plain leaves the others together": Guard(
        "if v_plain is null then",
        "if true then",
        test_batches.test_an_ask_that_cannot_be_held_takes_no_room_from_those_behind_it,
    ),
    "what cannot be held takes no room": Guard(
        "sum(case when h.hopeless then 0 else h.tokens end) over w as sum_tokens",
        "sum(h.tokens) over w as sum_tokens",
        test_batches.test_an_ask_that_cannot_be_held_takes_no_room_from_those_behind_it,
    ),
    "what is not plain is not kept": Guard(
        "and x.ord <> all (v_plain);",
        "and false;",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest, other=request("b", 892)
        ),
    ),
    "the money of a batch fits together": Guard(
        "or (d.nano > 0 and d.nano > r.room_nano)",
        "",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest, other=request("b", 1, 892)
        ),
    ),
    "a batch sees the policies under the lock": Guard(
        "if f_window <> v_window or f_policy <> v_policy then",
        "if f_window <> v_window then",
        test_batches.test_a_batch_sees_a_policy_that_changed_while_it_waited,
    ),
    "a batch sees the windows under the lock": Guard(
        "if f_window <> v_window or f_policy <> v_policy then",
        "if f_policy <> v_policy then",
        test_batches.test_a_batch_sees_a_window_that_changed_while_it_waited,
    ),
    "a batch passes no waiter": Guard(
        "w.last_asked > p_now - p_lapse and w.asks >= 2",
        "false",
        test_batches.test_a_batch_does_not_overtake_older_waiters,
    ),
    "an ask of a batch needs a price where money is limited": Guard(
        "and not (r.price is null and r.needs_price)",
        "",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest,
            other=request("b", 1, priced=False),
        ),
    ),
    "a batch uses no grant that has ended": Guard(
        "select b.grants_end_at <= p_now or",
        "select",
        test_batches.test_a_batch_does_not_use_grants_that_have_ended,
    ),
    "a batch settles open holds only": Guard(
        "and h.state = 'held'\n    cross join",
        "\n    cross join",
        partial(
            test_batches.test_a_batch_of_settlements_leaves_alone_what_is_not_plain,
            key="released",
            attempt=1,
            tokens=50,
        ),
    ),
    "a batch records overrun": Guard(
        "from reports r where r.over_tokens > 0 or r.over_nano > 0",
        "from reports r where false",
        test_batches.test_overruns_of_a_batch_are_charged_in_full_and_warn,
    ),
    "an overrun of a batch warns": Guard(
        "if v_overrun then",
        "if false then",
        test_batches.test_overruns_of_a_batch_are_charged_in_full_and_warn,
    ),
    "a batch leaves no attempt silent": Guard(
        "and a.state is distinct from 'started')",
        ")",
        partial(
            test_batches.test_a_batch_of_settlements_leaves_alone_what_is_not_plain,
            key="started",
            attempt=2,
            tokens=50,
        ),
    ),
}  # fmt: skip


@pytest.fixture
async def restored(pool: Pool) -> AsyncIterator[Pool]:
    """Has its guards again after the test."""
    yield pool
    await restore(pool)


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(restored: Pool, name: str) -> None:
    guard = GUARDS[name]
    await without(restored, guard.sql, guard.instead)
    assert await failure(guard.spec, restored) is not None, f"its specification passes without {name!r}"


async def failure(spec: Spec, pool: Pool) -> BaseException | None:
    """What a specification says of this database, the audit at its end included; None if it passes."""
    books = Books.on(pool)
    fixtures: dict[str, Callable[[], Awaitable[Any]]] = {
        "clock": lambda: test_waiting.Clock.of(books),
        "session": lambda: test_batches.used_session(books),
        "daily": lambda: test_rollover.roll_daily(books),
    }
    given: dict[str, Any] = {"books": books, "pool": pool}
    wanted = inspect.signature(spec).parameters
    given |= {name: await make() for name, make in fixtures.items() if name in wanted}
    try:
        await spec(**{name: value for name, value in given.items() if name in wanted})
        await books.check()
    except (Exception, pytest.fail.Exception) as error:
        return error
    return None
