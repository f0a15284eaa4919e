"""Guards of retention: without each of them a test of another file fails."""

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.audit import test_retention
from tests.budget.postgres.ledger.guards.guard import Guard, fails_without

GUARDS = {
    "nothing younger than two rolling windows is deleted": Guard(
        "if p_age < interval '62 days' then", "if false then", test_retention.test_no_less_than_62_days_are_kept
    ),
    "a range with a young event stays": Guard(
        "and j.at >= coalesce(p_now, clock_timestamp()) - p_age)",
        "and false)",
        test_retention.test_a_range_stays_while_one_of_its_events_is_young,
    ),
    "an open hold keeps its range": Guard(
        "    if v_open then", "    if false then", test_retention.test_an_open_hold_keeps_its_range_until_it_ends
    ),
    "a range is compared with its digest": Guard(
        "or r.digest <> ledger_digest(r.first_number, r.last_number, r.previous) then",
        "then",
        test_retention.test_an_altered_range_is_never_deleted,
    ),
    "closings are compared with the journal": Guard(
        "where ledger_proves(c, r) is not true",
        "where false",
        test_retention.test_a_range_whose_postings_are_not_what_its_entries_moved_is_never_deleted,
    ),
    "charges fall out of rolling windows before they are deleted": Guard(
        "elsif exists (select from ledger_not_rolled(r)) then",
        "elsif false then",
        test_retention.test_what_nobody_asked_for_since_falls_out_of_a_rolling_window_first,
    ),
    "a charge that was deleted is known to a late report": Guard(
        "select case when exists (select from carried_events c",
        "select case when false and exists (select from carried_events c",
        test_retention.test_a_late_report_of_a_deleted_charge_gives_no_room_in_a_rolling_window,
    ),
    "what a hold saw is kept": Guard(
        "select case when x.kind = 'hold' then ledger_seen(h) end",
        "select null::jsonb",
        test_retention.test_a_hold_of_which_events_remain_repeats_its_answer,
    ),
    "a hold stays while events of it remain": Guard(
        "and j.number > r.last_number) as ends",
        "and false) as ends",
        test_retention.test_a_hold_of_which_events_remain_repeats_its_answer,
    ),
    "an ask whose hold has just gone begins anew": Guard(
        "exit when found;  -- else",
        "exit;  -- else",
        test_retention.test_an_ask_that_waits_for_the_deletion_of_its_hold_is_new,
    ),
    "one process deletes at a time": Guard(
        "if not pg_try_advisory_xact_lock(hashtextextended('purser retention', 0)) then",
        "if false then",
        test_retention.test_a_second_process_does_not_wait,
    ),
    "keys that somebody waits with stay": Guard(
        "and not exists (select from waiters w where w.tenant = h.tenant and w.hold_id = h.hold_id);",
        ";",
        test_retention.test_keys_under_which_nothing_was_held_go_too,
    ),
    "young keys stay": Guard(
        "and h.hold_id <= l.hold_id", "", test_retention.test_keys_under_which_nothing_was_held_go_too
    ),
    "a closing that was changed stays wrong": Guard(
        "union all select closing_hash(c) from unnest(v_closings) n",
        "union all select closing_hash(c) from unnest(v_closings) n join closed_ranges z on false",
        test_retention.test_closings_that_move_on_keep_the_audit_clean,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
async def test_without_the_guard_its_specification_fails(pool: Pool, name: str) -> None:
    assert await fails_without(GUARDS[name], pool), f"its specification passes without {name!r}"
