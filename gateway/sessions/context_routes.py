"""`/v1/sessions`: context of a conversation: windows, summaries, facts, memory and advice."""

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError

from purser.activities.runtime.stores import SessionStores
from purser.budget.labels import tag_texts
from purser.context.conversation.messages import Message
from purser.context.facts import MOST_TOKENS, render_facts
from purser.context.postgres.sessions.windows import WindowRequest
from purser.context.strategies import Preset, StrategyName
from purser.context.strategies.choice import Preference
from purser.context.tokens import count_text
from purser.context.windows.advice import recommend as advise
from purser.context.windows.advice import tool_safety
from purser.context.windows.explain import explain
from purser.gateway.access.auth import SessionWriter, WorkReader
from purser.gateway.access.roles import Principal
from purser.gateway.errors import CompressionFailed, FeatureOff, TemporalUnavailable
from purser.gateway.http.idempotency import OnceOnly
from purser.gateway.http.routing import Route
from purser.gateway.services import Services, Use
from purser.gateway.sessions.reads import AT_A_TIME
from purser.gateway.sessions.schemas import Model, Question, Seq, SessionId, Thread
from purser.gateway.sessions.views import fact_view, summary_view
from purser.gateway.sessions.window_figures import WindowFigures
from purser.gateway.sessions.window_views import places_of, text_window, window_view
from purser.wire.enums import Format, Summarizer
from purser.wire.limits import USUAL_MODEL
from purser.wire.sessions import FactsView, SearchHitView, SearchResultsView, SummariesView
from purser.wire.windows import (
    CompressBody,
    CompressedView,
    ExplanationView,
    Recommendation,
    RecommendBody,
    ToolSafety,
    ToolSafetyBody,
    WindowView,
)
from purser.workflows.contract import CompressSessionInput

router = APIRouter(route_class=Route, prefix="/v1/sessions/{session_id}", tags=["sessions"])

COMPRESSION_TIMEOUT_S = 120.0
"""Seconds for which a request waits for a compression, which continues afterwards."""


Budget = Annotated[int, Query(ge=1, le=2**53 - 1, description="Tokens of the whole window.")]


@router.get("/window", dependencies=[AT_A_TIME])
async def window(
    caller: WorkReader,
    use: Use,
    session_id: SessionId,
    figures: WindowFigures,
    budget: Annotated[Budget | None, Query()] = None,
    model: Model = USUAL_MODEL,
    strategy: StrategyName | None = None,
    preset: Preset | None = None,
    preference: Preference | None = None,
    summarizer: Summarizer = Summarizer.EXTRACTIVE,
    written: Annotated[Format, Query(alias="format")] = Format.MESSAGES,
    thread: Thread = "",
) -> WindowView:
    """Previews the window of a call within a budget, and what happens to the other messages. Changes nothing.

    Without a budget, that of routers applies to a window as text, and the context budget of the model to any other.
    """
    await use.sessions.sessions.get(caller.tenant, session_id)
    if budget is None:
        budget = use.router_budget if written is Format.TEXT else await _budget(use, caller.tenant, session_id, model)
    summarizes = summarizer is not Summarizer.NONE
    wanted = WindowRequest(budget, model, strategy, preset, preference, summarizes, figures.given)
    if written is Format.MESSAGES:
        return window_view(await use.windows.window(caller.tenant, session_id, wanted, thread=thread))
    return await text_window(use.windows, caller.tenant, session_id, wanted, thread)


async def _budget(use: Services, tenant: str, session_id: str, model: str) -> int:
    """Context budget of a model with the settings of a session."""
    settings = (await use.sessions.settings.personal(tenant, session_id)).resolved(use.context).settings
    return max(1, settings.context_budget(settings.window_of(model, use.prices)))


@router.post("/compress")
async def compress(
    caller: SessionWriter, use: Use, session_id: SessionId, once: OnceOnly, body: CompressBody | None = None
) -> CompressedView:
    """Compresses a conversation and waits for the next version of its summary. A second request joins a running one.

    Its calls have the tags of the key that started it.

    With an Idempotency-Key, a repeated request gets the same answer instead of another version.
    """
    await use.sessions.sessions.get(caller.tenant, session_id)
    wanted = body or CompressBody()
    made = await once.recall(caller, CompressedView, partial(_compress, caller, use, session_id, wanted))
    # Not in the stored answer: deleting the session does not delete it.
    texts = await use.sessions.summaries.texts(caller.tenant, session_id, {wanted.thread: made.version})
    return made.model_copy(update={"summary": texts.get(wanted.thread)})


async def _compress(caller: Principal, use: Services, session_id: str, wanted: CompressBody) -> CompressedView:
    """Compresses; returns the figures without the text of the summary."""
    start = CompressSessionInput(
        tenant=caller.tenant,
        session_id=session_id,
        thread=wanted.thread,
        model=wanted.model or "",
        budget_tokens=wanted.budget or 0,
        tags=tag_texts(caller.tags),
    )
    try:
        handle = await use.compressions.start(start)
        done = await asyncio.wait_for(handle.result(), COMPRESSION_TIMEOUT_S)
    except (RPCError, RuntimeError) as error:
        raise TemporalUnavailable.of(error) from error
    except TimeoutError as error:
        raise CompressionFailed("the compression takes long and continues: read the summaries later") from error
    except WorkflowFailureError as error:
        raise CompressionFailed(f"the compression failed ({type(error.cause).__name__}): nothing was stored") from error
    return CompressedView(
        version=done.version,
        summary=None,
        covers=[done.first_seq, done.last_seq] if done.version else None,
        original_tokens=done.tokens_before,
        summary_tokens=done.tokens_after,
        method=done.method or None,
        reason=done.reason or None,
    )


@router.get("/summaries")
async def summaries(
    caller: WorkReader, use: Use, session_id: SessionId, thread: Annotated[Thread | None, Query()] = None
) -> SummariesView:
    """Lists all versions of the summaries of a session, of all threads or one."""
    await use.sessions.sessions.get(caller.tenant, session_id)
    found = await use.sessions.summaries.versions(caller.tenant, session_id, thread)
    return SummariesView(summaries=[summary_view(one) for one in found])


@router.get("/facts", dependencies=[AT_A_TIME])
async def facts(
    caller: WorkReader, use: Use, session_id: SessionId, model: Model = USUAL_MODEL, thread: Thread = ""
) -> FactsView:
    """Lists the facts of a conversation verbatim, the fact sheet of windows, and facts that do not fit on it."""
    await use.sessions.sessions.get(caller.tenant, session_id)
    found = await use.sessions.facts.all(caller.tenant, session_id, thread)
    sheet = await asyncio.to_thread(render_facts, found, MOST_TOKENS, lambda text: count_text(text, model).tokens)
    times = await use.sessions.conversations.times(caller.tenant, session_id, {fact.seq for fact in found})
    return FactsView(
        facts=[fact_view(fact, times[fact.seq]) for fact in found],
        sheet=sheet.text,
        overflow=[fact_view(fact, times[fact.seq]) for fact in sheet.overflow],
    )


@router.get("/messages/{seq}/explain", dependencies=[AT_A_TIME])
async def explain_message(
    caller: WorkReader,
    use: Use,
    session_id: SessionId,
    seq: Seq,
    budget: Annotated[Budget | None, Query()] = None,
    model: Model = USUAL_MODEL,
    strategy: StrategyName | None = None,
    preset: Preset | None = None,
) -> ExplanationView:
    """Explains where a message is, and why: in the stored conversation, or with `budget` in that window."""
    tenant, stores = caller.tenant, use.sessions
    await stores.sessions.get(tenant, session_id)
    thread = (await stores.conversations.read(tenant, session_id, [seq]))[seq].thread
    wanted = None if budget is None else WindowRequest(budget, model, strategy, preset)
    shown = wanted and await use.windows.window(tenant, session_id, wanted, thread=thread)
    summaries = [one.summary for one in await stores.summaries.versions(tenant, session_id, thread)]
    stated = [fact for fact in await stores.facts.all(tenant, session_id, thread) if fact.seq == seq]
    times = await stores.conversations.times(tenant, session_id, [seq])
    found = explain(
        seq,
        await stores.conversations.conversation(tenant, session_id, thread, model=model, whole=True),
        first_version=next((made.version for made in summaries if made.last_seq >= seq and seq not in made.passed), 0),
        pins=await stores.pins.live(tenant, session_id),
        facts=stated,
        places=places_of(shown, seq) if shown else None,
    )
    return ExplanationView(
        seq=seq,
        state=found.states[0],
        states=list(found.states),
        reason=found.reason,
        version=found.version or None,
        facts=[fact_view(fact, times[seq]) for fact in stated],
    )


@router.get("/memory", dependencies=[AT_A_TIME])
async def memory(
    caller: WorkReader,
    use: Use,
    session_id: SessionId,
    q: Question,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    across: Annotated[bool, Query(description="Include the other sessions of the session's user.")] = False,
) -> SearchResultsView:
    """Searches for messages that answer a question, in time order."""
    session = await use.sessions.sessions.get(caller.tenant, session_id)
    if across and not use.memory_across_sessions:
        raise FeatureOff("memory across sessions is off: set PURSER_MEMORY_ACROSS_SESSIONS=true, or leave out across")
    user_id = session.user_id if across else None
    results = await use.sessions.memory.search(caller.tenant, session_id, q, limit=limit, user_id=user_id)
    return SearchResultsView(
        found=[SearchHitView.model_validate(one) for one in results.found], pending=results.pending
    )


@router.post("/recommend", dependencies=[AT_A_TIME])
async def recommend(caller: WorkReader, use: Use, session_id: SessionId, body: RecommendBody) -> Recommendation:
    """Recommends how to fit the conversation into a limit, without changing it."""
    messages = await _messages(use.sessions, caller.tenant, session_id)
    versions = await use.sessions.summaries.versions(caller.tenant, session_id, "")
    found = await asyncio.to_thread(
        advise, messages, body.max_tokens, preference=body.preference, summaries=len(versions), model=body.model
    )
    return Recommendation.model_validate(found)


@router.post("/tool-safety", dependencies=[AT_A_TIME])
async def check_tools(caller: WorkReader, use: Use, session_id: SessionId, body: ToolSafetyBody) -> ToolSafety:
    """Checks whether the conversation still fits a limit after planned tool calls, and recommends what to do."""
    messages = await _messages(use.sessions, caller.tenant, session_id)
    limit, planned = body.limit or body.max_tokens or 1, body.planned_tools or body.tools or 0
    return ToolSafety.model_validate(await asyncio.to_thread(tool_safety, messages, limit, planned, model=body.model))


async def _messages(use: SessionStores, tenant: str, session_id: str) -> list[Message]:
    await use.sessions.get(tenant, session_id)
    return [one.message for one in await use.conversations.read_thread(tenant, session_id)]
