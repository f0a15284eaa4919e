"""What a call saw: the parts of its window plan, in order, each with its state and the reason."""

from collections.abc import Iterator
from dataclasses import dataclass

from purser.context.windows.engine import OVER_BUDGET
from purser.context.windows.explain import State
from purser.context.windows.plans import TextRef, View, WindowPlan
from purser.context.windows.trimming import DOCUMENTS, Remedy, Trim
from purser.wire.enums import CallPart as CallPart

FITS = "fits"
OLD_RESULT = "old_tool_result"
TOO_LARGE = "too_large"
SUMMARIZED = "summary"
_REMEDIES = {Remedy.CLEARED: (State.CLEARED, OLD_RESULT), Remedy.CLIPPED: (State.CLIPPED, TOO_LARGE)}


@dataclass(frozen=True, slots=True)
class Span:
    """Messages of one part that have the same state for the same reason."""

    part: CallPart
    state: State
    reason: str
    """`fits`, `summary`, `old_tool_result`, `too_large`, or why the messages were dropped, such as `over_budget`."""
    first_seq: int | None = None
    """First message; `None` for text that is no message of the session."""
    last_seq: int | None = None
    messages: int | None = None
    """Number of messages; `None` for a range, which other threads may share."""
    tokens: int | None = None
    """Tokens that the window shows, where they are known for the span alone."""
    original_tokens: int | None = None
    """Tokens of a message that is shown in part."""
    version: int | None = None
    """Version of the summary that covers the messages."""
    agent_id: str | None = None
    """Agent that replied."""


def spans(plan: WindowPlan) -> Iterator[Span]:
    """Yields what a window shows of all its parts, and what it leaves out."""
    trims = {trim.seq: trim for trim in plan.in_part}
    if plan.personal is not None:
        yield Span(CallPart.SETTINGS, State.VERBATIM, FITS, tokens=plan.personal.tokens)
    yield from _view(CallPart.SESSION, plan.session, trims)
    yield from (_reply(reply, trims.get(reply.seq)) for reply in plan.replies)
    for reply in plan.dropped_replies:
        seq, agent_id = reply.seq, reply.agent_id
        yield Span(CallPart.REPLIES, State.DROPPED, OVER_BUDGET, seq, seq, 1, 0, agent_id=agent_id)
    if plan.memory is not None:
        yield from _memory(plan, trims)
    seq = plan.question.seq
    yield Span(CallPart.INPUT, State.VERBATIM, FITS, seq, seq, 1, plan.question.tokens)
    yield from _view(CallPart.AGENT, plan.own, trims)


def omissions(plan: WindowPlan) -> set[tuple[str, str]]:
    """Pairs of state and reason by which the window shows some message in part or not at all."""
    return {(one.state.value, one.reason) for one in spans(plan) if one.state is not State.VERBATIM}


def _reply(reply: TextRef, trim: Trim | None) -> Span:
    state, tokens, original = (State.VERBATIM, FITS), reply.tokens, None
    if trim is not None:
        state, tokens, original = _REMEDIES[trim.remedy], trim.tokens, trim.original
    return Span(CallPart.REPLIES, *state, reply.seq, reply.seq, 1, tokens, original, agent_id=reply.agent_id)


def _memory(plan: WindowPlan, trims: dict[int, Trim]) -> Iterator[Span]:
    assert plan.memory is not None
    if trim := trims.get(DOCUMENTS):
        yield Span(CallPart.DOCUMENTS, *_REMEDIES[trim.remedy], tokens=trim.tokens, original_tokens=trim.original)
    elif plan.memory.documents_tokens:
        yield Span(CallPart.DOCUMENTS, State.VERBATIM, FITS, tokens=plan.memory.documents_tokens)
    if plan.memory.found:
        tokens = plan.memory.tokens - plan.memory.documents_tokens
        yield Span(CallPart.MEMORY, State.VERBATIM, FITS, messages=len(plan.memory.found), tokens=tokens)


def _view(part: CallPart, view: View, trims: dict[int, Trim]) -> Iterator[Span]:
    """The spans of a conversation, in sequence."""
    found = [Span(part, State.DROPPED, one.reason, one.first_seq, one.last_seq, tokens=0) for one in view.dropped]
    if (one := view.summary) is not None:
        summary = Span(
            part, State.SUMMARY, SUMMARIZED, one.first_seq, one.last_seq, None, one.tokens, None, one.version
        )
        found.append(summary)
    borders = sorted(seq for span in found for seq in (span.first_seq or 0, span.last_seq or 0))
    run: list[int] = []
    for seq in view.seqs:
        if trim := trims.get(seq):
            found += _run(part, run)
            run = []
            shown = Span(part, *_REMEDIES[trim.remedy], seq, seq, 1, trim.tokens, trim.original)
            found.append(shown)
        elif run and any(run[-1] < border <= seq for border in borders):
            found += _run(part, run)
            run = [seq]
        else:
            run.append(seq)
    found += _run(part, run)
    yield from sorted(found, key=lambda span: span.first_seq or 0)


def _run(part: CallPart, seqs: list[int]) -> list[Span]:
    return [Span(part, State.VERBATIM, FITS, seqs[0], seqs[-1], len(seqs))] if seqs else []
