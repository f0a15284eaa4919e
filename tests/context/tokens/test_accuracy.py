"""Accuracy on real conversations: exact counts equal the reference, the formula stays within its bounds."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from context.tokens import count_request

MODELS = {"cl100k": "gpt-4", "o200k": "gpt-4o"}


@pytest.fixture(scope="module")
def conversations(shared_data: Path) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Set, language and messages of every conversation of the measured sets."""
    return [
        (folder.name, row["lang"], row["messages"])
        for folder in sorted(shared_data.iterdir())
        for row in _rows(folder / "dev.jsonl.gz")
        if "messages" in row
    ]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


@pytest.mark.parametrize("encoding", MODELS)
def test_exact_counts_equal_the_reference_and_the_formula_stays_within_its_bounds(
    encoding: str, conversations: list[tuple[str, str, list[dict[str, Any]]]], shared_data: Path
) -> None:
    exact: dict[tuple[str, str], int] = defaultdict(int)
    estimated: dict[tuple[str, str], int] = defaultdict(int)
    errors = []
    for dataset, language, messages in conversations:
        counted = count_request(messages, [], MODELS[encoding]).tokens
        guessed = count_request(messages, [], MODELS[encoding], fast=True).tokens
        exact[dataset, language] += counted
        estimated[dataset, language] += guessed
        errors.append(abs(guessed / counted - 1))

    reference = {
        (row["set"], row["lang"]): row["chat_tokens"]
        for row in json.loads((shared_data / "token_estimator" / "results.json").read_text())
        if (row["encoding"], row["split"]) == (encoding, "dev")
    }
    assert len(exact) > 30
    assert exact == {group: reference[group] for group in exact}

    assert mean(errors) <= 0.045
    bias = {group: abs(estimated[group] / exact[group] - 1) for group in exact}
    worst = max(bias, key=lambda group: bias[group])
    assert bias[worst] <= 0.16, worst
