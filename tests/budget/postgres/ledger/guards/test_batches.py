"""Guards of batches: without each of them a test of another file fails."""

from functools import partial

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.ledger.guards.guard import Guard, fails_without
from tests.budget.postgres.ledger.parallel import test_batches, test_locks, test_short_asks
from tests.support.ledger import request

VERSIONS = "if ledger_policy_versions(p_tenant, f_scope, f_task) is distinct from v_versions then"
SCOPES_FIRST = "if not exists (select from holds t where t.tenant = p_tenant and t.key = p_key) then"
GUARDS = {
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
        "and (r.sum_tokens > r.tight_tokens) is not true",
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
        "if (v_plain is null and v_short = '{}') or v_undone then",
        "if true then",
        test_batches.test_an_ask_that_cannot_be_held_takes_no_room_from_those_behind_it,
    ),
    "of an ask that needs a price nothing is written": Guard(
        "if (v_plain is null and v_short = '{}') or v_undone then",
        "if v_plain is null and v_short = '{}' then",
        test_batches.test_nothing_of_an_ask_that_needs_a_price_is_written_not_even_its_scopes,
    ),
    "an ask under a used key creates no scope": Guard(
        " and not exists (select from holds h where h.tenant = p_tenant and h.key = a.key)",
        "",
        partial(
            test_batches.test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest,
            other=request("known", 1, 0, "session:new"),
        ),
    ),
    "a batch takes scopes that another creates": Guard(
        "from lacking l order by 2, 3 on conflict do nothing",
        "from lacking l order by 2, 3",
        test_locks.test_a_batch_creates_its_scopes_in_the_one_order,
    ),
    "the gate creates its scopes before it takes its key": Guard(
        SCOPES_FIRST, "if false then", test_locks.test_the_gate_creates_its_scopes_before_it_takes_its_key
    ),
    "a batch and the gate do not wait for each other": Guard(
        SCOPES_FIRST,
        "if false then",
        test_locks.test_a_batch_and_the_gate_that_want_one_key_and_one_new_scope_do_not_wait_for_each_other,
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
    "a batch answers no ask that holds may let in": Guard(
        "bool_or(r.least > r.later_tokens or",
        "bool_or(r.least > r.room_tokens or",
        test_short_asks.test_a_batch_leaves_alone_an_ask_that_only_open_holds_keep_out,
    ),
    "an answered ask binds its key": Guard(
        "'none', v_now from unnest(v_short) x (ord)",
        "'none', v_now from unnest(v_short) x (ord) where false",
        partial(
            test_short_asks.test_an_ask_that_cannot_fit_even_once_all_holds_have_ended_is_answered,
            other=request("b", 901),
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
        VERSIONS, "if false then", test_batches.test_a_batch_sees_a_policy_that_changed_while_it_waited
    ),
    "a batch sees the windows under the lock": Guard(
        VERSIONS, "if false then", test_batches.test_a_batch_sees_a_window_that_changed_while_it_waited
    ),
    "a batch sees the templates under the lock": Guard(
        "select 'template' as source, t.xmin::text as version",
        "select 'template' as source, '' as version",
        test_batches.test_a_batch_sees_a_template_that_changed_while_it_waited,
    ),
    "a batch sees under the lock what a task requests": Guard(
        "and p.task in ('', x.task)",
        "and p.task = ''",
        test_batches.test_a_batch_sees_what_a_task_requests_while_it_waited,
    ),
    "a batch passes no waiter": Guard(
        "w.last_asked > p_now - p_lapse and w.asks >= 2",
        "false",
        test_batches.test_a_batch_does_not_overtake_older_waiters,
    ),
    "an ask of a batch needs a price where money is limited": Guard(
        "and not (r.price is null and r.needs_price)\n                              and (r.sum_tokens",
        "and (r.sum_tokens",
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
        "where h.state = 'held' and s.tokens <= 1000000000",
        "where s.tokens <= 1000000000",
        partial(
            test_batches.test_a_batch_of_settlements_leaves_alone_what_is_not_plain,
            key="released",
            attempt=1,
            tokens=50,
        ),
    ),
    "a batch records overrun": Guard(
        "where r.over > 0 or r.over_nano > 0) e;",
        "where false) e;",
        test_batches.test_overruns_of_a_batch_are_charged_in_full_and_warn,
    ),
    "an overrun of a batch warns": Guard(
        "if v_overrun then",
        "if false then",
        test_batches.test_overruns_of_a_batch_are_charged_in_full_and_warn,
    ),
    "overruns of a batch do not hide each other from warnings": Guard(
        "where not (s.rank = 1 and s.tokens < s.held and s.any_frees_money)",
        "where true",
        test_batches.test_a_batch_warns_of_each_threshold_that_its_entries_show_as_reached,
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
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(pool: Pool, name: str) -> None:
    assert await fails_without(GUARDS[name], pool), f"its specification passes without {name!r}"
