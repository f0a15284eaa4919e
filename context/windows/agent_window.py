"""The window of an agent's model call, planned by reference and rendered when the call is made.

Order: instructions, summary of the session, the session's conversation in sequence, replies of the agents that this one
depends on, the task's input (the newest user message), then the agent's own thread with its summary. The stable part
comes first, so that prompt caches of providers stay warm.

Each stored message of the two conversations is exactly one of: verbatim, covered by the summary that is shown, or
dropped with a reason (invariant 7). A window fits its budget, or planning raises an error (invariant 8).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from purser.context.compression.ranges import choose_range
from purser.context.compression.summaries import summary_message
from purser.context.conversation.conversations import Conversation
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.errors import WindowTooSmall
from purser.context.settings import ContextSettings
from purser.context.tokens import PER_CONVERSATION
from purser.context.windows.engine import OVER_BUDGET, Cutter, Room, Selection, choose_rule, is_crowded
from purser.context.windows.plans import Dropped, MemoryRef, PersonalRef, TextRef, View, WindowPlan


def plan_window(
    settings: ContextSettings,
    *,
    budget: int,
    system_tokens: int,
    session: Conversation,
    question: TextRef,
    replies: Sequence[TextRef] = (),
    own: Conversation,
    left: int | None = None,
    personal: PersonalRef | None = None,
    memory: MemoryRef | None = None,
) -> WindowPlan:
    """Plans the window of one call.

    Args:
        settings: settings of the agent.
        budget: tokens for everything but instructions and tools, from `ContextSettings.context_budget`.
        system_tokens: counted tokens of instructions and tool definitions.
        session: the session's own conversation as of the start of the task, without the task's input.
        question: the task's input.
        replies: replies of the agents that this one depends on, in the order of the task file.
        own: the agent's own thread.
        left: tokens that the agent may still spend on input; `None` for no limit. The window is cut to it as far as
            possible; required messages may exceed it, and the ledger then decides.
        personal: personal settings of the user.
        memory: search results, left out if they do not fit, and documents, which are required.

    Raises:
        WindowTooSmall: the required messages exceed the budget.
    """
    limit = budget if left is None else max(0, min(budget, left))
    asked = (session, *replies, question, own, personal, memory)
    whole = PER_CONVERSATION + sum(one.tokens for one in asked if one is not None)
    parameters = settings.parameters
    crowded = is_crowded(parameters, tokens=whole, budget=limit)
    rule, _ = choose_rule(
        settings.strategy,
        parameters,
        (*session.groups, *own.groups),
        messages=session.count + 1,
        crowded=crowded,
        preference=settings.preference,
        summaries=max(one.summary.version if one.summary else 0 for one in (session, own)),
        can_summarize=settings.compresses,
        question_tokens=question.tokens,
    )
    of_session, of_own = Cutter(session, rule, question_follows=True), Cutter(own, rule.of_thread)
    parts = {
        "instructions and tools": system_tokens,
        "personal settings": personal.tokens if personal else 0,
        "documents": memory.documents_tokens if memory else 0,
        "input": question.tokens + PER_CONVERSATION,
        "first user message, pins, system messages and open calls of the session": of_session.least,
        "last step, pins, system messages and open calls of the agent": of_own.least,
    }
    least = sum(parts.values()) - system_tokens
    if least > budget:
        raise WindowTooSmall(parts, budget=budget)
    room = Room(max(limit, least) - least)
    shown = [reply for reply in replies if room.takes(reply.tokens)]
    own_summary, session_summary = (room.takes(one.summary.tokens) if one.summary else False for one in (own, session))
    if memory is not None and not room.takes(memory.tokens - memory.documents_tokens):
        memory = memory.documents
    own_selection = of_own.select(of_own.least + room.left, parameters)
    room.takes(of_own.tokens(own_selection.verbatim) - of_own.least)
    session_selection = of_session.select(of_session.least + room.left, parameters)
    return WindowPlan(
        budget=limit,
        system_tokens=system_tokens,
        session=_show(of_session, session_selection, with_summary=session_summary),
        replies=tuple(shown),
        question=question,
        own=_show(of_own, own_selection, with_summary=own_summary),
        dropped_replies=tuple(reply for reply in replies if reply not in shown),
        compress=_to_compress(settings, (session, own), limit, crowded=crowded) if rule.summarizes else None,
        strategy=rule.name,
        personal=personal,
        memory=memory,
    )


def render(
    plan: WindowPlan,
    messages: Mapping[int, StoredMessage],
    summaries: Mapping[str, str],
    instructions: str,
    *,
    personal: Message | None = None,
    memory: Message | None = None,
) -> list[dict[str, Any]]:
    """Renders the messages of the call in the format of the OpenAI chat API.

    Args:
        plan: the plan of the window.
        messages: by sequence number, at least `plan.seqs`: what `Conversations.read` returns.
        summaries: text by thread, of `plan.versions`: what `Summaries.texts` returns.
        instructions: the agent's system prompt.
        personal: the message of `plan.personal`.
        memory: the message of `plan.memory`.
    """
    found = [
        *filter(None, [personal]),
        Message("system", instructions),
        *_render_view(plan.session, messages, summaries),
        *(_render_reply(reply, messages[reply.seq].message) for reply in plan.replies),
        *filter(None, [memory]),
        messages[plan.question.seq].message,
        *_render_view(plan.own, messages, summaries),
    ]
    return [message.to_openai() for message in found]


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
        if (crowded or one.count > settings.history_window_size) and (span := choose_range(one, settings, budget))
    ]
    return max(found)[1] if found else None


def _show(cutter: Cutter, selection: Selection, *, with_summary: bool) -> View:
    conversation = cutter.conversation
    shown = [conversation.groups[index] for index in sorted(selection.verbatim)]
    summary = conversation.summary
    dropped = _dropped(cutter, selection)
    if conversation.omitted is not None:
        dropped = [*dropped, Dropped(*conversation.omitted, OVER_BUDGET)]
    if summary is not None and not with_summary:
        dropped = [*dropped, Dropped(summary.first_seq, summary.last_seq, OVER_BUDGET)]
    return View(
        thread=conversation.thread,
        seqs=tuple(seq for group in shown for seq in group.seqs),
        summary=summary if with_summary else None,
        dropped=tuple(sorted(dropped, key=lambda one: one.first_seq)),
        tokens=cutter.tokens(selection.verbatim) + (summary.tokens if summary is not None and with_summary else 0),
    )


def _dropped(cutter: Cutter, selection: Selection) -> list[Dropped]:
    """Runs of dropped groups with the same reason; a summary or an omitted range between two groups ends a run."""
    conversation = cutter.conversation
    groups, watermark = conversation.groups, conversation.summary.last_seq if conversation.summary else 0
    runs: list[Dropped] = []
    next_of_run = None
    for index, reason in cutter.dropped(selection):
        group = groups[index]
        side = (group.first_seq > watermark, index >= conversation.included_from)
        if runs and next_of_run == (index, reason, side):
            runs[-1] = replace(runs[-1], last_seq=group.last_seq)
        else:
            runs.append(Dropped(group.first_seq, group.last_seq, reason))
        next_of_run = (index + 1, reason, side)
    return runs


def _render_view(view: View, messages: Mapping[int, StoredMessage], summaries: Mapping[str, str]) -> Iterator[Message]:
    if view.summary is not None:
        yield summary_message(view.summary.first_seq, view.summary.last_seq, summaries[view.thread])
    yield from (messages[seq].message for seq in view.seqs)


def _render_reply(reply: TextRef, message: Message) -> Message:
    # Providers allow fewer characters in a name than an id may contain.
    return Message("user", message.text, name=re.sub(r"[^A-Za-z0-9_-]", "_", reply.agent_id)[:64])
