"""`/v1/sessions/{id}/messages/{seq}/calls`: tool calls of agents, for workers that run tools without the database."""

from typing import Annotated

from fastapi import APIRouter, Path

from purser.activities.tools import Tools
from purser.gateway.access.auth import SessionWriter, WorkReader
from purser.gateway.access.roles import Principal
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.gateway.sessions.schemas import Seq, SessionId
from purser.wire.sessions import ToolCallView, ToolResultBody, ToolResultView
from purser.workflows.contract import ToolCall

router = APIRouter(
    route_class=Route, prefix="/v1/sessions/{session_id}/messages/{seq}/calls/{index}", tags=["sessions"]
)

Index = Annotated[int, Path(ge=0, le=2**31 - 1, description="Position among the calls of the message, from 0.")]


@router.get("")
async def show_tool_call(caller: WorkReader, use: Use, session_id: SessionId, seq: Seq, index: Index) -> ToolCallView:
    """Returns a tool call of a stored reply."""
    called = await Tools(use.pool).called(_call(caller, session_id, seq, index))
    return ToolCallView(name=called.name, call_id=called.call_id, arguments=called.arguments)


@router.put("/result")
async def answer_tool_call(
    caller: SessionWriter, use: Use, session_id: SessionId, seq: Seq, index: Index, body: ToolResultBody
) -> ToolResultView:
    """Stores the result of a tool call in the conversation of its agent. If it has one already, that one remains."""
    stored = await Tools(use.pool).store_result(_call(caller, session_id, seq, index), body.text)
    return ToolResultView(seq=stored.seq)


def _call(caller: Principal, session_id: str, seq: int, index: int) -> ToolCall:
    """The call, whose agent is that of the message."""
    return ToolCall(caller.tenant, session_id, task_id="", agent_id="", seq=seq, index=index)
