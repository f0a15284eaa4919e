"""Parts of the answers of `/v1/sessions`, from what is stored."""

from datetime import datetime

from purser.context.facts import Fact
from purser.context.postgres.conversation.conversations import Listed
from purser.context.postgres.conversation.summaries import StoredSummary
from purser.wire.sessions import FactView, MessageView, SummaryView


def message_view(listed: Listed, tokens: int) -> MessageView:
    """A stored message."""
    stored = listed.stored
    return MessageView(
        seq=stored.seq,
        thread=stored.thread,
        message=stored.message.to_dict(),
        tokens=tokens,
        created_at=listed.created_at,
        pinned=listed.pinned,
    )


def summary_view(stored: StoredSummary) -> SummaryView:
    """One version of a summary."""
    summary = stored.summary
    taken = ("version", "text", "tokens_before", "tokens_after", "model", "prompt_version", "language", "fidelity")
    return SummaryView(
        **{name: getattr(summary, name) for name in taken},
        thread=stored.thread,
        covers=[summary.first_seq, summary.last_seq],
        method=summary.method,
        trigger=summary.trigger,
        created_at=stored.created_at,
    )


def fact_view(fact: Fact, created_at: datetime) -> FactView:
    """One statement, with the time of its message."""
    taken = {name: getattr(fact, name) for name in FactView.model_fields if name != "created_at"}
    return FactView(**taken, created_at=created_at)
