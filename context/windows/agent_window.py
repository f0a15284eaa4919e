"""The window of an agent's model call, planned by reference and rendered when the call is made.

Parts by default: personal settings, instructions, summary of the session, the session's conversation in sequence with
replies of the agents that this one depends on, memory and documents, the task's input (the newest user message), the
agent's own thread with its summary. The stable part comes first, so that prompt caches of providers stay warm.

Each stored message of the two conversations is exactly one of: verbatim, covered by the summary that is shown, or
dropped with a reason (invariant 7). A window fits its budget, or planning raises an error (invariant 8). Before
anything is dropped, old tool results are cleared; required messages that are too long are clipped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from purser.context.compression.ranges import choose_range
from purser.context.compression.requests import CountText
from purser.context.compression.summaries import summary_message
from purser.context.conversation.conversations import CHARACTERS_PER_TOKEN, Conversation, MessageRef
from purser.context.conversation.messages import Message, StoredMessage, speaker_name
from purser.context.errors import WindowTooSmall
from purser.context.settings import ContextSettings
from purser.context.strategies import Part
from purser.context.strategies.settings import share
from purser.context.tokens import PER_CONVERSATION
from purser.context.windows.engine import OVER_BUDGET, Cutter, Room, Selection, choose_rule, is_crowded
from purser.context.windows.linking import below, repaired_seqs, sendable
from purser.context.windows.plans import Dropped, MemoryRef, PersonalRef, TextRef, View, WindowPlan
from purser.context.windows.trimming import DOCUMENTS, Trims, clear_old_results, fit_required, show_all, trimmed


def plan_window(
    settings: ContextSettings,
    *,
    budget: int,
    system_tokens: int,
    session: Conversation,
    lines: Mapping[int, str] = MappingProxyType({}),
    question: TextRef,
    replies: Sequence[TextRef] = (),
    reply_lines: Mapping[int, int] = MappingProxyType({}),
    own: Conversation,
    question_characters: int | None = None,
    left: int | None = None,
    personal: PersonalRef | None = None,
    memory: MemoryRef | None = None,
    sizes: Mapping[int, int] | None = None,
) -> WindowPlan:
    """Plans the window of one call.

    Args:
        settings: settings of the agent.
        budget: tokens for everything but instructions and tools, from `ContextSettings.context_budget`.
        system_tokens: counted tokens of instructions and tool definitions.
        session: the session's own conversation as of the start of the task, without the task's input.
        lines: lines above its messages, by sequence number, whose tokens `headed` has added.
        question: the task's input.
        replies: replies of the agents that this one depends on, in the order of the task file. They are required.
        reply_lines: tokens of the line above each of them, by sequence number; its tokens include them.
        own: the agent's own thread.
        question_characters: length of the task's input, if known.
        left: tokens that the agent may still spend on input; `None` for no limit. The window is cut to it as far as
            possible, and replies are clipped to it; other required messages may exceed it, and the ledger then decides.
        personal: personal settings of the user.
        memory: search results, left out if they do not fit, and documents, which are required.
        sizes: tokens that the window shows of trimmed messages, by sequence number, as far as counted; the upper bound
            counts for others.

    Raises:
        WindowTooSmall: instructions, input, pins, system messages, required calls and the marks of all other required
            messages exceed the budget. These are otherwise cleared or clipped, as `WindowPlan.trims` lists.
    """
    session, own = settings.seen(session), settings.seen(own)
    limit = budget if left is None else max(0, min(budget, left))
    asked = (session, *replies, question, own, personal, memory.documents if memory else None)
    # Without what memory finds: it takes the room that others leave, and must not trigger a compression.
    whole = PER_CONVERSATION + sum(one.tokens for one in asked if one is not None)
    parameters = settings.parameters
    crowded = is_crowded(parameters, tokens=whole, budget=limit, messages=session.dialogue_count)
    if whole <= limit and session.dialogue_count + own.dialogue_count < settings.min_messages:
        crowded = False
    rule, reason = choose_rule(
        settings.strategy,
        parameters,
        session.figures + own.figures,
        messages=session.count + 1,
        crowded=crowded,
        preference=settings.preference,
        summaries=max(one.summary.version if one.summary else 0 for one in (session, own)),
        can_summarize=settings.compresses,
        question_tokens=question.tokens,
        question_characters=(
            CHARACTERS_PER_TOKEN * question.tokens if question_characters is None else question_characters
        ),
    )
    if not crowded and rule.rounds is None:
        rule = rule.unbounded
    step = share(limit, parameters.cut_step)
    of_session = Cutter(session, rule, question_follows=True, step_tokens=step)
    of_own = Cutter(own, rule.of_thread, step_tokens=step)
    parts = {
        "instructions and tools": system_tokens,
        "personal settings": personal.tokens if personal else 0,
        "documents": memory.documents_tokens if memory else 0,
        "replies of the agents that it depends on": sum(reply.tokens for reply in replies),
        "input": question.tokens + PER_CONVERSATION,
        "first user message, pins, system messages and open calls of the session": of_session.least,
        "last step, pins, system messages and open calls of the agent": of_own.least,
    }
    alone = PER_CONVERSATION + question.tokens + (personal.tokens if personal else 0)
    alone += sum(reply_lines.values())
    documents = [MessageRef(DOCUMENTS, "user", parts["documents"])] if parts["documents"] else []
    answers = [MessageRef(reply.seq, "assistant", reply.tokens - reply_lines.get(reply.seq, 0)) for reply in replies]
    trims = fit_required((of_session, of_own), budget - alone, [*documents, *answers])
    if trims is None:
        raise WindowTooSmall(parts, budget=budget)
    # All remedies are chosen by their upper bounds, so that counting what they show changes none of them.
    bounded = (trimmed(of_session, trims), trimmed(of_own, trims))
    least = alone + _tokens(documents, trims) + sum(cutter.least for cutter in bounded)
    if _tokens(answers, trims) > limit - least:
        # They share what the agent may still spend. If it is too little even for their marks, the ledger decides.
        trims = {**trims, **(fit_required((), limit - least, answers) or {})}
    others = sum(one.tokens for one in (session.summary, own.summary) if one is not None)
    fill = share(limit, parameters.keep_ratio) if crowded else limit
    included = alone + _tokens([*documents, *answers], trims)
    trims = _sized({**trims, **clear_old_results(bounded, fill - included - others)}, sizes)
    of_session, of_own = trimmed(of_session, trims), trimmed(of_own, trims)
    if memory is not None and DOCUMENTS in trims:
        memory = MemoryRef((), trims[DOCUMENTS].tokens, trims[DOCUMENTS].tokens)
    least = alone + _tokens([*documents, *answers], trims) + of_session.least + of_own.least
    if least > budget:
        raise WindowTooSmall(parts, budget=budget)
    room = Room(max(fill, least) - least)
    own_summary, session_summary = (room.takes(one.summary.tokens) if one.summary else False for one in (own, session))
    if memory is not None and not room.takes(memory.tokens - memory.documents_tokens):
        memory = memory.documents
    own_selection = of_own.select(of_own.least + room.left, parameters)
    room.takes(of_own.tokens(own_selection.verbatim) - of_own.least)
    session_selection = of_session.select(of_session.least + room.left, parameters)
    return WindowPlan(
        budget=limit,
        system_tokens=system_tokens,
        session=_show(of_session, session_selection, with_summary=session_summary, lines=lines),
        replies=tuple(
            replace(reply, tokens=_tokens([answer], trims) + reply_lines.get(reply.seq, 0))
            for reply, answer in zip(replies, answers, strict=True)
        ),
        question=question,
        own=_show(of_own, own_selection, with_summary=own_summary),
        compress=_to_compress(settings, (session, own), limit, crowded=crowded) if rule.summarizes else None,
        strategy=rule.name,
        personal=personal,
        memory=memory,
        trims=tuple(trim for _, trim in sorted(trims.items())),
        whole_tokens=whole,
        strategy_reason=reason,
    )


def reply_line(agent_id: str) -> str:
    """The line above the reply of another agent."""
    return f"[reply of the agent {agent_id}:]"


def render(
    plan: WindowPlan,
    messages: Mapping[int, StoredMessage],
    summaries: Mapping[str, str],
    instructions: str,
    *,
    count: CountText,
    personal: Message | None = None,
    memory: Message | None = None,
    order: Sequence[Part] = tuple(Part),
    header: str | None = None,
) -> list[dict[str, Any]]:
    """Renders the messages of the call in the format of the OpenAI chat API.

    Args:
        plan: the plan of the window.
        messages: by sequence number, at least `plan.seqs`: what `Conversations.read` returns.
        summaries: text by thread, of `plan.versions`: what `Summaries.texts` returns.
        instructions: the agent's system prompt.
        count: counts the tokens of a text for the model of the call.
        personal: the message of `plan.personal`.
        memory: the message of `plan.memory`.
        order: order of the parts, as `ContextSettings.order`.
        header: line above summaries, as `ContextSettings.summary_header`.
    """
    texts = {seq: one.message for seq, one in messages.items()}
    if memory is not None:
        texts[DOCUMENTS] = memory
    texts |= show_all(plan.trims, texts, count)
    parts: Mapping[Part, Iterable[Message | None]] = {
        Part.SETTINGS: [personal],
        Part.SYSTEM: [Message("system", instructions)],
        Part.SUMMARY: [_summary_of(plan.session, summaries, header)],
        Part.CONVERSATION: [
            *_messages_of(plan.session, texts),
            *(_render_reply(reply, texts[reply.seq]) for reply in plan.replies),
        ],
        Part.MEMORY: [texts.get(DOCUMENTS)],
        Part.NEWEST: [
            texts[plan.question.seq],
            _summary_of(plan.own, summaries, header),
            *_messages_of(plan.own, texts),
        ],
    }
    shown = [message for part in order for message in parts[part] if message is not None]
    # As the user's: providers move system messages to the front, in front of all that they could have cached.
    return [message.to_openai() for message in (*shown, *([Message("user", plan.closing)] if plan.closing else ()))]


def _to_compress(
    settings: ContextSettings, conversations: Sequence[Conversation], budget: int, *, crowded: bool
) -> str | None:
    """The thread whose compression frees most tokens, among those above the trigger or with too many messages."""
    if not settings.compresses:
        return None
    if omitted := [one.thread for one in conversations if one.omitted]:
        return omitted[0]
    found = [
        (span.freed, one.thread)
        for one in conversations
        if (crowded or one.count > settings.history_window_size)
        and (span := choose_range(one, settings, budget, question_follows=not one.thread))
    ]
    return max(found)[1] if found else None


def _show(
    cutter: Cutter, selection: Selection, *, with_summary: bool, lines: Mapping[int, str] = MappingProxyType({})
) -> View:
    conversation = cutter.conversation
    shown = [ref for index in sorted(selection.verbatim) for ref in conversation.groups[index].refs]
    summary = conversation.summary
    dropped = _dropped(cutter, selection)
    if conversation.omitted is not None:
        dropped = [*dropped, Dropped(*conversation.omitted, cutter.omitted_reason(selection))]
    if summary is not None and not with_summary:
        outside = [one for one in dropped if not summary.first_seq <= one.first_seq <= summary.last_seq]
        dropped = [*outside, Dropped(summary.first_seq, summary.last_seq, OVER_BUDGET)]
    return View(
        thread=conversation.thread,
        seqs=tuple(ref.seq for ref in shown),
        repaired=repaired_seqs(shown),
        lines=tuple((ref.seq, lines[ref.seq]) for ref in shown if ref.seq in lines),
        summary=summary if with_summary else None,
        dropped=tuple(sorted(dropped, key=lambda one: one.first_seq)),
        tokens=cutter.tokens(selection.verbatim) + (summary.tokens if summary is not None and with_summary else 0),
    )


def _messages_of(view: View, texts: Mapping[int, Message]) -> list[Message]:
    lines = dict(view.lines)
    shown = [(seq, below(lines[seq], texts[seq]) if seq in lines else texts[seq]) for seq in view.seqs]
    return [message for _, message in sendable(shown, view.repaired)]


def _tokens(refs: Iterable[MessageRef], trims: Trims) -> int:
    """Tokens of single messages as a window shows them."""
    return sum(trims[ref.seq].tokens if ref.seq in trims else ref.tokens for ref in refs)


def _sized(trims: Trims, sizes: Mapping[int, int] | None) -> Trims:
    """The remedies with the counted tokens, without those that leave nothing out."""
    found = {seq: replace(trim, tokens=(sizes or {}).get(seq, trim.most)) for seq, trim in trims.items()}
    return {seq: trim for seq, trim in found.items() if trim.tokens_left_out}


def _dropped(cutter: Cutter, selection: Selection) -> list[Dropped]:
    """Runs of dropped groups with the same reason; a run ends at covered messages and at an omitted range."""
    conversation = cutter.conversation
    groups, summary = conversation.groups, conversation.summary
    first, last = (summary.first_seq, summary.last_seq) if summary else (1, 0)
    runs: list[Dropped] = []
    next_of_run = None
    for index, reason in cutter.dropped(selection):
        group = groups[index]
        # Inside the range of the summary, each group is a run of its own.
        side = (min(max(group.first_seq, first - 1), last + 1), index >= conversation.included_from)
        if runs and next_of_run == (index, reason, side):
            runs[-1] = Dropped(runs[-1].first_seq, group.last_seq, reason)
        else:
            runs.append(Dropped(group.first_seq, group.last_seq, reason))
        next_of_run = (index + 1, reason, side)
    return runs


def _summary_of(view: View, summaries: Mapping[str, str], header: str | None) -> Message | None:
    if view.summary is None:
        return None
    return summary_message(view.summary.first_seq, view.summary.last_seq, summaries[view.thread], header)


def _render_reply(reply: TextRef, message: Message) -> Message:
    # Only some providers pass names on: for the others, a reply would be the user's own words.
    return below(reply_line(reply.agent_id), Message("user", message.text, name=speaker_name(reply.agent_id)))
