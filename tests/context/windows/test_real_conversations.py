"""Windows of real tool conversations, cut at every place where a turn may start."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest

from purser.context.compression.ranges import choose_range
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import Message
from purser.context.settings import ContextSettings
from purser.context.tokens import count_message
from purser.context.windows import plan_window
from purser.context.windows.plans import TextRef

QUESTION = TextRef(seq=10_000, tokens=40)


def transcripts(folder: Path) -> list[list[MessageRef]]:
    """Every conversation by reference, numbered from 1."""
    fields = ("role", "content", "name", "tool_calls", "tool_call_id")
    with gzip.open(folder / "dev.jsonl.gz", "rt", encoding="utf-8") as file:
        bodies = [json.loads(line)["messages"] for line in file]
    return [
        [
            _ref(place, Message.parse({field: body.get(field) for field in fields}, place))
            for place, body in enumerate(messages, start=1)
        ]
        for messages in bodies
    ]


def _ref(seq: int, message: Message) -> MessageRef:
    tokens = count_message(message.to_openai(), "gpt-4o").tokens
    return MessageRef(seq, message.role, tokens, message.call_ids, message.tool_call_id)


def broken_pairs(shown: list[MessageRef]) -> int:
    """Results that no call precedes, and calls whose results do not follow at once."""
    broken, waiting = 0, set[str]()
    for one, following in pairwise([*shown, MessageRef(0, "user", 0)]):
        broken += one.tool_call_id is not None and one.tool_call_id not in waiting
        waiting = (waiting | set(one.call_ids)) - {one.tool_call_id or ""}
        broken += bool(waiting) and following.tool_call_id not in waiting
    return broken


@pytest.mark.parametrize("name", ["tau_airline", "sweagent"])
@pytest.mark.parametrize("budget", [3_000, 8_000])
def test_no_cut_breaks_a_tool_pair(shared_data: Path, name: str, budget: int) -> None:
    settings = ContextSettings(recents_count=5)
    compressed = 0
    for refs in transcripts(shared_data / name):
        summary: SummaryRef | None = None
        for end in range(1, len(refs) + 1):
            seen = refs[:end]
            if broken_pairs(seen):
                continue  # no turn starts between a call and its last result
            conversation = Conversation("", tuple(seen), summary)
            if span := choose_range(conversation, settings, budget):
                summary = SummaryRef(summary.version + 1 if summary else 1, span.first_seq, span.last_seq, 100)
                conversation = Conversation("", tuple(seen), summary)
                compressed += 1
            always = sum(one.tokens for one in conversation.groups if one.fixed)
            window = max(budget, always + QUESTION.tokens + 3)
            plan = plan_window(
                settings,
                budget=window,
                system_tokens=0,
                session=conversation,
                question=QUESTION,
                own=Conversation("t1/a1"),
            )
            assert plan.tokens <= window
            assert broken_pairs([ref for ref in seen if ref.seq in set(plan.session.seqs)]) == 0
    assert compressed > 10
