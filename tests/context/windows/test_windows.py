"""Windows of agents: content, order, and cuts when not everything fits."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import Message, StoredMessage, group
from purser.context.errors import WindowTooSmall
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.strategies.settings import share
from purser.context.windows import plan_window, render
from purser.context.windows.plans import Dropped, TextRef, View, WindowPlan
from tests.support.context.conversations import parts
from tests.support.context.strategies import QUESTION, SETTINGS, conversations

DEFAULT = ContextSettings()
SETTINGS_OFF = ContextSettings(trigger_ratio=1.0)
REPLIES = st.lists(st.integers(1, 500), max_size=3).map(
    lambda counts: [TextRef(20_000 + place, tokens, f"a{place}") for place, tokens in enumerate(counts)]
)


def refs(first: int, count: int, tokens: int = 10) -> tuple[MessageRef, ...]:
    """Messages of one size, numbered from `first`."""
    return tuple(MessageRef(first + place, "user", tokens) for place in range(count))


def plan(
    session: Conversation,
    own: Conversation | None = None,
    *,
    budget: int = 73_142,
    replies: tuple[TextRef, ...] = (),
    settings: ContextSettings = DEFAULT,
    left: int | None = None,
) -> WindowPlan:
    """The plan of a call with small instructions and a small input."""
    return plan_window(
        settings,
        budget=budget,
        system_tokens=100,
        session=session,
        question=QUESTION,
        replies=replies,
        own=own or Conversation("t1/a1"),
        left=left,
    )


# --- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    given_settings=SETTINGS,
    session=conversations(""),
    own=conversations("t1/a1", 5_000),
    replies=REPLIES,
    budget=st.integers(50, 20_000),
    left=st.none() | st.integers(-100, 20_000),
)
def test_a_window_is_whole_fits_and_loses_nothing_silently(
    given_settings: ContextSettings,
    session: Conversation,
    own: Conversation,
    replies: list[TextRef],
    budget: int,
    left: int | None,
) -> None:
    least = plan(session, own, budget=100_000, replies=tuple(replies), settings=given_settings, left=0).tokens
    try:
        found = plan(session, own, budget=budget, replies=tuple(replies), settings=given_settings, left=left)
    except WindowTooSmall:
        assert least > budget
        return
    assert found.tokens <= budget
    assert left is None or found.tokens <= max(left, least)
    trims = {trim.seq: trim.tokens for trim in found.in_part}
    assert found.replies == tuple(replace(one, tokens=trims.get(one.seq, one.tokens)) for one in replies)
    assert WindowPlan.from_json(found.to_json()) == found
    step = share(budget, given_settings.parameters.cut_step)
    # What the session's cut leaves empty would be the agent's as well.
    for conversation, view, empty in ((session, found.session, step), (own, found.own, 2 * step)):
        assert_partition(conversation, view)
        assert_whole_groups(conversation, view)
        conversation = as_shown(conversation, found)
        assert_counted(conversation, view)
        assert_maximal(view, conversation, spare=budget - found.tokens if left is None else 0, empty=empty)
    if own.groups:
        assert {*own.groups[-1].seqs} <= {*found.own.seqs}, "the last step may wait for an answer"


def as_shown(conversation: Conversation, found: WindowPlan) -> Conversation:
    """The conversation with the tokens that the window shows of trimmed messages."""
    sizes = {trim.seq: trim.tokens for trim in found.trims}
    messages = tuple(ref._replace(tokens=sizes.get(ref.seq, ref.tokens)) for ref in conversation.messages)
    return replace(conversation, messages=messages)


def assert_partition(conversation: Conversation, view: View) -> None:
    """Each message is verbatim, covered or dropped, and exactly one of them (invariant 7)."""
    shown = set(view.seqs)
    assert shown <= {ref.seq for ref in conversation.messages}
    assert list(view.seqs) == sorted(shown)
    dropped = [(one.first_seq, one.last_seq) for one in view.dropped]
    for (_, end), (start, _) in pairwise(sorted(dropped)):
        assert end < start
    for ref in conversation.messages:
        elsewhere = sum(first <= ref.seq <= last for first, last in dropped)
        if view.summary and not ref.passed_over:
            elsewhere += view.summary.first_seq <= ref.seq <= view.summary.last_seq
        assert ref.seq in shown or elsewhere == 1, "what is covered is not dropped as well"
        assert not ref.fixed or ref.seq in shown, "pins and system messages are always verbatim"
    if view.summary is None:
        return
    for one in conversation.groups:
        inside = view.summary.first_seq <= one.first_seq <= view.summary.last_seq
        passed_over = any(ref.passed_over for ref in one.refs)
        assert not inside or one.fixed or passed_over, "only required messages are shown in addition to a summary"


def assert_whole_groups(conversation: Conversation, view: View) -> None:
    for span in group(conversation.messages):
        seqs = {ref.seq for ref in conversation.messages[span.start : span.stop]}
        assert seqs <= set(view.seqs) or not seqs & set(view.seqs)


def assert_counted(conversation: Conversation, view: View) -> None:
    tokens = sum(ref.tokens for ref in conversation.messages if ref.seq in set(view.seqs))
    assert view.tokens == tokens + (view.summary.tokens if view.summary else 0)


def assert_maximal(view: View, conversation: Conversation, spare: int, empty: int) -> None:
    """What was left out, newest first, would not have fitted, or the step of the cut leaves as much empty."""
    of_no_request = [one for one in view.dropped if one.reason == "before_first_request"]
    for one in reversed(conversation.groups):
        if one.first_seq not in view.seqs:
            if one.tokens > spare or any(run.first_seq <= one.first_seq <= run.last_seq for run in of_no_request):
                return
            spare, empty = spare - one.tokens, empty - one.tokens
            assert empty >= 0


@given(session=conversations(""), own=conversations("t1/a1", 5_000))
def test_where_everything_fits_nothing_is_dropped(session: Conversation, own: Conversation) -> None:
    whole = QUESTION.tokens + 3 + session.tokens + own.tokens
    found = plan(session, own, budget=whole)
    assert found.tokens == whole
    assert not found.session.dropped
    assert not found.own.dropped


# --- order -----------------------------------------------------------------------------------------------------------


def test_a_window_has_the_stable_part_first() -> None:
    session = Conversation("", refs(1, 1) + refs(6, 2), SummaryRef(2, 2, 5, 30))
    own = Conversation("t1/a1", refs(12, 1), SummaryRef(1, 9, 11, 20))
    found = plan(session, own, replies=(TextRef(8, 10, "t.1~x"),))
    texts = {seq: StoredMessage(seq, "", Message("user", f"m{seq}"), {}) for seq in (1, 6, 7, 8, 10_000, 12)}
    rendered = render(found, texts, {"": "earlier", "t1/a1": "my steps"}, "be brief", count=len)
    head = "Summary of messages {} to {} of this conversation, a record of what was said:\n{}"
    assert rendered == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": head.format(2, 5, "earlier")},
        {"role": "user", "content": "m1"},
        {"role": "user", "content": "m6"},
        {"role": "user", "content": "m7"},
        {"role": "user", "content": parts("[reply of the agent t.1~x:]", "m8"), "name": "t_1_x"},
        {"role": "user", "content": "m10000"},
        {"role": "user", "content": head.format(9, 11, "my steps")},
        {"role": "user", "content": "m12"},
    ]
    assert found.seqs == (1, 6, 7, 8, 12, 10_000)
    assert found.versions == {"": 2, "t1/a1": 1}
    assert found.prompt_tokens == 100 + 3 + 40 + (30 + 30) + 10 + (20 + 10)


# --- what does not fit -----------------------------------------------------------------------------------------------


def test_the_newest_whole_groups_that_fit_stay_and_the_rest_is_listed() -> None:
    calls = MessageRef(3, "assistant", 10, ("c1",))
    session = Conversation("", (*refs(1, 2), calls, MessageRef(4, "tool", 30, (), "c1"), *refs(5, 2)))
    settings = ContextSettings(primers_count=0, trigger_ratio=1.0)
    found = plan(session, budget=43 + 30 + 39, settings=settings)
    assert found.session.seqs == (1, 5, 6), "the first user message always stays"
    assert found.session.dropped == (Dropped(2, 4, "over_budget"),)
    assert plan(session, budget=43 + 30 + 40, settings=settings).session.seqs == (1, 3, 4, 5, 6)


def test_a_summary_that_does_not_fit_drops_what_it_covers() -> None:
    session = Conversation("", refs(1, 1) + refs(9, 1), SummaryRef(1, 2, 8, 500))
    found = plan(session, budget=100, settings=SETTINGS_OFF)
    assert found.session.seqs == (1, 9)
    assert found.session.dropped == (Dropped(2, 8, "over_budget"),)


def test_messages_before_and_after_an_omitted_range_are_dropped_separately() -> None:
    session = Conversation("", (*refs(1, 3), *refs(11, 4)), omitted=(4, 10))
    found = plan(
        session, budget=QUESTION.tokens + 3 + 30, settings=ContextSettings(strategy=StrategyName.TOKEN_TRUNCATION)
    )
    assert found.session.seqs == (1, 13, 14)
    assert [(one.first_seq, one.last_seq) for one in found.session.dropped] == [(2, 3), (4, 10), (11, 12)]


def test_the_agents_own_steps_go_before_the_sessions() -> None:
    own = Conversation("t1/a1", refs(50, 3, tokens=20))
    found = plan(Conversation("", refs(1, 3, tokens=20)), own, budget=43 + 100, settings=SETTINGS_OFF)
    assert found.own.seqs == (50, 51, 52)
    assert found.session.dropped == (Dropped(2, 2, "over_budget"),), "the last exchange goes before primers"


def test_what_cannot_fit_is_an_error_that_names_it() -> None:
    pinned = Conversation("", (MessageRef(1, "user", 500, pinned=True),))
    with pytest.raises(
        WindowTooSmall, match="first user message, pins, system messages and open calls of the session: 500 tokens"
    ) as caught:
        plan(pinned, budget=400)
    assert caught.value.budget == 400
    with pytest.raises(WindowTooSmall, match="input: 43 tokens"):
        plan(Conversation(""), budget=42)
    rule = Conversation("t1/a1", (MessageRef(1, "system", 400),))
    with pytest.raises(
        WindowTooSmall, match="last step, pins, system messages and open calls of the agent: 400 tokens"
    ):
        plan(Conversation(""), rule, budget=400)


def test_what_the_agent_has_left_cuts_the_window_down_but_the_ledger_judges() -> None:
    session = Conversation("", refs(1, 30))
    # 193 tokens would fit: the cut goes on for up to 50 tokens, see `cut_step`.
    assert plan(session, left=200, settings=SETTINGS_OFF).tokens == 143
    assert plan(session, left=10, settings=SETTINGS_OFF).tokens == 53
    assert plan(session, left=-10, settings=SETTINGS_OFF).tokens == 53


# --- when to compress ------------------------------------------------------------------------------------------------


def test_a_window_above_the_trigger_is_compressed_and_one_at_the_trigger_is_not() -> None:
    # 43 + 40 x 100 = 4,043 tokens; three quarters of 5,391 are 4,043.
    session = Conversation("", refs(1, 40, tokens=100))
    assert plan(session, budget=5_391).compress is None
    assert plan(session, budget=5_390).compress == ""


def test_trigger_1_never_compresses() -> None:
    assert plan(Conversation("", refs(1, 60, tokens=100)), budget=6_043, settings=SETTINGS_OFF).compress is None


def test_more_messages_than_the_history_window_are_compressed_however_short_they_are() -> None:
    assert plan(Conversation("", refs(1, 50))).compress is None
    assert plan(Conversation("", refs(1, 51))).compress == ""


def test_the_conversation_that_frees_most_is_compressed() -> None:
    session, own = Conversation("", refs(1, 40, tokens=50)), Conversation("t1/a1", refs(100, 40, tokens=100))
    assert plan(session, own, budget=6_100).compress == "t1/a1"


@given(session=conversations(""), budget=st.integers(100, 5_000))
def test_a_window_that_no_compression_helps_asks_for_none(session: Conversation, budget: int) -> None:
    few = Conversation("", session.messages[:1])
    assume(QUESTION.tokens + 3 + few.tokens <= budget)
    assert plan(few, budget=budget).compress is None
