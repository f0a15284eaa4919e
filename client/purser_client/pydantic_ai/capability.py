"""A capability: every request of an agent to its model is a call of its own, and durable where the agent is."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Unpack

from pydantic_ai.capabilities import (
    AbstractCapability,
    BatchModelRequests,
    CapabilityOrdering,
    ModelFallback,
    WrapModelRequestHandler,
    durable_operation,
)
from pydantic_ai.durable_exec import BaseDurabilityCapability
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.counting import input_tokens
from purser_client.errors import Problem
from purser_client.pydantic_ai.counted import is_reported, is_whole, limit_of, messages_of, tools_of, usage_of
from purser_client.pydantic_ai.model import PurserModel
from purser_client.types import HoldState

_HELD = "purser_held"
"""The setting of a request that names the hold of its durable operation."""
_TRIES = 50
"""How often one request of an agent may be sent: retries of its activity, and parts of a suspended reply."""

log = logging.getLogger("purser_client")


class PurserCapability(AbstractCapability[Any]):
    """Calls the model of an agent, if the budget admits it.

    In a workflow of a durable engine, the hold and the settlement are operations of their own: activities of Temporal.
    """

    id = "purser"

    def __init__(self, purser: AsyncPurser, /, **options: Unpack[CallOptions]) -> None:
        """Makes a capability.

        Args:
            purser: The client of the gateway, open as long as agents run.
            options: How calls are held, see `CallOptions`.
        """
        self._purser = purser
        self._options = options

    def get_ordering(self) -> CapabilityOrdering:
        """See base class. Innermost, so that what the others make of a request is what is held.

        Batches do not pass the models inside of theirs: with this order, an agent cannot have both capabilities.
        """
        inside = (ModelFallback, BaseDurabilityCapability)
        return CapabilityOrdering(position="innermost", wrapped_by=inside, wraps=(BatchModelRequests,))

    def get_wrapper_model(self, model: Model) -> Model | None:
        """See base class. Called where the request is sent: in a workflow, in the activity."""
        return None if _is_held(model) else _HeldModel(self._purser, model, **self._options)

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """See base class. In its hooks, other capabilities may compact the history with the model of the request."""
        if not _durable(ctx):
            request_context.model = _HeldModel(self._purser, request_context.model, **self._options)
        return await handler(request_context)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if _durable(ctx):
            model, settings = request_context.model, request_context.model_settings
            held = await self.hold(
                ctx,
                # The same when the engine repeats the operation, or the run.
                f"pydantic-ai/{ctx.run_id}/{ctx.run_step}/{request_context.attempt}",
                model.model_name,
                self._count(request_context),
                limit_of(model, settings),
            )
            changed: dict[str, Any] = {**(settings or {}), _HELD: held}
            request_context.model_settings = ModelSettings(**changed)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        held: dict[str, Any] | None = (request_context.model_settings or {}).get(_HELD)
        if held is not None and is_reported(response.usage):
            await self.settle(ctx, held["hold_id"], usage_of(response.usage))
        return response

    def _count(self, request: ModelRequestContext) -> int:
        """Input tokens. Counted in the workflow, because its history would have the messages twice otherwise."""
        messages, tools = messages_of(request.messages), tools_of(request.model_request_parameters)
        return input_tokens(list(messages), list(tools), self._purser._count, request.model.model_name)

    @durable_operation(name="hold")
    async def hold(
        self,
        ctx: RunContext[Any],
        key: str,
        model: str,
        input_tokens: int,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        """Asks the gate; returns how the request joins the hold. Raises `NotAdmitted`."""
        asks = asked(self._options, max_tokens) | {"model": model, "input_tokens": input_tokens, "tries": _TRIES}
        call = self._purser.call(**asks | {"key": key, "attempt": 1})
        await call.admit()
        return {"hold_id": call.hold.hold_id, "asks": asks | {"key": call.key, "attempt": None}}

    @durable_operation(name="settle")
    async def settle(self, ctx: RunContext[Any], hold_id: str, usage: dict[str, int]) -> None:
        """Charges the usage of a reply, if its hold is still open: repeated, it has no effect."""
        try:
            stored = await self._purser.holds.show(hold_id)
            if stored.state == HoldState.HELD:
                await self._purser.holds.settle(hold_id, usage, attempt=stored.attempts)
        except Problem as error:
            if error.problem.retryable:
                raise
            log.warning("hold %s is left to its lease: %s", hold_id, error)


class _HeldModel(PurserModel):
    """Sends requests under the hold of a durable operation, which settles it as well; under a hold of its own if none.

    A request that fails ends the hold; the next one of the same operation then holds anew, and settles that itself.
    """

    _held: dict[str, Any] | None = None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        return await super().request(messages, self._joined(model_settings), model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        settings = self._joined(model_settings)
        async with super().request_stream(messages, settings, model_request_parameters, run_context) as streamed:
            yield streamed

    def _joined(self, settings: ModelSettings | None) -> ModelSettings | None:
        """Takes the hold from the settings."""
        own: dict[str, Any] = {**(settings or {})}
        self._held = own.pop(_HELD, None)
        return ModelSettings(**own) if self._held else settings

    def _call(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> AsyncCall:
        if self._held is None:
            return super()._call(messages, settings, parameters)
        return self._purser.call(**asked(self._options, None) | self._held["asks"])

    async def _settle(self, call: AsyncCall, response: ModelResponse) -> None:
        """Settles, unless the durable operation does: it knows the first hold, and the whole reply."""
        if self._held and is_whole(response) and call.hold.hold_id == self._held["hold_id"]:
            call.leave()
        else:
            await super()._settle(call, response)


def _is_held(model: Model) -> bool:
    """Whether requests to this model are calls already."""
    while isinstance(model, WrapperModel):
        if isinstance(model, _HeldModel):
            return True
        model = model.wrapped
    return False


def _durable(ctx: RunContext[Any]) -> bool:
    """Whether the hooks run in a workflow of a durable engine."""
    found: list[AbstractCapability[Any]] = []
    assert ctx.root_capability is not None
    ctx.root_capability.apply(found.append)
    return any(isinstance(one, BaseDurabilityCapability) and one.in_durable_context for one in found)
