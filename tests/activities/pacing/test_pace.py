"""How requests are spaced, and which limits they count against."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from purser.activities.pacing.limits import Pacing
from purser.activities.pacing.pace import SLACK_S, Pace, Spacing
from purser.budget.pricing.price_book import PriceBook

BOOK = PriceBook.load()


@given(rpm=st.integers(1, 500), pauses=st.lists(st.floats(0, 20), min_size=1, max_size=150), late=st.data())
def test_no_minute_contains_more_requests_than_the_limit(rpm: int, pauses: list[float], late: st.DataObject) -> None:
    spacing = Spacing.of("m", Pace(rpm=rpm))
    assert spacing.request_s is not None
    now, due, sent = 0.0, 0.0, []
    for pause in pauses:
        now += pause / rpm
        slot = max(now, due - spacing.request_burst_s)
        due = max(due, slot) + spacing.request_s
        sent.append(slot + late.draw(st.floats(0, SLACK_S)))
    sent.sort()
    assert all(sent[index + rpm] - sent[index] >= 60 - 1e-6 for index in range(len(sent) - rpm))


def test_a_tenth_of_a_limit_may_be_used_at_once() -> None:
    few, many = Spacing.of("m", Pace(rpm=9)), Spacing.of("m", Pace(rpm=100))
    assert (few.request_burst_s, few.request_s) == (0, (60 + SLACK_S) / 9)
    assert many.request_s is not None
    assert many.request_burst_s == pytest.approx(9 * many.request_s)
    assert Spacing.of("m", Pace()) == Spacing("m")


def test_a_model_has_one_limit_however_it_is_named() -> None:
    pacing = Pacing({"openai/gpt-4o": Pace(rpm=5)}, BOOK)
    assert [one.name for one in pacing.spacings("gpt-4o")] == ["openai/gpt-4o"]
    assert [one.name for one in pacing.spacings("openai/gpt-4o")] == ["openai/gpt-4o"]
    assert pacing.spacings("openai/gpt-4o-mini") == ()
    assert pacing.spacings("openai/gpt-4o", "http://127.0.0.1:4010/v1") == (), "another server has its own limits"


def test_a_prefix_limits_its_models_together_beside_their_own_limits() -> None:
    pacing = Pacing({"openai/*": Pace(rpm=5), "openai/gpt-4o": Pace(tpm=9), "[::1]:80/x": Pace(rpm=1)}, BOOK)
    assert [one.name for one in pacing.spacings("gpt-4o")] == ["openai/gpt-4o", "openai/*"]
    own, shared = pacing.spacings("gpt-4o-mini")
    assert (own, shared.name) == (Spacing("openai/gpt-4o-mini"), "openai/*"), "its pauses are its own"


def test_a_model_at_an_address_is_named_by_host_and_port() -> None:
    pacing = Pacing({"llm.example.com:443/qwen": Pace(rpm=5)}, BOOK)
    found = pacing.spacings("openai/qwen", "https://llm.example.com/v1")
    assert [one.name for one in found] == ["llm.example.com:443/qwen"]


@pytest.mark.parametrize("wrong", [{"rpm": 0}, {"tpm": -1}, {"rps": 5}])
def test_a_pace_that_cannot_be_kept_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Pace).validate_python(wrong)
