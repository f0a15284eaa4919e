"""The window of one list of messages: what a call shows of a conversation that is not stored.

`build_window` is pure: the same messages and settings give the same window. Each message is verbatim in it, covered by
its summary, or listed as dropped with a reason, and exactly one of them; the window fits its budget, or building it is
an error that names what does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from context.choice import Preference, choose
from context.conversations import Conversation, MessageRef
from context.drafts import Clipped, Draft, Summarize, fitted
from context.errors import InvalidSettings
from context.extraction import extract
from context.messages import SYSTEM_ROLES, Message
from context.settings import share
from context.strategies.names import StrategyName
from context.strategies.reasons import BEFORE_FIRST_REQUEST, NO_SUMMARY, OLDER_THAN_ROUNDS, OVER_BUDGET
from context.strategies.selecting import Selection, Shown, select, summary_reserve
from context.strategies.settings import WINDOW_PRESETS, Part, StrategySettings
from context.strategies.strategy import Strategy, strategy_of


@dataclass(frozen=True, slots=True)
class WindowStats:
    """What was done to a conversation."""

    optimization_applied: bool
    """Whether anything was left out."""
    messages_removed: int
    """Not verbatim in the window."""
    tokens_saved: int
    strategy_chosen: StrategyName
    strategy_reason: str
    summary_generated: bool
    clipped: tuple[Clipped, ...] = ()
    """Messages that are shown in part."""


@dataclass(frozen=True, slots=True)
class Window:
    """What one call shows its model."""

    messages: tuple[Message, ...]
    indexes: tuple[int | None, ...]
    """Where each message stands in the conversation; `None`: it was added."""
    tokens: int
    """By the counter of the model, as `count_request` counts."""
    dropped: tuple[tuple[int, str], ...]
    """Messages that are neither shown nor covered, each with the reason."""
    summarised: tuple[tuple[int, int], ...]
    """Runs of messages that the summary covers, first and last."""
    summary: str
    """Its text; empty if there is none."""
    strategy: StrategyName
    reason: str
    """Why this strategy."""
    stats: WindowStats


def build_window(
    messages: Sequence[Message],
    *,
    budget: int,
    model: str,
    strategy: StrategyName | str | None = None,
    preset: str | None = None,
    settings: StrategySettings | None = None,
    preference: Preference | str = Preference.BALANCED,
    summarize: Summarize | None = extract,
    summaries: int = 0,
    personal: Message | None = None,
    memory: Message | None = None,
    counts: Sequence[int] | None = None,
) -> Window:
    """Builds the window of one call.

    Args:
        messages: the conversation; what is `pinned` stays verbatim.
        budget: tokens of the whole window.
        model: whose tokens are counted.
        strategy: `three_part`, or that of the preset, if not given.
        preset: one of `WINDOW_PRESETS`.
        settings: instead of the preset's figures.
        preference: what `auto` goes by.
        summarize: writes the summary; `None`: nothing does.
        summaries: how often this conversation was summarised before.
        personal: settings of the user, shown first.
        memory: retrieved memory and documents, shown before the newest user message.
        counts: tokens of each message, where they are known.

    Raises:
        WindowTooSmall: what must be in the window exceeds its budget.
        InvalidSettings: no such strategy or preset.
    """
    name, figures = _asked(strategy, preset, settings)
    draft = Draft(tuple(messages), model, figures, personal, memory, summarize, counts)
    why = "asked for" if strategy else f"the default of preset {preset}" if preset else "the default"
    rule, reason = _ruled(draft, name, why, Preference(preference), summaries)
    draft, clipped = fitted(draft, budget)
    limit = _limit(draft, rule, budget, asked=name)
    if limit is None:
        selection = Selection(frozenset(range(len(draft.conversation.groups))))
    else:
        selection = select(draft.conversation, draft.must, rule, figures, limit, draft.write if summarize else None)
    return _window(draft, rule, reason, selection, clipped)


def _asked(
    strategy: str | None, preset: str | None, settings: StrategySettings | None
) -> tuple[StrategyName, StrategySettings]:
    if strategy is not None and strategy not in list(StrategyName):
        raise InvalidSettings(f"strategy {strategy[:80]!r} is not known: use one of {', '.join(StrategyName)}")
    if preset is not None and preset not in WINDOW_PRESETS:
        raise InvalidSettings(f"preset {preset[:80]!r} is not known: use one of {', '.join(WINDOW_PRESETS)}")
    known = WINDOW_PRESETS[preset] if preset is not None else None
    name = StrategyName(strategy) if strategy else known.strategy if known else StrategyName.THREE_PART
    return name, settings or (known.settings if known else StrategySettings())


def _ruled(
    draft: Draft, name: StrategyName, reason: str, preference: Preference, summaries: int
) -> tuple[Strategy, str]:
    """The rule to go by, and why."""
    if name is StrategyName.AUTO:
        choice = choose(
            messages=len(draft.messages),
            characters=sum(len(message.text) for message in draft.messages),
            preference=preference,
            summaries=summaries,
            can_summarise=draft.summarize is not None,
            tool_messages=sum(message.role == "tool" or bool(message.tool_calls) for message in draft.messages),
        )
        name, reason = StrategyName(choice.strategy), choice.reason
    return strategy_of(name, draft.settings, len(draft.messages)), reason


def _limit(draft: Draft, rule: Strategy, budget: int, *, asked: StrategyName) -> int | None:
    """Tokens of the conversation's part of a window that is cut; `None` if it need not be."""
    settings, conversation = draft.settings, draft.conversation
    whole, room = conversation.tokens + draft.around, budget - draft.around
    talk = sum(group.talk for group in conversation.groups)
    trigger = max(0, share(budget, settings.trigger_ratio) - settings.reply_reserve)
    above = whole > trigger or (settings.most_messages is not None and talk > settings.most_messages)
    # Who asks for a number of rounds by name gets them, whatever fits besides.
    by_name = asked is rule.name and rule.rounds is not None
    if whole <= budget and (talk < settings.least_messages or not (above or by_name)):
        return None
    least = sum(conversation.groups[index].tokens for index in draft.must)
    limit = min(room, share(budget, settings.keep_ratio))
    reserve = summary_reserve(conversation, draft.must, settings, limit) if rule.summarises and draft.summarize else 0
    limit = min(room, max(limit, least + reserve))
    return limit if conversation.tokens > limit or rule.oldest(conversation) > 0 else None


# --- the window ------------------------------------------------------------------------------------------------------


def _window(draft: Draft, rule: Strategy, reason: str, selection: Selection, clipped: tuple[Clipped, ...]) -> Window:
    conversation, summary = draft.conversation, selection.summary
    groups = conversation.groups
    kept = [ref for index in sorted(selection.kept) for ref in groups[index].refs]
    out = [index for index in range(len(groups)) if index not in selection.kept]
    removed = [ref.seq for index in out for ref in groups[index].refs]
    placed = _placed(draft, kept, summary)
    tokens = draft.around + sum(ref.tokens for ref in kept) + (summary.tokens if summary else 0)
    left_out = sum(one.tokens_left_out for one in clipped)
    stats = WindowStats(
        optimization_applied=bool(removed or clipped),
        messages_removed=len(removed),
        tokens_saved=conversation.tokens + draft.around + left_out - tokens,
        strategy_chosen=rule.name,
        strategy_reason=reason,
        summary_generated=summary is not None,
        clipped=clipped,
    )
    return Window(
        messages=tuple(message for _, message in placed),
        indexes=tuple(index for index, _ in placed),
        tokens=tokens,
        dropped=() if summary else tuple(_dropped(conversation, rule, out)),
        summarised=tuple(_spans(removed)) if summary else (),
        summary=summary.text if summary else "",
        strategy=rule.name,
        reason=reason,
        stats=stats,
    )


def _placed(draft: Draft, kept: Sequence[MessageRef], summary: Shown | None) -> list[tuple[int | None, Message]]:
    """The messages of a window in the order of its parts, each with its index in the conversation."""
    own = [(ref.seq, draft.messages[ref.seq]) for ref in kept]
    block = next((place for place, ref in enumerate(kept) if ref.role not in SYSTEM_ROLES), len(kept))
    newest = max((place for place, ref in enumerate(kept) if ref.role == "user"), default=len(kept))
    parts: dict[Part, Sequence[tuple[int | None, Message]]] = {
        Part.SETTINGS: _added(draft.personal),
        Part.SYSTEM: own[:block],
        Part.SUMMARY: _added(summary.message if summary else None),
        Part.CONVERSATION: own[block:newest],
        Part.MEMORY: _added(draft.memory),
        Part.NEWEST: own[newest:],
    }
    return [placed for part in draft.settings.order for placed in parts[part]]


def _added(message: Message | None) -> list[tuple[int | None, Message]]:
    return [] if message is None else [(None, message)]


def _dropped(conversation: Conversation, rule: Strategy, out: Sequence[int]) -> Iterator[tuple[int, str]]:
    oldest = rule.oldest(conversation) if rule.rounds is not None else 0
    for index in out:
        reason = OVER_BUDGET
        if rule.summarises:
            reason = NO_SUMMARY
        elif index < conversation.first_request:
            reason = BEFORE_FIRST_REQUEST
        elif index < oldest:
            reason = OLDER_THAN_ROUNDS
        yield from ((ref.seq, reason) for ref in conversation.groups[index].refs)


def _spans(indexes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of indexes that follow each other, first and last."""
    for _, run in groupby(enumerate(sorted(indexes)), key=lambda at: at[1] - at[0]):
        members = [index for _, index in run]
        yield members[0], members[-1]
