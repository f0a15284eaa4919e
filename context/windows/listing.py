"""Windows of one conversation with texts: of a list of messages, or of a stored session.

Building is pure: the same messages and settings give the same window. Each message is exactly one of: verbatim, covered
by a summary, or dropped with a reason. The window fits its budget, or building it raises an error that names what does
not fit.
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
    """Statistics of a window."""

    optimization_applied: bool
    """Whether any message was left out or clipped."""
    messages_removed: int
    """Number of messages that are not verbatim in the window."""
    tokens_saved: int
    strategy_chosen: StrategyName
    strategy_reason: str
    summary_generated: bool
    clipped: tuple[Clipped, ...] = ()
    """Messages shown in part."""


@dataclass(frozen=True, slots=True)
class Window:
    """The messages that one call sends to its model."""

    messages: tuple[Message, ...]
    indexes: tuple[int | None, ...]
    """Index of each message in the conversation; `None` for an added message."""
    tokens: int
    """Tokens of the window, as counted by `count_request`."""
    dropped: tuple[tuple[int, str], ...]
    """Indexes and reasons of messages that are neither shown nor covered."""
    summarised: tuple[tuple[int, int], ...]
    """First and last index of each run of covered messages."""
    summary: str
    """Text of the summary written for this window; empty if there is none."""
    strategy: StrategyName
    reason: str
    """Why this strategy was used."""
    stats: WindowStats
    version: int = 0
    """Version of the stored summary shown; 0 if none is."""


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
        messages: the conversation; messages with `pinned` stay verbatim.
        budget: upper bound of the whole window in tokens.
        model: the model whose tokenizer counts.
        strategy: the strategy; by default that of the preset, or `three_part`.
        preset: one of `WINDOW_PRESETS`.
        settings: parameters that replace those of the preset.
        preference: preference by which `auto` chooses.
        summarize: writes the summary; `None` for no summary.
        summaries: how often this conversation was already summarized.
        personal: personal settings of the user, shown first.
        memory: search results and documents, shown before the newest user message.
        counts: tokens of each message, if known.

    Raises:
        WindowTooSmall: the required messages exceed the budget.
        InvalidSettings: there is no such strategy or preset.
    """
    if counts is None:
        counts = [count_message(message.to_openai(), model).tokens for message in messages]
    refs = (
        MessageRef(index, message.role, tokens, message.call_ids, message.tool_call_id, message.pinned)
        for index, (message, tokens) in enumerate(zip(messages, counts, strict=True))
    )
    name, parameters, why = resolve_strategy(strategy, preset, settings)
    builder = WindowBuilder(
        conversation=Conversation("", tuple(refs), keeps_first_request=parameters.keeps_first_request),
        texts=dict(enumerate(messages)),
        model=model,
        strategy=name,
        reason=why,
        parameters=parameters,
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
    """Resolves the requested strategy, its parameters and the reason; raises `InvalidSettings`."""
    if preset is not None and preset not in WINDOW_PRESETS:
        raise InvalidSettings(f"preset {preset[:80]!r} is not known: use one of {', '.join(WINDOW_PRESETS)}")
    known = WindowPreset(StrategyName(default)) if preset is None else WINDOW_PRESETS[preset]
    name = known.strategy if strategy is None else strategy
    if name not in list(StrategyName):
        raise InvalidSettings(f"strategy {name[:80]!r} is not known: use one of {', '.join(StrategyName)}")
    why = "asked for" if strategy else f"the default of preset {preset}" if preset else "the default"
    return StrategyName(name), settings or known.settings, why


def build(builder: WindowBuilder, budget: int) -> Window:
    """Builds the window within a budget in tokens; raises `WindowTooSmall`."""
    rule, why = choose_rule(
        builder.strategy,
        builder.parameters,
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
    stored = builder.stored_tokens if cutter.least + builder.overhead + builder.stored_tokens <= budget else 0
    limit = _limit(builder, cutter, budget, stored)
    selection = cutter.select(limit, builder.parameters, builder.write if builder.summarize else None)
    return _window(builder, cutter, why or builder.reason, selection, clipped, stored=stored > 0)


def _is_crowded(builder: WindowBuilder, budget: int) -> bool:
    whole, dialogue_count = builder.conversation.tokens + builder.overhead, builder.conversation.dialogue_count
    return is_crowded(builder.parameters, tokens=whole, budget=budget, messages=dialogue_count)


def _limit(builder: WindowBuilder, cutter: Cutter, budget: int, stored: int) -> int | None:
    """Tokens for the conversation in a cut window, without its stored summary; `None` if nothing needs to be cut."""
    parameters, conversation, rule = builder.parameters, builder.conversation, cutter.rule
    # A strategy with a number of rounds limits them even if more would fit.
    cuts = conversation.dialogue_count >= parameters.least_messages and (
        _is_crowded(builder, budget) or rule.rounds is not None
    )
    if conversation.tokens + builder.overhead <= budget and not cuts:
        return None
    room = budget - builder.overhead - stored
    limit = min(room, share(budget, parameters.keep_ratio) - stored)
    reserve = cutter.summary_reserve(parameters, limit) if rule.summarizes and builder.summarize else 0
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
        for index, why in cutter.dropped(selection, summary_requested=builder.summarize is not None)
        for ref in groups[index].refs
    }
    if not stored:
        dropped |= dict.fromkeys(covered, OVER_BUDGET)
    verbatim_seqs = {ref.seq for ref in verbatim}
    removed = [ref.seq for ref in conversation.messages if ref.seq not in verbatim_seqs]
    shown = [one for one in (builder.stored if stored else None, summary.message if summary else None) if one]
    tokens = builder.overhead + sum(ref.tokens for ref in verbatim) + (summary.tokens if summary else 0)
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
    """The messages of a window in the order of its parts, each with its index."""
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
    return [placed for part in builder.parameters.order for placed in parts[part]]


def _added(*messages: Message | None) -> list[tuple[int | None, Message]]:
    return [(None, message) for message in messages if message is not None]


def _runs(indexes: Sequence[int]) -> list[tuple[int, int]]:
    """First and last index of each run of consecutive indexes."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs
