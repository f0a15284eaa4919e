"""Compression ratios on real conversations: the first 3 and last 20 messages plus a summary of 400 tokens."""

import random
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any

from purser.benchmarks.compaction.conversations import MODEL
from purser.benchmarks.compaction.policies import PRIMERS, RECENTS, SEED
from purser.benchmarks.data import conversations
from purser.benchmarks.outcome import Cell, Table
from purser.context.tokens import count_message

SUMMARY = 400
"""Tokens of the summary."""
LENGTHS = (50, 100, 500, 1_000)
"""Lengths of the measured stretches in messages."""
TARGET = 12_000
"""Tokens to which a compaction must reduce a window of 32,000."""
DRAWS = 200
"""Stretches drawn from each stream."""

Ratios = Mapping[int, Mapping[str, float]]
"""By length in messages: tokens before and after, and percent saved and percent of stretches over the target."""


def ratios(data: Path | None) -> dict[str, Ratios]:
    """Ratios by set; the conversations of a set are concatenated into one stream."""
    streams: dict[str, list[int]] = {}
    for name, row in conversations(data):
        dialogue = (message for message in row["messages"] if message["role"] != "system")
        streams.setdefault(name, []).extend(count_message(one, MODEL).tokens for one in dialogue)
    return {name: _ratios(tokens) for name, tokens in streams.items() if len(tokens) >= LENGTHS[-1]}


def ratio_table(found: Mapping[str, Ratios]) -> Table:
    """Tabulates the tokens saved in percent, by length."""
    rows: list[list[Cell]] = [
        [name, *(by[length]["saved"] for length in LENGTHS), max(one["missed"] for one in by.values())]
        for name, by in found.items()
    ]
    columns = ["set", *(f"{length} messages" for length in LENGTHS), f"over {TARGET:,} tokens, worst"]
    return Table("Tokens saved by 3 + 400-token summary + 20, in percent", columns, rows)


def _ratios(tokens: Sequence[int]) -> dict[int, dict[str, float]]:
    draw, sums = random.Random(SEED), [0, *accumulate(tokens)]
    found: dict[int, dict[str, float]] = {}
    for length in LENGTHS:
        starts = [draw.randrange(len(tokens) - length + 1) for _ in range(DRAWS)]
        before = [sums[start + length] - sums[start] for start in starts]
        middles = [sums[start + length - RECENTS] - sums[start + PRIMERS] for start in starts]
        after = [whole - middle + SUMMARY for whole, middle in zip(before, middles, strict=True)]
        found[length] = {
            "before": round(mean(before)),
            "after": round(mean(after)),
            "saved": round(100 * (1 - sum(after) / sum(before)), 1),
            "missed": round(100 * mean(one > TARGET for one in after), 1),
        }
    return found


def to_json(found: Mapping[str, Ratios]) -> dict[str, Any]:
    """The ratios as JSON; lengths become text keys."""
    return {name: {str(length): dict(one) for length, one in by.items()} for name, by in found.items()}
