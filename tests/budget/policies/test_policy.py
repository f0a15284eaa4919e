"""Policies: which values are accepted, and which source sets each field."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from purser.budget.errors import InvalidPolicy
from purser.budget.policies.fields import ApprovalRules, BackpressureStep, Mode, OnExpiry, stricter
from purser.budget.policies.policy import PRESETS, Policy, PolicyPatch, resolve
from purser.budget.scopes import Kind
from purser.budget.windows import Window
from purser.wire.limits import MAX_AMOUNT
from tests.support.budgets.policies import patches

DEFAULT = Policy(limit_tokens=200_000)
SOURCES = {"limit_tokens": "environment", "mode": "default"}


def patch(**fields: Any) -> PolicyPatch:
    return PolicyPatch.parse(fields)


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_policy_reads_every_field() -> None:
    read = patch(
        limit_tokens=1_000,
        limit_nano_usd=MAX_AMOUNT,
        mode="hard",
        window="day",
        timezone="Europe/Berlin",
        warn_at=[0.95, "0.5"],
        backpressure=[[0.9, 100], {"ratio": "0.5", "delay_ms": 0}],
        approval={"roles": ["admin"], "on_expiry": "grant", "deadline_s": 60, "not_submitter": True},
        frozen=True,
    )
    assert read == PolicyPatch(
        limit_tokens=1_000,
        limit_nano_usd=MAX_AMOUNT,
        mode=Mode.HARD,
        window=Window.DAY,
        timezone="Europe/Berlin",
        warn_at=(Decimal("0.5"), Decimal("0.95")),
        backpressure=(BackpressureStep(Decimal("0.5"), 0), BackpressureStep(Decimal("0.9"), 100)),
        approval=ApprovalRules(("admin",), True, None, None, 60, OnExpiry.GRANT),
        frozen=True,
    )


def test_null_leaves_a_field_to_the_next_source() -> None:
    assert patch(limit_tokens=None, mode=None) == PolicyPatch()


def test_a_limit_of_nothing_is_a_limit() -> None:
    assert patch(limit_tokens=0).limit_tokens == 0


def test_equal_ratios_count_once() -> None:
    assert patch(warn_at=[0.8, "0.80", 0.5]).warn_at == (Decimal("0.5"), Decimal("0.8"))


@given(patches())
def test_a_policy_that_is_shown_reads_back(shown: PolicyPatch) -> None:
    assert PolicyPatch.parse(json.loads(json.dumps(shown.to_json()))) == shown


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("limit_tokens", -1, "limit_tokens -1 is not valid: use a whole number from 0"),
        ("limit_tokens", 1.5, "limit_tokens 1.5 is not valid"),
        ("limit_tokens", True, "limit_tokens True is not valid"),
        ("limit_tokens", "1000", "limit_tokens '1000' is not valid"),
        ("limit_nano_usd", MAX_AMOUNT + 1, f"to {MAX_AMOUNT}"),
        ("mode", "strict", "mode 'strict' is not valid: use one of soft, approval, hard"),
        ("mode", 1, "mode 1 is not valid"),
        ("window", "year", "window 'year' is not valid: use one of lifetime, hour, day, week, month, or a rolling"),
        ("window", "32d", "a rolling window from 1h to 31d"),
        ("timezone", "Mars/Olympus", "timezone 'Mars/Olympus' is not known"),
        ("timezone", 1, "timezone 1 is not valid"),
        ("warn_at", 0.8, "warn_at 0.8 is not valid: give a list"),
        ("warn_at", [0], "warn_at 0 is not valid: use a number above 0"),
        ("warn_at", [True], "warn_at True is not valid"),
        ("warn_at", ["NaN"], "warn_at 'NaN' is not valid"),
        ("warn_at", ["much"], "warn_at 'much' is not valid"),
        ("warn_at", ["1e-999999"], "at most six decimals"),
        ("warn_at", [float("inf")], "warn_at inf is not valid"),
        ("backpressure", {}, "backpressure {} is not valid: give a list of [ratio, delay_ms] pairs"),
        ("backpressure", [[0.8]], "backpressure step [0.8] is not valid: give [ratio, delay_ms]"),
        ("backpressure", [[0.8, -1]], "backpressure delay_ms -1 is not valid"),
        ("backpressure", [[0.8, 1.5]], "backpressure delay_ms 1.5 is not valid"),
        ("backpressure", [[0.8, 3_600_001]], "use a whole number from 0 to 3600000"),
        ("backpressure", [{"ratio": 0.8, "delay": 1}], "backpressure step has the unknown field 'delay'"),
        ("approval", [], "approval [] is not valid: give an object"),
        ("approval", {"who": 1}, "approval has the unknown field 'who'"),
        ("approval", {"roles": []}, "approval.roles is empty: list one or both of approver, admin"),
        ("approval", {"roles": "boss"}, "approval.roles names 'boss'"),
        ("approval", {"roles": ["approver", "viewer"]}, "approval.roles names 'viewer': list one or both of"),
        ("warn_at", [0.5] * 51, "warn_at has 51 items: give at most 50"),
        ("backpressure", [[0.5, 1]] * 51, "backpressure has 51 items: give at most 50"),
        ("approval", {"roles": ["x" * 100_000]}, f"approval.roles names {'x' * 40!r}"),
        ("approval", {"not_submitter": 1}, "approval.not_submitter 1 is not valid: use true or false"),
        ("approval", {"deadline_s": 0}, "approval.deadline_s 0 is not valid"),
        ("approval", {"deadline_s": 10**10}, "approval.deadline_s 10000000000 is not valid"),
        ("approval", {"remind_s": 1_800}, "approval.remind_s 1800 is not valid: use a whole number from 1 to 1799"),
        ("approval", {"escalate_s": 0}, "approval.escalate_s 0 is not valid"),
        ("approval", {"deadline_s": 1, "remind_s": 1}, "approval.remind_s does not apply to a deadline of 1 s"),
        ("approval", {"roles": ["deputy"]}, "approval.roles names 'deputy'"),
        ("approval", {"two_people_above_tokens": -1}, "approval.two_people_above_tokens -1 is not valid"),
        ("approval", {"on_expiry": "maybe"}, "approval.on_expiry 'maybe' is not valid: use one of deny, grant"),
        ("last_answer", 0.95, "last_answer 0.95 is not valid: use a share from 0 to 0.9"),
        ("last_answer", False, "last_answer False is not valid"),
        ("rollover", 1.5, "rollover 1.5 is not valid: use a share of the limit from 0 to 1"),
        ("rollover", False, "rollover False is not valid"),
        ("learned_holds", 1, "learned_holds 1 is not valid: use a number below 1, or 0 to hold the whole cap"),
        ("learned_holds", -0.1, "learned_holds -0.1 is not valid"),
        ("learned_holds", False, "learned_holds False is not valid"),
        ("frozen", "no", "frozen 'no' is not valid: use true or false"),
        ("limit", 1, "policy has the unknown field 'limit': use one of approval, backpressure, frozen, ladder, last"),
    ],
)
def test_a_malformed_field_is_named_with_the_remedy(field: str, value: object, said: str) -> None:
    with pytest.raises(InvalidPolicy, match=re.escape(said)):
        patch(**{field: value})


# --- who decides a field ---------------------------------------------------------------------------------------------


def test_a_scope_without_a_policy_has_its_default_with_the_source_of_each_field() -> None:
    resolved = resolve(None, None, DEFAULT, SOURCES)
    assert (resolved.policy, resolved.sources) == (DEFAULT, SOURCES)


def test_a_request_comes_before_the_default_in_both_directions() -> None:
    resolved = resolve(None, patch(limit_tokens=500_000, mode="hard"), DEFAULT, SOURCES)
    assert (resolved.policy.limit_tokens, resolved.policy.mode) == (500_000, Mode.HARD)
    assert resolved.sources == {"limit_tokens": "request", "mode": "request"}


def test_the_stored_policy_comes_before_the_default_in_both_directions() -> None:
    resolved = resolve(patch(limit_tokens=500_000, mode="hard"), None, DEFAULT, SOURCES)
    assert (resolved.policy.limit_tokens, resolved.policy.mode) == (500_000, Mode.HARD)
    assert resolved.sources == {"limit_tokens": "stored", "mode": "stored"}


@pytest.mark.parametrize(
    ("asked", "limit", "source"), [(999, 999, "request"), (1_000, 1_000, "stored"), (1_001, 1_000, "stored")]
)
def test_a_request_only_lowers_a_stored_limit(asked: int, limit: int, source: str) -> None:
    for name in ("limit_tokens", "limit_nano_usd"):
        resolved = resolve(patch(**{name: 1_000}), patch(**{name: asked}), DEFAULT, {})
        assert (getattr(resolved.policy, name), resolved.sources[name]) == (limit, source)


@pytest.mark.parametrize("stored", Mode)
@pytest.mark.parametrize("asked", Mode)
def test_a_request_only_makes_a_stored_mode_stricter(stored: Mode, asked: Mode) -> None:
    resolved = resolve(PolicyPatch(mode=stored), PolicyPatch(mode=asked), DEFAULT, {})
    assert resolved.policy.mode is stricter(stored, asked)
    assert resolved.sources["mode"] == ("stored" if resolved.policy.mode is stored else "request")


def test_a_request_may_limit_what_the_stored_policy_leaves_open() -> None:
    resolved = resolve(patch(limit_tokens=1_000), patch(limit_nano_usd=5), DEFAULT, {})
    assert (resolved.policy.limit_tokens, resolved.policy.limit_nano_usd) == (1_000, 5)


def test_a_request_cannot_move_a_stored_limit_to_another_window() -> None:
    """There it would count from zero."""
    asked = patch(window="hour", timezone="Asia/Tokyo")
    resolved = resolve(patch(limit_tokens=1_000), asked, DEFAULT, {})
    assert (resolved.policy.window, resolved.policy.timezone) == (Window.LIFETIME, "UTC")
    resolved = resolve(patch(limit_tokens=1_000, window="day"), asked, DEFAULT, {})
    assert (resolved.policy.window, resolved.policy.timezone) == (Window.DAY, "UTC")
    assert resolve(patch(mode="soft"), asked, DEFAULT, {}).policy.window is Window.HOUR


def test_a_request_cannot_leave_the_window_of_a_stored_mode_that_stops_calls() -> None:
    for mode in ("approval", "hard"):
        own = resolve(patch(mode=mode), patch(window="hour", timezone="Asia/Tokyo"), DEFAULT, {})
        templated = resolve(
            None, patch(window="hour"), DEFAULT, {}, template=patch(mode=mode), patterns={"mode": "session:*"}
        )
        assert (own.policy.window, own.policy.timezone, templated.policy.window) == (
            Window.LIFETIME, "UTC", Window.LIFETIME,
        )  # fmt: skip


def test_a_request_cannot_turn_a_default_that_stops_calls_into_a_shadow() -> None:
    for mode in (Mode.APPROVAL, Mode.HARD):
        assert not resolve(None, patch(shadow=True), Policy(mode=mode), {}).policy.shadow
    assert resolve(None, patch(shadow=True), DEFAULT, {}).policy.shadow


def test_a_request_cannot_soften_the_mode_that_a_stored_limit_falls_back_to() -> None:
    strict = Policy(mode=Mode.HARD)
    assert resolve(patch(limit_tokens=1_000), patch(mode="soft"), strict, {}).policy.mode is Mode.HARD
    assert resolve(patch(limit_tokens=1_000), patch(mode="hard"), DEFAULT, {}).policy.mode is Mode.HARD
    assert resolve(None, patch(mode="soft"), strict, {}).policy.mode is Mode.SOFT


def test_a_request_cannot_thaw_a_stored_scope_but_may_freeze_it_for_itself() -> None:
    assert resolve(patch(frozen=True), patch(frozen=False), DEFAULT, {}).policy.frozen
    assert resolve(patch(frozen=False), patch(frozen=True), DEFAULT, {}).policy.frozen


@pytest.mark.parametrize(
    ("stored", "asked", "applied"),
    [("0.5", "0.9", "0.9"), ("0.9", "0.5", "0.9"), ("0.5", "0", "0"), ("0", "0.9", "0")],
)
def test_a_request_may_hold_more_than_is_stored_and_never_less(stored: str, asked: str, applied: str) -> None:
    resolved = resolve(patch(learned_holds=stored), patch(learned_holds=asked), DEFAULT, {})
    assert resolved.policy.learned_holds == Decimal(applied)
    assert resolved.sources["learned_holds"] == ("stored" if stored == applied else "request")


def test_a_request_never_replaces_a_ladder_that_is_stored() -> None:
    stored, asked = [{"ratio": 0.8, "output": 300}], [{"ratio": 0.5, "output": 1}]
    own = resolve(patch(ladder=stored), patch(ladder=asked), DEFAULT, {})
    templated = resolve(
        None, patch(ladder=asked), DEFAULT, {}, template=patch(ladder=stored), patterns={"ladder": "session:*"}
    )
    assert own.policy.ladder == templated.policy.ladder == patch(ladder=stored).ladder
    assert resolve(patch(limit_tokens=5), patch(ladder=asked), DEFAULT, {}).sources["ladder"] == "request"


def test_other_stored_fields_are_not_for_requests() -> None:
    stored = patch(warn_at=[0.5], backpressure=[], approval={"deadline_s": 60})
    asked = patch(warn_at=[0.9], backpressure=[[0.1, 9]], approval={"deadline_s": 9})
    resolved = resolve(stored, asked, DEFAULT, {}).policy
    assert (resolved.warn_at, resolved.backpressure, resolved.approval.deadline_s) == ((Decimal("0.5"),), (), 60)


@given(patches(), patches())
def test_under_a_stored_policy_no_request_lets_more_through(stored: PolicyPatch, asked: PolicyPatch) -> None:
    alone, both = resolve(stored, None, DEFAULT, {}).policy, resolve(stored, asked, DEFAULT, {}).policy
    for name in ("limit_tokens", "limit_nano_usd"):
        if (limit := getattr(stored, name)) is not None:
            assert getattr(both, name) <= limit
            assert (both.window, both.timezone) == (alone.window, alone.timezone)
            assert stricter(both.mode, alone.mode) is both.mode
    if stored.mode is not None:
        assert stricter(both.mode, stored.mode) is both.mode
        assert stored.mode is Mode.SOFT or (both.window, both.timezone) == (alone.window, alone.timezone)
    assert both.frozen or not stored.frozen


# --- presets and rules -----------------------------------------------------------------------------------------------


def test_presets_set_what_the_design_says() -> None:
    limits = {(name, kind): p.limit_tokens for name, kinds in PRESETS.items() for kind, p in kinds.items()}
    assert limits["chat", Kind.AGENT] == 25_000
    assert limits["debugging", Kind.AGENT] == 75_000
    assert limits["long_running", Kind.TASK] == 300_000
    assert {p.mode for p in PRESETS["governed"].values()} == {Mode.APPROVAL}


def test_a_policy_without_any_limit_is_unlimited() -> None:
    assert Policy().unlimited
    assert not Policy(limit_tokens=0).unlimited
    assert not Policy(limit_nano_usd=0).unlimited


@pytest.mark.parametrize(
    ("field", "kinds"), [("last_answer", {Kind.TASK, Kind.AGENT}), ("learned_holds", {Kind.AGENT})]
)
def test_a_field_is_refused_for_scopes_on_which_it_has_no_effect(field: str, kinds: set[Kind]) -> None:
    off, on = (PolicyPatch.parse({field: value}) for value in (0, 0.5))
    for kind in Kind:
        assert off.check_kind(kind) is off
        if kind in kinds:
            assert on.check_kind(kind) is on
        else:
            with pytest.raises(InvalidPolicy, match=f"{field} does not apply to a {kind}: set it for"):
                on.check_kind(kind)
