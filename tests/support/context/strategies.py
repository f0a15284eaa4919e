"""Conversations of every shape: parallel calls, results out of order, calls that still wait, pins, system messages."""

from hypothesis import strategies as st

from purser.context.compression.ranges import choose_range
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.settings import ContextSettings
from purser.context.windows.plans import TextRef

TOKENS = st.integers(1, 400)
QUESTION = TextRef(seq=10_000, tokens=40)


@st.composite
def turns(draw: st.DrawFn) -> list[MessageRef]:
    """Messages that belong together, without sequence numbers."""
    pinned = draw(st.integers(0, 9)) == 0
    kind = draw(st.sampled_from(("system", "user", "assistant", "tools")))
    if kind != "tools":
        return [MessageRef(0, kind, draw(TOKENS), pinned=pinned)]
    # Ids repeat along a conversation, as some providers do it.
    identifiers = tuple(f"call_{number}" for number in range(draw(st.integers(1, 3))))
    answered = draw(st.permutations(identifiers))[: draw(st.integers(0, len(identifiers)))]
    between = [MessageRef(0, "user", draw(TOKENS))] if draw(st.integers(0, 4)) == 0 else []
    results = [MessageRef(0, "tool", draw(TOKENS), (), identifier) for identifier in answered]
    return [MessageRef(0, "assistant", draw(TOKENS), identifiers, pinned=pinned), *between, *results]


@st.composite
def threads(draw: st.DrawFn, name: str, start: int) -> list[MessageRef]:
    """A thread whose messages are numbered from `start`, with gaps as other threads leave them."""
    found = [ref for turn in draw(st.lists(turns(), max_size=25)) for ref in turn]
    gaps = draw(st.lists(st.integers(1, 3), min_size=len(found), max_size=len(found)))
    seqs = [start + sum(gaps[: index + 1]) for index in range(len(found))]
    return [
        MessageRef(seq, ref.role, ref.tokens, ref.call_ids, ref.tool_call_id, ref.pinned)
        for seq, ref in zip(seqs, found, strict=True)
    ]


SETTINGS = st.builds(
    ContextSettings,
    primers_count=st.integers(0, 6),
    recents_count=st.integers(0, 25),
    history_window_size=st.integers(5, 60),
)


@st.composite
def conversations(draw: st.DrawFn, name: str, start: int = 0) -> Conversation:
    """A conversation that was compressed up to three times."""
    refs = draw(threads(name, start))
    conversation = Conversation(name, tuple(refs))
    for _ in range(draw(st.integers(0, 3))):
        # A part of the thread is all that was there when it was compressed.
        seen = draw(st.integers(0, len(refs)))
        then = Conversation(name, conversation.messages[:seen], conversation.summary)
        span = choose_range(then, draw(SETTINGS), draw(st.integers(0, 10_000)))
        if span is not None:
            version = conversation.summary.version + 1 if conversation.summary else 1
            tokens = draw(st.integers(1, span.most_tokens))
            summary = SummaryRef(version, span.first_seq, span.last_seq, tokens)
            passed = tuple(ref._replace(passed_over=ref.seq in span.passed) for ref in refs)
            conversation = Conversation(name, passed, summary)
    return conversation
