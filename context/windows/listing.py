"""The window of one conversation whose texts are at hand: of a list of messages, or of a stored session.

It is pure: the same messages and settings give the same window. Each message is verbatim in it, covered by a summary,
or listed as dropped with a reason, and exactly one of them; the window fits its budget, or building it is an error that
names what does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from purser.context.compression.extraction import extract
from purser.context.conversation.conversations import Conversation, MessageRef, total
from purser.context.conversation.messages import SYSTEM_ROLES, Message
from purser.context.errors import InvalidSettings
from purser.context.settings import share
from purser.context.strategies import WINDOW_PRESETS, Part, StrategyName, StrategySettings, WindowPreset
from purser.context.strategies.choice import Preference
from purser.context.tokens import count_message
from purser.context.windows.builder import Clipped, Summarize, WindowBuilder, clip_to_fit
from purser.context.windows.engine import OVER_BUDGET, Cutter, Selection, choose_rule, is_crowded


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
    """Runs of messages that summaries cover, first and last."""
    summary: str
    """Text of the one that was written for this window; empty if there is none."""
    strategy: StrategyName
    reason: str
    """Why this strategy."""
    stats: WindowStats
    version: int = 0
    """Of the stored summary that is shown; 0: none is."""


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
    """Builds the window of one call from a list of messages.

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
    if counts is None:
        counts = [count_message(message.to_openai(), model).tokens for message in messages]
    refs = (
        MessageRef(index, message.role, tokens, message.call_ids, message.tool_call_id, message.pinned)
        for index, (message, tokens) in enumerate(zip(messages, counts, strict=True))
    )
    name, figures, why = resolve_strategy(strategy, preset, settings)
    builder = WindowBuilder(
        conversation=Conversation("", tuple(refs), keeps_first_request=figures.keeps_first_request),
        texts=dict(enumerate(messages)),
        model=model,
        strategy=name,
        reason=why,
        figures=figures,
        preference=Preference(preference),
        summaries=summaries,
        characters=sum(len(message.text) for message in messages),
        personal=personal,
        memory=memory,
        summarize=summarize,
    )
    return build(builder, budget)


def resolve_strategy(
    strategy: str | None, preset: str | None, settings: StrategySettings | None, default: str = StrategyName.THREE_PART
) -> tuple[StrategyName, StrategySettings, str]:
    """The strategy that is wanted, its figures, and why this one; raises `InvalidSettings`."""
    if preset is not None and preset not in WINDOW_PRESETS:
        raise InvalidSettings(f"preset {preset[:80]!r} is not known: use one of {', '.join(WINDOW_PRESETS)}")
    known = WindowPreset(StrategyName(default)) if preset is None else WINDOW_PRESETS[preset]
    name = known.strategy if strategy is None else strategy
    if name not in list(StrategyName):
        raise InvalidSettings(f"strategy {name[:80]!r} is not known: use one of {', '.join(StrategyName)}")
    why = "asked for" if strategy else f"the default of preset {preset}" if preset else "the default"
    return StrategyName(name), settings or known.settings, why


def build(builder: WindowBuilder, budget: int) -> Window:
    """The window of a draft, of so many tokens; raises `WindowTooSmall`."""
    rule, why = choose_rule(
        builder.strategy,
        builder.figures,
        builder.conversation.groups,
        messages=builder.conversation.count,
        crowded=_is_crowded(builder, budget),
        preference=builder.preference,
        summaries=builder.summaries,
        can_summarize=builder.summarize is not None,
        characters=builder.characters,
    )
    if builder.conversation.thread:
        rule = rule.of_thread
    builder, clipped = clip_to_fit(builder, Cutter(builder.conversation, rule).required, budget)
    cutter = Cutter(builder.conversation, rule)
    stored = builder.stored_tokens if cutter.least + builder.around + builder.stored_tokens <= budget else 0
    limit = _limit(builder, cutter, budget, stored)
    selection = cutter.select(limit, builder.figures, builder.write if builder.summarize else None)
    return _window(builder, cutter, why or builder.reason, selection, clipped, stored=stored > 0)


def _is_crowded(builder: WindowBuilder, budget: int) -> bool:
    whole, dialogue_count = builder.conversation.tokens + builder.around, builder.conversation.dialogue_count
    return is_crowded(builder.figures, tokens=whole, budget=budget, messages=dialogue_count)


def _limit(builder: WindowBuilder, cutter: Cutter, budget: int, stored: int) -> int | None:
    """Tokens of the conversation's part of a window that is cut, its stored summary apart; `None` if it need not be."""
    figures, conversation, rule = builder.figures, builder.conversation, cutter.rule
    # Who asks for a number of rounds by name gets them, whatever fits besides.
    cuts = conversation.dialogue_count >= figures.least_messages and (
        _is_crowded(builder, budget) or rule.rounds is not None
    )
    if conversation.tokens + builder.around <= budget and not cuts:
        return None
    room = budget - builder.around - stored
    limit = min(room, share(budget, figures.keep_ratio) - stored)
    reserve = cutter.summary_reserve(figures, limit) if rule.summarizes and builder.summarize else 0
    limit = min(room, max(limit, cutter.least + reserve))
    return limit if total(conversation.groups) > limit or cutter.oldest > 0 else None


# --- the window ------------------------------------------------------------------------------------------------------


def _window(
    builder: WindowBuilder,
    cutter: Cutter,
    reason: str,
    selection: Selection,
    clipped: tuple[Clipped, ...],
    *,
    stored: bool,
) -> Window:
    conversation, summary, rule = builder.conversation, selection.summary, cutter.rule
    groups = conversation.groups
    verbatim = [ref for index in sorted(selection.verbatim) for ref in groups[index].refs]
    included = {ref.seq for group in groups for ref in group.refs}
    covered = [ref.seq for ref in conversation.messages if ref.seq not in included]
    dropped = {
        ref.seq: why
        for index, why in cutter.dropped(selection, asked_summary=builder.summarize is not None)
        for ref in groups[index].refs
    }
    if not stored:
        dropped |= dict.fromkeys(covered, OVER_BUDGET)
    verbatim_seqs = {ref.seq for ref in verbatim}
    removed = [ref.seq for ref in conversation.messages if ref.seq not in verbatim_seqs]
    shown = [one for one in (builder.stored if stored else None, summary.message if summary else None) if one]
    tokens = builder.around + sum(ref.tokens for ref in verbatim) + (summary.tokens if summary else 0)
    tokens += builder.stored_tokens if stored else 0
    placed = _placed(builder, verbatim, shown)
    stats = WindowStats(
        optimization_applied=bool(removed or clipped),
        messages_removed=len(removed),
        tokens_saved=builder.whole_tokens + sum(one.tokens_left_out for one in clipped) - tokens,
        strategy_chosen=rule.name,
        strategy_reason=reason,
        summary_generated=summary is not None,
        clipped=clipped,
    )
    return Window(
        messages=tuple(message for _, message in placed),
        indexes=tuple(index for index, _ in placed),
        tokens=tokens,
        dropped=tuple(sorted(dropped.items())),
        summarised=tuple(_runs([seq for seq in removed if seq not in dropped])),
        summary=summary.text if summary else "",
        strategy=rule.name,
        reason=reason,
        stats=stats,
        version=conversation.summary.version if stored and conversation.summary else 0,
    )


def _placed(
    builder: WindowBuilder, verbatim: Sequence[MessageRef], summaries: Sequence[Message]
) -> list[tuple[int | None, Message]]:
    """The messages of a window in the order of its parts, each with its index in the conversation."""
    own = [(ref.seq, builder.texts[ref.seq]) for ref in verbatim]
    block = next((place for place, ref in enumerate(verbatim) if ref.role not in SYSTEM_ROLES), len(verbatim))
    newest = max((place for place, ref in enumerate(verbatim) if ref.role == "user"), default=len(verbatim))
    parts: Mapping[Part, Sequence[tuple[int | None, Message]]] = {
        Part.SETTINGS: _added(builder.personal),
        Part.SYSTEM: own[:block],
        Part.SUMMARY: _added(*summaries),
        Part.CONVERSATION: own[block:newest],
        Part.MEMORY: _added(builder.memory),
        Part.NEWEST: own[newest:],
    }
    return [placed for part in builder.figures.order for placed in parts[part]]


def _added(*messages: Message | None) -> list[tuple[int | None, Message]]:
    return [(None, message) for message in messages if message is not None]


def _runs(indexes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of indexes that follow each other, first and last."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs
