"""Guards of keys, attempts and their charges: without each of them a test of another file fails."""

from functools import partial

import pytest

from purser.budget.gate import Verdict
from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.ledger import test_attempts, test_life_cycle
from tests.budget.postgres.ledger.guards.guard import CONTEXT, Guard, fails_without
from tests.budget.postgres.ledger.parallel import test_locks, test_meetings, test_steps

GUARDS = {
    "a batch of steps locks balances in the one order": Guard(
        "if p_moves then",
        "if false then",
        test_steps.test_a_batch_of_steps_locks_holds_then_balances_in_the_one_order,
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
        "       or exists (select from attempts a where a.tenant = p_tenant and a.hold_id = p_hold",
        "       or exists (select from attempts a where false and a.tenant = p_tenant and a.hold_id = p_hold",
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
    # --- locks and their order
    "a sweep locks all balances before it closes a hold": Guard(
        "perform ledger_lock(v_tenant, array_agg(d.s), array_agg(d.w))\n"
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
        test_locks.test_a_freeze_waits_for_a_hold_that_is_about_to_commit,
    ),
    "a policy changes under the lock of its scope": Guard(
        "s.scope_id = any (v_scopes) order by s.scope_id for no key update;",
        "s.scope_id = any (v_scopes);",
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
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(pool: Pool, name: str) -> None:
    assert await fails_without(GUARDS[name], pool), f"its specification passes without {name!r}"
