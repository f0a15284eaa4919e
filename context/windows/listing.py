"""Windows of one conversation with texts: of a list of messages, or of a stored session.

Building is pure: the same messages and settings give the same window. Each message is exactly one of: verbatim, covered
by a summary, or dropped with a reason. The window fits its budget, or building it raises an error that names what does
not fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import Redact, unchanged
from purser.context.conversation.conversations import Conversation, MessageRef, total
from purser.context.conversation.messages import SYSTEM_ROLES, Message
from purser.context.errors import InvalidSettings
from purser.context.strategies import WINDOW_PRESETS, Part, StrategyName, StrategySettings, WindowPreset
from purser.context.strategies.choice import Preference
from purser.context.strategies.settings import share
from purser.context.tokens import count_message
from purser.context.windows.builder import Summarize, WindowBuilder, trim_to_fit
from purser.context.windows.engine import OVER_BUDGET, Cutter, Selection, choose_rule, is_crowded
from purser.context.windows.linking import linked, repaired_seqs, sendable
from purser.context.windows.runs import joined, unread_runs
from purser.context.windows.trimming import Remedy, Trim


@dataclass(frozen=True, slots=True)
class ShownInPart:
    """A message that a window shows in part, because it is too large."""

    index: int
    tokens_left_out: int


@dataclass(frozen=True, slots=True)
class WindowStats:
    """Statistics of a window."""

    optimization_applied: bool
    """Whether any message was left out, or shown in part."""
    messages_removed: int
    """Number of messages that are not verbatim in the window."""
    tokens_saved: int
    strategy_chosen: StrategyName
    strategy_reason: str
    summary_generated: bool
    clipped: tuple[ShownInPart, ...] = ()
    """Messages of which the beginning and the end are shown."""
    cleared: tuple[ShownInPart, ...] = ()
    """Old tool results of which a mark is shown."""


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
    omitted: tuple[tuple[int, int, str], ...] = ()
    """First index, last index and reason of each run of older messages that were not read to build the window. They
    are neither shown nor covered."""
    changed: frozenset[int] = frozenset()
    """Indexes of the messages that it does not show as they are: in part, or as results that do not follow a call."""


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
    redact: Redact = unchanged,
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
        redact: applied to each text before it is summarized.
        summaries: how often this conversation was already summarized.
        personal: personal settings of the user, shown first.
        memory: search results and documents, shown before the newest user message.
        counts: tokens of each message, if known.

    Raises:
        WindowTooSmall: the required messages exceed the budget.
        InvalidSettings: there is no such strategy, preset or preference.
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
        preference=known_preference(preference),
        summaries=summaries,
        characters=sum(len(message.text) for message in messages),
        personal=personal,
        memory=memory,
        summarize=summarize,
        redact=redact,
    )
    return build(builder, budget)


def known_preference(preference: str) -> Preference:
    """The preference of that name; raises `InvalidSettings`."""
    if preference not in list(Preference):
        raise InvalidSettings(f"preference {preference!r:.80} is not known: use one of {', '.join(Preference)}")
    return Preference(preference)


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


@dataclass(frozen=True, slots=True)
class Cut:
    """What a window contains, by reference."""

    builder: WindowBuilder
    cutter: Cutter
    reason: str
    selection: Selection
    trims: tuple[Trim, ...]
    shows_stored: bool
    """Whether it shows the stored summary."""

    @property
    def verbatim(self) -> list[MessageRef]:
        """The messages that it shows, in sequence."""
        groups = self.cutter.conversation.groups
        return [ref for index in sorted(self.selection.verbatim) for ref in groups[index].refs]

    @property
    def tokens(self) -> int:
        """Tokens of the window."""
        written, stored = self.selection.summary, self.builder.stored_tokens if self.shows_stored else 0
        own = self.cutter.tokens(self.selection.verbatim)
        return self.builder.overhead + stored + own + (written.tokens if written else 0)


def build(builder: WindowBuilder, budget: int) -> Window:
    """Builds the window within a budget in tokens; raises `WindowTooSmall`."""
    return window_of(cut(builder, budget))


def cut(builder: WindowBuilder, budget: int) -> Cut:
    """Decides what a window within a budget in tokens contains.

    Raises:
        WindowTooSmall: the required messages exceed the budget.
        TextsMissing: a summary is to be made of messages, or one is to be clipped, that were not read.
    """
    rule, why = choose_rule(
        builder.strategy,
        builder.parameters,
        builder.conversation.figures,
        messages=builder.conversation.count,
        crowded=_is_crowded(builder, budget),
        preference=builder.preference,
        summaries=builder.summaries,
        can_summarize=builder.summarize is not None,
        characters=builder.characters,
    )
    if builder.conversation.thread:
        rule = rule.of_thread
    builder = replace(builder, conversation=linked(builder.conversation, builder.text_tokens))
    builder, cutter, trims = trim_to_fit(
        builder,
        Cutter(builder.conversation, rule, step_tokens=share(budget, builder.parameters.cut_step), seqs=builder.seqs),
        budget,
    )
    stored = builder.stored_tokens if cutter.least + builder.overhead + builder.stored_tokens <= budget else 0
    limit = _limit(builder, cutter, budget, stored)
    selection = cutter.select(limit, builder.parameters, builder.write if builder.summarize else None)
    if not _helps(cutter, selection):
        # The messages fit, and only their number exceeded a trigger: a summary must not make the window larger.
        whole = Selection(frozenset(range(len(cutter.conversation.groups))))
        selection = whole if builder.overhead + stored + cutter.tokens(whole.verbatim) <= budget else selection
    return Cut(builder, cutter, why or builder.reason, selection, trims, stored > 0)


def _helps(cutter: Cutter, selection: Selection) -> bool:
    """Whether a new summary, if there is one, takes fewer tokens than the messages that it covers."""
    if selection.summary is None or cutter.conversation.omitted is not None:
        return True
    others = (one for index, one in enumerate(cutter.conversation.groups) if index not in selection.verbatim)
    return selection.summary.tokens < total(others)


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
    return limit if conversation.figures.tokens > limit or cutter.oldest > 0 else None


# --- the window ------------------------------------------------------------------------------------------------------


def window_of(cut: Cut) -> Window:
    """Renders a window; raises `TextsMissing` if it shows messages that were not read."""
    builder, cutter, selection = cut.builder, cut.cutter, cut.selection
    conversation, summary = cutter.conversation, selection.summary
    groups, stored = conversation.groups, conversation.summary if cut.shows_stored else None
    verbatim = cut.verbatim
    asked = builder.summarize is not None
    dropped = {
        ref.seq: why for index, why in cutter.dropped(selection, summary_requested=asked) for ref in groups[index].refs
    }
    if stored is None and conversation.summary is not None:
        included = {ref.seq for group in groups for ref in group.refs}
        dropped |= {ref.seq: OVER_BUDGET for ref in conversation.messages if ref.seq not in included}
    verbatim_seqs = {ref.seq for ref in verbatim}
    trims = tuple(trim for trim in cut.trims if trim.seq in verbatim_seqs)
    read = (ref.seq for ref in conversation.messages)
    covered = [(seq, seq) for seq in read if seq not in verbatim_seqs and seq not in dropped]
    unread_covered, omitted = unread_runs(conversation, builder.unread.messages)
    left_out = [(first, last, cutter.omitted_reason(selection, summary_requested=asked)) for first, last in omitted]
    if stored is None:
        left_out = sorted([*left_out, *((first, last, OVER_BUDGET) for first, last in unread_covered)])
    else:
        covered += unread_covered
    shown = [one for one in (builder.stored if stored else None, summary.message if summary else None) if one]
    tokens, added = cut.tokens, sum(ref.added for ref in verbatim)
    placed = _placed(builder, verbatim, shown)
    unmatched = (ref.seq for ref in verbatim if ref.added and ref.role == "tool")
    removed_count = len(conversation.messages) + builder.unread.messages - len(verbatim)
    stats = WindowStats(
        optimization_applied=bool(removed_count or trims),
        messages_removed=removed_count,
        tokens_saved=builder.whole_tokens + sum(trim.tokens_left_out for trim in cut.trims) + added - tokens,
        strategy_chosen=cutter.rule.name,
        strategy_reason=cut.reason,
        summary_generated=summary is not None,
        clipped=_in_part(trims, Remedy.CLIPPED),
        cleared=_in_part(trims, Remedy.CLEARED),
    )
    return Window(
        messages=tuple(message for _, message in placed),
        indexes=tuple(index for index, _ in placed),
        tokens=tokens,
        dropped=tuple(sorted(dropped.items())),
        summarised=tuple(joined(covered)),
        summary=summary.text if summary else "",
        strategy=cutter.rule.name,
        reason=cut.reason,
        stats=stats,
        version=stored.version if stored else 0,
        omitted=tuple(left_out),
        changed=frozenset([*(trim.seq for trim in trims), *unmatched]),
    )


def _in_part(trims: Sequence[Trim], remedy: Remedy) -> tuple[ShownInPart, ...]:
    return tuple(ShownInPart(trim.seq, trim.tokens_left_out) for trim in trims if trim.remedy is remedy)


def _placed(
    builder: WindowBuilder, verbatim: Sequence[MessageRef], summaries: Sequence[Message]
) -> list[tuple[int | None, Message]]:
    """The messages of a window in the order of its parts, each with its index."""
    read = [(ref.seq, message) for ref, message in zip(verbatim, builder.texts_of(verbatim), strict=True)]
    own = list(sendable(read, repaired_seqs(verbatim)))
    block = next((place for place, (_, one) in enumerate(own) if one.role not in SYSTEM_ROLES), len(own))
    requests = {ref.seq for ref in verbatim if ref.role == "user"}
    newest = max((place for place, (seq, _) in enumerate(own) if seq in requests), default=len(own))
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
