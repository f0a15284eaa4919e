"""Guards of prices, and of policies that only record: without each of them a test of another file fails."""

from functools import partial

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.ledger import test_unpriced
from tests.budget.postgres.ledger.guards.guard import Guard, fails_without
from tests.budget.postgres.ledger.limits import test_shadow

GUARDS = {
    # --- prices
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
        "perform ledger_lock(p_tenant, h.scope_ids, h.window_starts);\n        return query select 'price_needed'",
        "return query select 'price_needed'",
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
    # --- shadow
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
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(pool: Pool, name: str) -> None:
    assert await fails_without(GUARDS[name], pool), f"its specification passes without {name!r}"
