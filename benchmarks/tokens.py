"""Errors of token counts on real conversations: exact counts, the formula, and rules of thumb.

The reference is tiktoken itself: content (with names and arguments of tool calls) + 4 per message + 3 per conversation.
Errors are in percent of it. For a group (a set and a language) bias is the error of the sum, error the mean of errors.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from purser.benchmarks.data import Row, conversations
from purser.benchmarks.outcome import Cell, Outcome, Table
from purser.benchmarks.progress import log_step
from purser.context.tokens import PER_CONVERSATION, PER_MESSAGE, count_request
from purser.context.tokens.exact import by_tiktoken
from purser.context.tokens.legacy import ESTIMATORS
from purser.context.tokens.tokenizers import Vocabulary

MODELS: Mapping[Vocabulary, str] = {"cl100k_base": "gpt-4", "o200k_base": "gpt-4o"}
OURS, EXACT = "formula", "exact"
RULES = {EXACT: "exact count", OURS: "formula by script", **{name: found.rule for name, found in ESTIMATORS.items()}}
MOST_MEAN, MOST_WORST = 4.5, 16.0
"""Maximum error of the formula in percent: the mean over conversations, and the mean in the worst group."""

Group = tuple[str, str]
"""A set and a language."""


@dataclass
class _Counts:
    """Counts of a group; lists have one entry for each conversation."""

    characters: int = 0
    content_tokens: int = 0
    reference: list[int] = field(default_factory=list)
    by: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Counts by name of the counter."""

    def add(self, messages: Sequence[Row], vocabulary: Vocabulary) -> None:
        pieces = [_pieces(message) for message in messages]
        content = sum(by_tiktoken(piece, vocabulary) or 0 for own in pieces for piece in own)
        self.characters += sum(len(piece) for own in pieces for piece in own)
        self.content_tokens += content
        self.reference.append(content + PER_MESSAGE * len(messages) + PER_CONVERSATION)
        self.by[EXACT].append(count_request(messages, [], MODELS[vocabulary]).tokens)
        self.by[OURS].append(count_request(messages, [], MODELS[vocabulary], fast=True).tokens)
        texts = ["".join(own) for own in pieces]
        for name, legacy in ESTIMATORS.items():
            self.by[name].append(legacy.estimate(texts))

    def errors(self, name: str) -> list[float]:
        """Signed error of each conversation, in percent."""
        return [100 * (count / true - 1) for count, true in zip(self.by[name], self.reference, strict=True)]

    def bias(self, name: str) -> float:
        return 100 * (sum(self.by[name]) / sum(self.reference) - 1)


Groups = Mapping[Group, _Counts]


def run(data: Path | None) -> Outcome:
    """Counts every conversation of every set, in both vocabularies."""
    found = {vocabulary: _counted(data, vocabulary) for vocabulary in MODELS}
    overall = {vocabulary: {name: _overall(groups, name) for name in RULES} for vocabulary, groups in found.items()}
    return Outcome(
        gate_passed=all(_passes(groups, overall[vocabulary]) for vocabulary, groups in found.items()),
        results={
            vocabulary: {"groups": [_group(*one) for one in groups.items()], "overall": overall[vocabulary]}
            for vocabulary, groups in found.items()
        },
        settings={"most_mean_error": MOST_MEAN, "most_worst_group": MOST_WORST},
        tables=[_sizes(found), *(_biases(*one) for one in found.items()), _errors(overall)],
    )


def _counted(data: Path | None, vocabulary: Vocabulary) -> Groups:
    groups: dict[Group, _Counts] = defaultdict(_Counts)
    log_step(f"conversations in {vocabulary}")
    for name, row in conversations(data):
        groups[name, row.get("lang", "")].add(row["messages"], vocabulary)
    return groups


def _pieces(message: Row) -> list[str]:
    """The texts of a message that the reference counts, read independently of the measured counters."""
    functions = (call["function"] for call in message.get("tool_calls") or ())
    return [message.get("content") or "", *(call["name"] + call["arguments"] for call in functions)]


def _overall(groups: Groups, name: str) -> dict[str, float]:
    by_group = [list(map(abs, counts.errors(name))) for counts in groups.values()]
    signed = sorted(error for counts in groups.values() for error in counts.errors(name))
    return {
        "mean": round(mean(error for errors in by_group for error in errors), 2),
        "macro": round(mean(map(mean, by_group)), 2),
        "worst": round(max(map(mean, by_group)), 2),
        "under": round(signed[len(signed) // 100], 2),
    }


def _passes(groups: Groups, overall: Mapping[str, Mapping[str, float]]) -> bool:
    exact = all(counts.by[EXACT] == counts.reference for counts in groups.values())
    return exact and overall[OURS]["mean"] <= MOST_MEAN and overall[OURS]["worst"] <= MOST_WORST


def _group(group: Group, counts: _Counts) -> dict[str, Any]:
    return {
        "set": group[0],
        "language": group[1],
        "conversations": len(counts.reference),
        "characters": counts.characters,
        "content_tokens": counts.content_tokens,
        "tokens": sum(counts.reference),
        "bias": {name: round(counts.bias(name), 1) for name in RULES},
    }


def _sizes(found: Mapping[Vocabulary, Groups]) -> Table:
    rows: list[list[Cell]] = []
    for group, counts in next(iter(found.values())).items():
        tokens = [groups[group].content_tokens for groups in found.values()]
        ratios = [f"{counts.characters / count:.2f}" for count in tokens]
        rows.append([*group, counts.characters, *tokens, " / ".join(ratios)])
    return Table("Exact counts of content", ["set", "language", "characters", *found, "characters per token"], rows)


def _biases(vocabulary: Vocabulary, groups: Groups) -> Table:
    rows: list[list[Cell]] = [[*group, *(counts.bias(name) for name in RULES)] for group, counts in groups.items()]
    return Table(f"Bias in percent, {vocabulary}", ["set", "language", *RULES], rows)


def _errors(overall: Mapping[Vocabulary, Mapping[str, Mapping[str, float]]]) -> Table:
    """Errors over all groups; `under` is the first percentile of signed errors."""
    figures = ["mean", "macro", "worst", "under"]
    columns = [f"{figure}, {vocabulary}" for vocabulary in overall for figure in figures]
    rows: list[list[Cell]] = [
        [name, rule, *(found[name][figure] for found in overall.values() for figure in figures)]
        for name, rule in RULES.items()
    ]
    return Table("Error in percent", ["counter", "rule", *columns], rows)
