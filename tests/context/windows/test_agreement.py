"""Agreement of windows: an agent's call and the window endpoint show the same messages of a conversation."""

from hypothesis import given, settings
from hypothesis import strategies as st

from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.strategies.choice import Preference
from purser.context.tokens import PER_CONVERSATION, count_message, count_text
from purser.context.windows import Window, plan_window
from purser.context.windows.builder import WindowBuilder
from purser.context.windows.linking import linked
from purser.context.windows.listing import build
from purser.context.windows.plans import TextRef, WindowPlan
from purser.context.windows.trimming import Remedy, show_all
from tests.support.context.strategies import conversations

MODEL = "gpt-4o"
TEXT = Message("user", "text")
SETTINGS = st.builds(
    ContextSettings,
    strategy=st.sampled_from(StrategyName),
    preference=st.sampled_from(Preference),
    primers_count=st.integers(0, 6),
    # No compression: both windows drop what does not fit.
    trigger_ratio=st.just(1.0),
)


def agent_window(
    session: Conversation, question: TextRef, context_settings: ContextSettings, budget: int
) -> WindowPlan | None:
    """The window of a call that asks `question`; `None`: it is too small."""
    own, sizes = Conversation("t/a"), dict[int, int]()
    session = linked(session, lambda text: count_text(text, MODEL).tokens, question_follows=True)
    try:
        while True:
            plan = plan_window(
                context_settings, budget=budget, system_tokens=0, session=session, question=question, own=own,
                sizes=sizes,
            )  # fmt: skip
            uncounted = [trim for trim in plan.trims if trim.seq not in sizes]
            if not uncounted:
                return plan
            shown = show_all(uncounted, {trim.seq: TEXT for trim in uncounted}, len)
            sizes |= {seq: count_message(message.to_openai(), MODEL).tokens for seq, message in shown.items()}
    except WindowTooSmall:
        return None


def listed_window(
    session: Conversation, question: TextRef, context_settings: ContextSettings, budget: int
) -> Window | None:
    """The window of the same messages; `None`: it is too small."""
    newest = MessageRef(question.seq, "user", question.tokens)
    whole = Conversation("", (*session.messages, newest), session.summary)
    summary = session.summary
    builder = WindowBuilder(
        whole,
        dict.fromkeys([ref.seq for ref in whole.messages], TEXT),
        MODEL,
        context_settings.strategy,
        "asked for",
        context_settings.parameters,
        context_settings.preference,
        summary.version if summary else 0,
        stored=TEXT if summary else None,
    )
    try:
        return build(builder, budget)
    except WindowTooSmall:
        return None


@settings(max_examples=200, deadline=None)
@given(session=conversations(""), tokens=st.integers(1, 400), context_settings=SETTINGS, share=st.floats(0.2, 1.1))
def test_an_agent_gets_the_window_that_people_look_at(
    session: Conversation, tokens: int, context_settings: ContextSettings, share: float
) -> None:
    question = TextRef(10_000, tokens)
    budget = int(share * (PER_CONVERSATION + session.tokens + tokens))
    plan, window = (
        agent_window(session, question, context_settings, budget),
        listed_window(session, question, context_settings, budget),
    )
    if plan is None or window is None:
        # An agent ends if its input does not fit; people see the input clipped.
        assert plan is None
        assert window is None or question.seq in {window.indexes[-1], *(one.index for one in window.stats.clipped)}
        return
    in_part = {(one.index, Remedy.CLEARED) for one in window.stats.cleared}
    in_part |= {(one.index, Remedy.CLIPPED) for one in window.stats.clipped}
    assert {(trim.seq, trim.remedy) for trim in plan.in_part} == in_part
    shown = [seq for seq in window.indexes if seq is not None]
    assert shown == [*plan.session.seqs, question.seq]
    assert (window.tokens, window.strategy) == (plan.tokens, plan.strategy)
    assert window.version == (plan.session.summary.version if plan.session.summary else 0)
    left_out = {ref.seq for ref in session.messages} - {*shown}
    dropped = {
        seq: one.reason
        for one in plan.session.dropped
        for seq in range(one.first_seq, one.last_seq + 1)
        if seq in left_out
    }
    assert dict(window.dropped) == dropped
