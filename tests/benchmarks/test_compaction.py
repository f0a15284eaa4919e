"""The benchmark of compaction: what it counts, on conversations of our own making, and its gate, on real ones."""

import gzip
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from purser.benchmarks.compaction.conversations import LabelledConversation
from purser.benchmarks.compaction.pairs import is_ours, pairs
from purser.benchmarks.compaction.policies import Remains, extracted, extracted_with_facts
from purser.benchmarks.compaction.product import rolled
from purser.benchmarks.compaction.ratios import ratios
from purser.benchmarks.compaction.survival import (
    ENTITY_DENSE,
    OURS,
    OURS_WITH_FACTS,
    RARE_WORDS,
    at,
    measured,
    survival,
)
from purser.benchmarks.compaction.survival import SHARES as SIZES
from purser.benchmarks.compaction.tools import OURS as OURS_OF_TOOLS
from purser.benchmarks.compaction.tools import SHARES, points, retained
from purser.benchmarks.context import LEAST_OF_ONE_PASS, run
from purser.benchmarks.data import rows
from purser.budget.postgres.connections.pools import Pool
from purser.compose.errors import MissingData
from tests.support.context.conversations import call, talk


def row(qa: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A conversation of 60 messages, each with a fact of its own, and questions about it."""
    messages = [message.to_dict() | {"turn_id": f"D1:{index}"} for index, message in enumerate(talk(60))]
    return {"id": "t", "messages": messages, "qa": qa}


def write(folder: Path, name: str, *found: object) -> None:
    """A set."""
    (folder / name).mkdir()
    with gzip.open(folder / name / "own.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(one) + "\n" for one in found)


# --- what it counts --------------------------------------------------------------------------------------------------


def test_evidence_counts_word_for_word_and_answers_by_their_words() -> None:
    asked: list[Mapping[str, Any]] = [
        {"evidence": ["D1:0"], "answer": "the order 1000"},
        {"evidence": ["D1:30"], "answer": ["Xyz", "none"]},
    ]
    found = survival([LabelledConversation.of(row(asked))])
    assert found["everything"].evidence == 100
    assert found["first 3 + last 20 messages"].evidence == 50
    assert found["first 3 + last 20 messages"].answers == 50
    assert found["last 20 messages"].evidence == 0


def test_questions_without_evidence_or_a_true_answer_are_left_out() -> None:
    asked: list[Mapping[str, Any]] = [
        {"evidence": [], "answer": "x"},
        {"evidence": ["D1:1"], "answer": "x", "category": 5},
    ]
    assert LabelledConversation.of(row(asked)).questions == []


@pytest.mark.parametrize("policy", [extracted, extracted_with_facts])
@pytest.mark.parametrize("share", [0.5, 0.7])
def test_what_we_leave_keeps_to_its_size_and_says_which_messages_are_whole(policy: Any, share: float) -> None:
    conversation = LabelledConversation.of(row([]))
    most = int(share * sum(conversation.tokens))
    remains: Remains = policy(conversation, most)
    assert 0.8 * most < remains.tokens <= most
    said = " ".join(remains.text.split())
    assert set(remains.retained) == {index for index, text in enumerate(conversation.texts) if text in said}


def test_broken_pairs_and_wrong_first_roles_are_seen(tmp_path: Path) -> None:
    long = "It takes a while to look all of that up. " * 40
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Where is it?"}]
    for number in range(12):
        messages += [
            {"role": "assistant", "tool_calls": [call(f"c{number}")]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": long},
            {"role": "assistant", "content": "It is there."},
            {"role": "user", "content": "And the next one?"},
        ]
    write(tmp_path, "tau_airline", {"messages": messages})
    found = pairs(tmp_path)
    assert found["last 5"].pairs > 0
    assert found["last 10"].starts > 0
    ours = [one for name, one in found.items() if is_ours(name)]
    assert len(ours) == 10
    assert all(one.requests > 0 and one.pairs == one.starts == 0 for one in ours)


def test_ratios_need_a_thousand_messages_and_leave_system_messages_out(tmp_path: Path) -> None:
    said = {"role": "user", "content": "word " * 96}
    write(tmp_path, "short", {"messages": [said] * 999 + [{"role": "system", "content": "a"}]})
    write(tmp_path, "long", {"messages": [said] * 1_000})
    [(name, found)] = ratios(tmp_path).items()
    assert name == "long"
    each = found[50]["before"] / 50
    assert found[1_000]["after"] == round(23 * each + 400)
    assert found[1_000]["saved"] == pytest.approx(100 * (1 - found[1_000]["after"] / found[1_000]["before"]), abs=0.1)
    assert found[1_000]["missed"] == 0


def test_locomo_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="locomo"):
        run(tmp_path)


# --- on real conversations -------------------------------------------------------------------------------------------


@pytest.mark.proof
@pytest.mark.parametrize("name", ["locomo", "bfcl_memory"])
def test_an_extract_keeps_as_much_evidence_as_the_best_baseline_also_with_facts_inside(
    name: str, shared_data: Path
) -> None:
    found = survival([LabelledConversation.of(conversation) for conversation in rows(shared_data, name)])
    for policy, share in product((OURS, OURS_WITH_FACTS), SIZES):
        ours, theirs = found[at(policy, share)], [found[at(other, share)] for other in (ENTITY_DENSE, RARE_WORDS)]
        assert ours.retained <= share + 1
        assert ours.evidence >= max(other.evidence for other in theirs)


@pytest.mark.proof
async def test_rolling_through_the_product_retains_nine_tenths_of_what_one_pass_retains(
    shared_data: Path, pool: Pool
) -> None:
    conversation = LabelledConversation.of(rows(shared_data, "locomo")[0])
    for share in (10, 25):
        rolling = await rolled(pool, f"rolling-{share}", conversation, share)
        one_pass = extracted(conversation, sum(conversation.tokens) * share // 100)
        assert rolling.tokens <= sum(conversation.tokens) * share // 100
        ours, theirs = (measured([conversation], [remains]).evidence for remains in (rolling, one_pass))
        assert ours >= LEAST_OF_ONE_PASS * theirs


@pytest.mark.proof
def test_an_extract_leaves_more_of_what_later_calls_need_than_whole_messages_do(shared_data: Path) -> None:
    found = retained(points(shared_data))
    for share in SHARES:
        assert found[OURS_OF_TOOLS][share] == max(by[share] for by in found.values())


def test_values_that_later_calls_name_and_only_the_covered_part_contains_are_needed(tmp_path: Path) -> None:
    padding = "It takes a while to look all of that up. " * 90
    messages: list[dict[str, Any]] = [{"role": "user", "content": "My number is M-1001."}]
    for number in range(6):
        messages += [
            {"role": "assistant", "tool_calls": [call(f"c{number}", json.dumps({"id": f"R{number}55"}))]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"gift_card_{number}77 {padding}"},
        ]
    messages.append({"role": "assistant", "tool_calls": [call("p", '{"card": "gift_card_277", "user": "M-1001"}')]})
    write(tmp_path, "tau_airline", {"messages": messages})
    assert [point.needed for point in points(tmp_path)] == [frozenset({"gift_card_277"})]
