"""Accuracy on real conversations: exact counts equal the reference, the formula stays within its bounds."""

import json
from pathlib import Path
from typing import Any

import pytest

from purser.benchmarks.outcome import Outcome
from purser.benchmarks.tokens import EXACT, OURS, run
from purser.context.tokens.legacy import ESTIMATORS
from tests.support.runs.proof import some

VOCABULARIES = {"cl100k_base": "cl100k", "o200k_base": "o200k"}
Group = tuple[str, str]


@pytest.fixture(scope="module")
def reference(shared_data: Path) -> dict[str, dict[Group, dict[str, Any]]]:
    """Figures of the reference by vocabulary, set and language."""
    rows = json.loads((shared_data / "token_estimator" / "results.json").read_text())
    return {
        vocabulary: {
            (row["set"], row["lang"]): row for row in rows if (row["encoding"], row["split"]) == (short, "dev")
        }
        for vocabulary, short in VOCABULARIES.items()
    }


@pytest.fixture(scope="module")
def whole(shared_data: Path) -> Outcome:
    """Figures of every set."""
    return run(shared_data)


@pytest.fixture(scope="module")
def measured(
    shared_data: Path, reference: dict[str, dict[Group, dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> Outcome:
    """Figures of a few sets."""
    drawn = tmp_path_factory.mktemp("sets")
    there = {name for name, _ in reference["cl100k_base"] if (shared_data / name).is_dir()}
    for name in some(sorted(there), 3):
        (drawn / name).symlink_to(shared_data / name)
    return run(drawn)


def _groups(measured: Outcome, vocabulary: str) -> dict[Group, dict[str, Any]]:
    return {(row["set"], row["language"]): row for row in measured.results[vocabulary]["groups"]}


@pytest.mark.proof
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_exact_counts_equal_the_reference_on_every_conversation_of_every_set(
    vocabulary: str, whole: Outcome, reference: dict[str, dict[Group, dict[str, Any]]]
) -> None:
    groups, expected = _groups(whole, vocabulary), reference[vocabulary]
    assert len({name for name, _ in groups}) >= 10
    assert {group: (row["content_tokens"], row["tokens"]) for group, row in groups.items()} == {
        group: (expected[group]["content_tokens"], expected[group]["chat_tokens"]) for group in groups
    }
    assert whole.results[vocabulary]["overall"][EXACT] == {"mean": 0, "macro": 0, "worst": 0, "under": 0}
    assert whole.gate_passed


@pytest.mark.proof
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_the_formula_is_4_5_percent_off_at_most_over_all_sets(vocabulary: str, whole: Outcome) -> None:
    assert whole.results[vocabulary]["overall"][OURS]["mean"] <= 4.5


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.proof
def test_the_formula_is_16_percent_off_at_most_in_the_worst_group(vocabulary: str, measured: Outcome) -> None:
    assert measured.results[vocabulary]["overall"][OURS]["worst"] <= 16
    assert max(abs(row["bias"][OURS]) for row in _groups(measured, vocabulary).values()) <= 16


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rules_of_thumb_are_as_far_off_as_the_reference_says(
    name: str, vocabulary: str, measured: Outcome, reference: dict[str, dict[Group, dict[str, Any]]]
) -> None:
    for group, row in _groups(measured, vocabulary).items():
        # The reference has them in the same order under different names.
        published = [figures for figures in reference[vocabulary][group].values() if isinstance(figures, dict)]
        assert row["bias"][name] == pytest.approx(published[list(ESTIMATORS).index(name)]["bias_pct"], abs=0.2)
