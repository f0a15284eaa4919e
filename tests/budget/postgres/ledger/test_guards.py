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
    test_life_cycle,
    test_locks,
    test_meetings,
    test_policies,
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
    "no scope of the path is left out": Guard(
        "select bool_or(v.closed or v.queued), min(v.room_tokens)",
        "select bool_or(v.closed or v.queued), max(v.room_tokens)",
        test_life_cycle.test_the_tightest_scope_of_a_path_decides_at_any_level,
    ),
    "a frozen scope lets nothing through": Guard(
        "p.frozen or (q.bounded and",
        "(q.bounded and",
        test_policies.test_freezing_stops_new_asks_and_top_ups_and_lets_live_holds_settle,
    ),
    "the window is looked up again under the lock": Guard(
        "while v_windows is distinct from v_again loop",
        "for i in 1 .. 1 loop",
        test_meetings.test_an_ask_sees_a_window_that_changed_while_it_waited,
    ),
    "grants that have ended give no headroom": Guard(
        "perform ledger_end_grants(p_tenant, v_scopes, v_windows, v_now);",
        "",
        test_calendar.test_a_grant_counts_until_the_instant_it_ends,
    ),
    "grants that have ended give no top-up": Guard(
        "perform ledger_end_grants(h.tenant, h.scope_ids, h.window_starts, p_now);",
        "",
        test_calendar.test_top_ups_do_not_use_grants_that_have_ended,
    ),
    "a top-up goes through the gate": Guard(
        "    if v_fits then",
        "    if true then",
        test_life_cycle.test_an_extension_adds_through_the_gate_or_not_at_all,
    ),
    "an ask needs a price where money is limited": Guard(
        "if num_nonnulls(variadic v_nanos) > 0 then",
        "if false then",
        partial(test_unpriced.test_where_money_is_limited_nothing_is_held_without_a_price, mode="soft"),
    ),
    "an addition needs a price where money is limited": Guard(
        "or (p_nano is null and v.limit_nano is not null)",
        "",
        test_unpriced.test_an_addition_needs_a_price_where_money_is_limited,
    ),
    "a report needs a price where money is limited": Guard(
        "p where p.limit_nano is not null order by p.ord limit 1;",
        "p where false order by p.ord limit 1;",
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
        "coalesce(v_old.limit_tokens, b.new_tokens + 1)",
        "coalesce(b.limit_tokens, b.new_tokens + 1)",
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
        "    perform 1 from balances x where x.tenant = p_tenant and x.scope_id = v_scope"
        " order by x.scope_id, x.window_start for update;\n",
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
    "tenants are separate: settle in a batch": Guard(
        "on h.tenant = p_tenant and h.hold_id = any (p_holds) and h.hold_id = s.hold_id\n                and h.state",
        "on h.hold_id = s.hold_id and h.state",
        test_locks.test_a_batch_settles_nothing_of_another_tenant,
    ),
    # --- batches
    "a batch has new keys only": Guard(
        "coalesce(cardinality(v_held), 0) = cardinality(p_keys)",
        "cardinality(v_held) = cardinality(p_keys)",
        test_batches.test_retries_that_travel_together_hold_nothing_anew,
    ),
    "the asks of a batch fit together": Guard(
        "- b.held_tokens < d.tokens) is true",
        "- b.held_tokens < 1) is true",
        partial(
            test_batches.test_a_batch_that_is_not_plain_writes_nothing, requests=[request("a", 500), request("b", 401)]
        ),
    ),
    "the money of a batch fits together": Guard(
        "- b.held_nano < d.nano) is true",
        "- b.held_nano < 1) is true",
        partial(
            test_batches.test_a_batch_that_is_not_plain_writes_nothing,
            requests=[request("a", 1, 500), request("b", 1, 401)],
        ),
    ),
    "a batch sees the policies under the lock": Guard(
        "f_window = v_window and f_policy = v_policy and not exists",
        "f_window = v_window and not exists",
        test_batches.test_a_batch_sees_a_policy_that_changed_while_it_waited,
    ),
    "a batch sees the windows under the lock": Guard(
        "f_window = v_window and f_policy = v_policy and not exists",
        "f_policy = v_policy and not exists",
        test_batches.test_a_batch_sees_a_window_that_changed_while_it_waited,
    ),
    "a batch passes no waiter": Guard(
        "w.asks >= 2 and w.last_asked > v_now - p_lapse",
        "false",
        test_batches.test_a_batch_does_not_overtake_older_waiters,
    ),
    "an ask of a batch needs a price where money is limited": Guard(
        "or (d.unpriced and f.policy -> 'limit' ->> 1 is not null)",
        "",
        partial(
            test_batches.test_a_batch_that_is_not_plain_writes_nothing,
            requests=[request("a", 1), request("b", 1, priced=False)],
        ),
    ),
    "a batch uses no grant that has ended": Guard(
        "or b.grants_end_at <= v_now",
        "",
        test_batches.test_a_batch_does_not_use_grants_that_have_ended,
    ),
    "a batch settles open holds only": Guard(
        "h.state = 'held' and h.tokens >= s.tokens and h.nano >= s.nano",
        "true",
        partial(
            test_batches.test_a_batch_of_settlements_that_is_not_plain_writes_nothing,
            key="released",
            attempt=1,
            tokens=50,
        ),
    ),
    "a batch settles within what is held only": Guard(
        "h.state = 'held' and h.tokens >= s.tokens and h.nano >= s.nano",
        "h.state = 'held'",
        partial(
            test_batches.test_a_batch_of_settlements_that_is_not_plain_writes_nothing, key="open", attempt=1, tokens=101
        ),
    ),
    "a batch leaves no attempt silent": Guard(
        "and a.state is distinct from 'started')",
        ")",
        partial(
            test_batches.test_a_batch_of_settlements_that_is_not_plain_writes_nothing,
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
