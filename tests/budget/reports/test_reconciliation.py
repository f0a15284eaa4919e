"""The comparison of a usage file with the ledger."""

from datetime import UTC, date, datetime

import pytest

from purser.budget.reports.provider_usage import ProviderUse
from purser.budget.reports.reconciliation import LedgerUse, compare_days, compare_requests

DAY, NEXT = date(2026, 11, 20), date(2026, 11, 21)


def request(name: str, tokens: int, model: str = "gpt-4o") -> ProviderUse:
    return ProviderUse(name, DAY, model, 1, tokens)


def attempt(*ids: str, tokens: int, model: str = "openai/gpt-4o") -> LedgerUse:
    return LedgerUse(ids, None, model, 1, tokens)


def test_requests_that_the_ledger_knows_by_either_id_are_captured() -> None:
    found = compare_requests(
        [request("req_1", 100), request("7-1", 50)], [attempt("7-1", tokens=50), attempt("3-1", "req_1", tokens=100)]
    )
    assert found.ok
    assert (found.captured_ppm, found.unguarded_calls, found.provider_calls) == (1_000_000, 0, 2)


def test_a_request_that_nobody_held_is_named() -> None:
    found = compare_requests([request("req_1", 300), request("req_2", 100)], [attempt("1-1", "req_1", tokens=300)])
    [gap] = found.unguarded
    assert (gap.request_id, gap.provider_tokens, gap.ledger_calls) == ("req_2", 100, 0)
    assert (found.captured_ppm, found.unguarded_calls, found.ok) == (750_000, 1, False)


def test_other_tokens_and_another_model_are_named_and_captured() -> None:
    served = [request("req_1", 300), request("req_2", 100)]
    found = compare_requests(served, [attempt("req_1", tokens=290), attempt("req_2", tokens=100, model="gpt-4o-mini")])
    assert [(gap.request_id, gap.provider_tokens, gap.ledger_tokens) for gap in found.differing] == [
        ("req_1", 300, 290),
        ("req_2", 100, 100),
    ]
    assert (found.captured_ppm, found.unguarded_calls) == (1_000_000, 0)


def test_a_request_that_is_listed_twice_counts_once() -> None:
    found = compare_requests([request("req_1", 100)] * 2, [attempt("req_1", tokens=100)])
    assert (found.ok, found.provider_calls, found.provider_tokens) == (True, 1, 100)


def test_days_of_a_model_are_compared_in_sum_over_its_snapshots() -> None:
    served = [ProviderUse("", DAY, "gpt-4o", 2, 60), ProviderUse("", DAY, "gpt-4o", 1, 40)]
    charged = [LedgerUse((), DAY, "openai/gpt-4o-2024-08-06", 1, 30), LedgerUse((), DAY, "gpt-4o", 2, 70)]
    assert compare_days("openai", served, charged).ok


@pytest.mark.parametrize(
    ("provider", "own", "others"),
    [
        ("openai", "openai/gpt-4o", "openrouter/openai/gpt-4o"),
        ("openai", "gpt-4o", "azure/gpt-4o"),
        ("anthropic", "anthropic/claude-sonnet-4-5", "vertex_ai/claude-sonnet-4-5@20250929"),
        ("anthropic", "claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ],
)
def test_calls_to_the_same_model_at_another_provider_do_not_cover_the_bill(
    provider: str, own: str, others: str
) -> None:
    charged = [LedgerUse((), DAY, own, 2, 200), LedgerUse((), DAY, others, 2, 200)]
    model = own.rpartition("/")[2]
    assert compare_days(provider, [ProviderUse("", DAY, model, 2, 200)], charged).ok
    found = compare_days(provider, [ProviderUse("", DAY, model, 4, 400)], charged)
    assert (found.unguarded_calls, found.captured_tokens) == (2, 200)


def test_what_a_day_has_beyond_the_ledger_is_unguarded() -> None:
    served = [ProviderUse("", DAY, "gpt-4o", 3, 100), ProviderUse("", NEXT, "gpt-4o", 1, 100)]
    charged = [LedgerUse((), DAY, "gpt-4o", 2, 80), LedgerUse((), NEXT, "gpt-4o", 1, 110)]
    found = compare_days("openai", served, charged)
    [short], [over] = found.unguarded, found.differing
    assert (short.day, short.provider_tokens, short.ledger_tokens) == ("2026-11-20", 100, 80)
    assert (over.day, over.ledger_tokens) == ("2026-11-21", 110)
    assert (found.unguarded_calls, found.captured_ppm) == (1, 900_000)


def test_a_day_of_a_named_model_that_only_the_ledger_has_differs() -> None:
    served = [ProviderUse("", DAY, "gpt-4o", calls, 100) for calls in (1, None)]
    charged = [
        LedgerUse((), DAY, "gpt-4o", 1, 100),
        LedgerUse((), NEXT, "openai/gpt-4o-2024-08-06", 3, 70),
        LedgerUse((), NEXT, "claude-x", 1, 10),
    ]
    for use, calls in zip(served, (0, None), strict=True):
        found = compare_days("openai", [use], charged)
        [gap] = found.differing
        assert (gap.day, gap.model, gap.provider_calls, gap.ledger_calls) == ("2026-11-21", "gpt-4o", calls, 3)
        assert (gap.provider_tokens, gap.ledger_tokens, found.unguarded, found.ok) == (0, 70, (), False)
        assert (found.provider_tokens, found.captured_tokens) == (100, 100)


def test_calls_are_unknown_where_the_file_does_not_count_them() -> None:
    found = compare_days("anthropic", [ProviderUse("", DAY, "claude-x", None, 100)], [])
    assert (found.unguarded_calls, found.provider_calls, found.captured_ppm) == (None, None, 0)
    assert found.to_json()["purser_provider_calls_unguarded"] is None
    assert len(found.unguarded) == 1


def test_an_empty_day_is_captured() -> None:
    assert compare_days("openai", [ProviderUse("", DAY, "gpt-4o", 0, 0)], []).ok


def test_what_retention_has_deleted_is_not_unguarded() -> None:
    until = datetime(2026, 11, 20, 8, tzinfo=UTC)
    young = ProviderUse("req_2", NEXT, "gpt-4o", 1, 50)
    found = compare_requests([request("gone", 100), young], [], until)
    assert [gap.request_id for gap in found.unguarded] == ["req_2"]
    assert (found.not_compared, found.provider_tokens, found.complete_after) == (1, 50, until)
    assert found.to_json()["complete_after"] == "2026-11-20T08:00:00+00:00"
    found = compare_requests([request("req_1", 100), young], [attempt("req_1", tokens=90)], until)
    assert ([gap.request_id for gap in found.differing], found.not_compared) == (["req_1"], 0)
    days = [ProviderUse("", DAY, "gpt-4o", 1, 100), ProviderUse("", NEXT, "gpt-4o", 1, 50)]
    left = LedgerUse((), DAY, "gpt-4o", 1, 30)
    found = compare_days("openai", days, [left, LedgerUse((), NEXT, "gpt-4o", 1, 50)], until)
    assert (found.ok, found.not_compared, found.provider_calls, found.complete_after) == (True, 1, 1, until)


def test_requests_without_a_day_that_are_not_found_may_have_been_deleted() -> None:
    until, no_day = datetime(2026, 11, 20, 8, tzinfo=UTC), ProviderUse("req_1", None, "gpt-4o", 1, 100)
    found = compare_requests([no_day], [], until)
    assert (found.unguarded_calls, found.not_compared, found.complete_after) == (1, 0, until)
    assert compare_requests([no_day], [attempt("req_1", tokens=100)], until).complete_after is None
