"""A model under a budget: every request to it is a call of its own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from traceback import walk_tb
from typing import Any, Unpack

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import KnownModelName, Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.pydantic_ai.counted import (
    is_reported,
    is_whole,
    limit_of,
    messages_of,
    tools_of,
    usage_of,
    written_in,
)


class PurserModel(WrapperModel):
    """Calls another model, if the budget admits it."""

    def __init__(
        self, purser: AsyncPurser, wrapped: Model | KnownModelName | str, /, **options: Unpack[CallOptions]
    ) -> None:
        """Makes a model.

        Args:
            purser: The client of the gateway, open as long as agents run.
            wrapped: The model that is called, without the retries of its provider's library.
            options: How calls are held, see `CallOptions`.
        """
        super().__init__(wrapped)
        self._purser = purser
        self._options = options

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        async with self._call(messages, model_settings, model_request_parameters) as call:
            settings = _settings(model_settings, await call.start())
            response = await self.wrapped.request(messages, settings, model_request_parameters)
            await self._settle(call, response)
        return response

    async def compact_messages(
        self, request_context: ModelRequestContext, *, instructions: str | None = None
    ) -> ModelResponse:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        messages, settings = request_context.messages, request_context.model_settings
        if instructions:
            messages = [*messages, ModelRequest.user_text_prompt(instructions)]
        async with self._call(messages, settings, request_context.model_request_parameters) as call:
            request = replace(request_context, model_settings=_settings(settings, await call.start()))
            response = await self.wrapped.compact_messages(request, instructions=instructions)
            await self._settle(call, response)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        async with self._call(messages, model_settings, model_request_parameters) as call:
            settings = _settings(model_settings, await call.start())
            async with self.wrapped.request_stream(
                messages, settings, model_request_parameters, run_context
            ) as streamed:
                try:
                    yield streamed
                except BaseException as error:
                    # The end of the call sends what it knows: a failure to settle here would hide this error.
                    _note(call, streamed, error)
                    raise
                await self._charge(call, streamed.get())

    async def _charge(self, call: AsyncCall, response: ModelResponse) -> None:
        if is_whole(response):
            await self._settle(call, response)
            return
        if text := written_in(response):
            call.arrived(text)
        await call.charge()

    async def _settle(self, call: AsyncCall, response: ModelResponse) -> None:
        await call.charge(usage_of(response.usage) if is_reported(response.usage) else None)

    def _call(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> AsyncCall:
        return self._purser.call(
            **asked(self._options, limit_of(self.wrapped, settings)),
            model=self.wrapped.model_name,
            messages=list(messages_of(messages)),
            tools=list(tools_of(parameters)),
        )


def _note(call: AsyncCall, streamed: StreamedResponse, error: BaseException) -> None:
    """Tells the call what a stream has used that ends with an error."""
    response = streamed.get()
    if is_whole(response):
        call.arrived({"usage": usage_of(response.usage)})
    elif text := written_in(response):
        call.arrived(text)
    elif not _is_raised_by(streamed, error):
        # Without a report, the call would take this for an error of the provider, which may have cost nothing.
        call.arrived({"usage": {"total": call.hold.tokens, "estimated": True}})


def _is_raised_by(streamed: StreamedResponse, error: BaseException) -> bool:
    """Whether an error comes from the stream itself, and not from the code that reads it."""
    return any(frame.f_locals.get("self") is streamed for frame, _ in walk_tb(error.__traceback__))


def _settings(settings: ModelSettings | None, max_tokens: int) -> ModelSettings:
    """With what the hold covers: one request, of this size at most."""
    changed: dict[str, Any] = {**(settings or {}), "max_tokens": max_tokens, "max_retries": 0}
    return ModelSettings(**changed)
