"""A middleware: every request of an agent to its model is a call of its own."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langgraph.types import interrupt

from purser_client.calls.options import CallOptions, asked, trying
from purser_client.client import AsyncPurser, Purser
from purser_client.errors import ApprovalNeeded, PurserError
from purser_client.langchain.arriving import arriving
from purser_client.langchain.counted import limit_of, messages_of, model_of, settings_of, tools_of, usage_of

_TRIES = 50
"""How often one step of a graph may call the model: retries, and runs of the same checkpoint."""


class PurserMiddleware(AgentMiddleware):
    """Calls the model of an agent, if the budget admits it. The last in the list of middleware."""

    def __init__(
        self, purser: Purser | AsyncPurser, /, *, interrupts: bool = False, **options: Unpack[CallOptions]
    ) -> None:
        """Makes a middleware.

        Args:
            purser: The client of the gateway, open as long as agents run: `AsyncPurser` for agents that are awaited,
                `Purser` for all others.
            interrupts: Whether a call that a person has to approve interrupts the graph, which needs a checkpointer,
                instead of raising `ApprovalNeeded`. Resumed with any value, the call asks again.
            options: How calls are held, see `CallOptions`.
        """
        super().__init__()
        self._purser = purser
        self._interrupts = interrupts
        self._options = options

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        if not isinstance(self._purser, Purser):
            raise PurserError("this agent is not awaited: make the middleware with Purser instead of AsyncPurser")
        while True:
            try:
                with self._purser.call(**self._asked(request)) as call:
                    settings = settings_of(request, call.start())
                    with arriving(call):
                        response = handler(request.override(model_settings=settings))
                    call.charge(usage_of(response))
                return response
            except ApprovalNeeded as needed:
                self._interrupt(needed)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        if not isinstance(self._purser, AsyncPurser):
            raise PurserError("this agent is awaited: make the middleware with AsyncPurser instead of Purser")
        while True:
            try:
                async with self._purser.call(**self._asked(request)) as call:
                    settings = settings_of(request, await call.start())
                    with arriving(call):
                        response = await handler(request.override(model_settings=settings))
                    await call.charge(usage_of(response))
                return response
            except ApprovalNeeded as needed:
                self._interrupt(needed)

    def _asked(self, request: ModelRequest[Any]) -> dict[str, Any]:
        """The call. With a checkpointer its key is that of the step, which stays over an interrupt and a crash."""
        step = getattr(request.runtime, "execution_info", None)
        durable = trying(f"langgraph/{step.task_id}", _TRIES) if step and step.thread_id else nullcontext()
        with durable:
            made = asked(self._options, limit_of(request))
        return made | {"model": model_of(request), "messages": messages_of(request), "tools": tools_of(request)}

    def _interrupt(self, needed: ApprovalNeeded) -> None:
        """Ends the run until it is resumed; returns where it has been."""
        if not self._interrupts:
            raise needed
        interrupt({"approval_id": needed.approval_id, "message": str(needed)})
