"""The redaction benchmark: its gate on real data, and that it can fail."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from purser.benchmarks.redact import Figures, Recall, run, shannon
from purser.benchmarks.redact.table import Score

ALL = Recall(10, 10, 10)
TABLE = Score(values=100, right=98, wrong=3, plain=100, changed=3, by_label={}, failures=())
PERFECT = Figures(dict.fromkeys(("EMAIL", "CARD", "IBAN", "SSN", "IP", "PHONE"), ALL), 575, 8, 100, 0, ALL, {}, TABLE)


@pytest.mark.proof
def test_on_real_data_everything_is_found_and_no_date_is_changed(shared_data: Path) -> None:
    outcome = run(shared_data)
    assert outcome.gate_passed
    ours, theirs = outcome.results["purser"], outcome.results["shannon"]
    assert ours["found"]["PHONE"]["right"] >= 0.95 * ours["found"]["PHONE"]["there"]
    assert ours["landlines"]["right"] >= 0.95 * ours["landlines"]["there"]
    assert ours["dates"] > 1_000
    assert theirs["dates_changed"] > 1_000, "the baseline takes dates for phone numbers"
    assert theirs["replaced"]["whowhen"]["PHONE"] == 879, "the baseline has the published count"


def _missed(label: str, right: int) -> Mapping[str, Recall]:
    return {**PERFECT.found, label: Recall(100, 100, right)}


@pytest.mark.parametrize(
    "figures",
    [
        replace(PERFECT, found=_missed("CARD", 99)),
        replace(PERFECT, found=_missed("PHONE", 86)),
        replace(PERFECT, false_alarms=9),
        replace(PERFECT, dates_changed=1),
        replace(PERFECT, table=replace(TABLE, right=97)),
        replace(PERFECT, table=replace(TABLE, wrong=4)),
        replace(PERFECT, table=replace(TABLE, changed=4)),
    ],
    ids=["a card", "phones", "false alarms", "a date", "recall", "precision", "texts without personal data"],
)
def test_the_gate_fails_on(figures: Figures) -> None:
    assert PERFECT.gate_passed
    assert not figures.gate_passed


def test_the_baseline_takes_dates_for_phone_numbers() -> None:
    assert shannon("on 2024-05-20 15:00, a@x.org") == "on [PHONE_1]:00, [EMAIL_1]"
