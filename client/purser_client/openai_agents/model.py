"""A model under a budget: every request of the runner, its retries included, is a call of its own."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Unpack

from agents import (
    AgentOutputSchemaBase,
    Handoff,
    Model,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    Tool,
    TResponseInputItem,
)
from agents.items import TResponseStreamEvent
from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
from openai.types.responses.response_prompt_param import ResponsePromptParam

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.errors import PurserError
from purser_client.openai_agents.counted import limit_of, messages_of, settings_of, tools_of


def name_of(model: Model) -> str | None:
    """The name that a model itself has, without the prefix that has selected its provider."""
    name = getattr(model, "model", None)
    return name if isinstance(name, str) and name else None


class PurserModel(Model):
    """Calls another model, if the budget admits it."""

    def __init__(
        self, purser: AsyncPurser, inner: Model, name: str | None = None, /, **options: Unpack[CallOptions]
    ) -> None:
        """Makes a model.

        Args:
            purser: The client of the gateway.
            inner: The model that is called.
            name: Whose price the money follows; by default the name that `inner` has.
            options: How calls are held, see `CallOptions`.
        """
        self._purser = purser
        self._inner = inner
        self._name = name or name_of(inner)
        self._options = options

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None = None,
        conversation_id: str | None = None,
        prompt: ResponsePromptParam | None = None,
    ) -> ModelResponse:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        async with self._call(system_instructions, input, model_settings, tools, output_schema, handoffs) as call:
            reply = await self._inner.get_response(
                system_instructions,
                input,
                settings_of(model_settings, await call.start()),
                tools,
                output_schema,
                handoffs,
                tracing,
                previous_response_id=previous_response_id,
                conversation_id=conversation_id,
                prompt=prompt,
            )
            # Zero is a provider that does not report: the estimate is charged.
            await call.charge(reply if reply.usage.total_tokens else None)
        return reply

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None = None,
        conversation_id: str | None = None,
        prompt: ResponsePromptParam | None = None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """See base class. Raises `NotAdmitted` before anything is sent."""
        reporting = replace(model_settings, include_usage=model_settings.include_usage is not False)
        async with self._call(system_instructions, input, model_settings, tools, output_schema, handoffs) as call:
            events: Any = self._inner.stream_response(
                system_instructions,
                input,
                settings_of(reporting, await call.start()),
                tools,
                output_schema,
                handoffs,
                tracing,
                previous_response_id=previous_response_id,
                conversation_id=conversation_id,
                prompt=prompt,
            )
            async with aclosing(events), aclosing(call.stream(events)) as counted:
                async for event in counted:
                    yield event
            await call.charge()

    async def close(self) -> None:
        await self._inner.close()

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """See base class. What the budget says is no failure that the runner could repeat away."""
        if isinstance(request.error, PurserError):
            return ModelRetryAdvice(suggested=False, replay_safety="unsafe", reason=str(request.error))
        return self._inner.get_retry_advice(request)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self._inner._cleanup_on_run_end(owner)

    def _call(
        self,
        instructions: str | None,
        input: str | list[TResponseInputItem],
        settings: ModelSettings,
        tools: list[Tool],
        schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
    ) -> AsyncCall:
        return self._purser.call(
            **asked(self._options, limit_of(settings)),
            model=self._name,
            messages=messages_of(instructions, input),
            tools=tools_of(tools, handoffs, schema),
        )
