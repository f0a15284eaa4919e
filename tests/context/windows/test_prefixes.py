"""Windows are cut in steps, so that those of consecutive turns begin alike."""

from itertools import pairwise

from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.windows import plan_window
from purser.context.windows.plans import TextRef, WindowPlan

BUDGET, TOKENS = 1_000, 20
TURNS = range(60, 400, 2)
"""Messages of a conversation that no longer fits; each turn adds a question and an answer."""


def shown(messages: int, settings: ContextSettings) -> WindowPlan:
    """The window of a session of so many messages."""
    refs = (MessageRef(seq, "user" if seq % 2 else "assistant", TOKENS) for seq in range(1, messages + 1))
    question = TextRef(messages + 1, TOKENS)
    session = Conversation("", tuple(refs))
    return plan_window(
        settings, budget=BUDGET, system_tokens=0, session=session, question=question, own=Conversation("t/a")
    )


def newest(plan: WindowPlan) -> int:
    """The first message after the gap."""
    return next(seq for before, seq in pairwise(plan.session.seqs) if seq > before + 1)


def test_the_windows_of_consecutive_turns_begin_with_the_same_messages() -> None:
    settings = ContextSettings(strategy=StrategyName.TOKEN_TRUNCATION, trigger_ratio=1.0, target_ratio=0.5)
    begins = [newest(shown(messages, settings)) for messages in TURNS]
    changes = sum(one != other for one, other in pairwise(begins))
    assert begins == sorted(begins)
    # A step of a quarter is 12 messages, 6 turns; on average at least half of it.
    assert changes <= len(begins) / 3


def test_a_step_leaves_at_most_its_share_of_the_budget_empty() -> None:
    settings = ContextSettings(strategy=StrategyName.TOKEN_TRUNCATION, trigger_ratio=1.0, target_ratio=0.5)
    step = settings.parameters.cut_step
    assert step > 0
    filled = [shown(messages, settings).tokens for messages in TURNS]
    assert min(filled) >= BUDGET * (1 - step) - 2 * TOKENS
    assert max(filled) > BUDGET - 3 * TOKENS


def test_a_number_of_rounds_is_exact() -> None:
    settings = ContextSettings(strategy=StrategyName.SLIDING_WINDOW, rounds=10)
    for messages in TURNS:
        assert newest(shown(messages, settings)) == messages - 17
