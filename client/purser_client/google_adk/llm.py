"""A model under a budget: every request to it is a call of its own."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Unpack

from google.adk.models import BaseLlm, LLMRegistry, LlmRequest, LlmResponse
from pydantic import PrivateAttr

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.google_adk.counted import limit_of, messages_of, tools_of, usage_of, written_in


class PurserLlm(BaseLlm):
    """Calls another model, if the budget admits it."""

    _purser: AsyncPurser = PrivateAttr()
    _inner: BaseLlm = PrivateAttr()
    _options: CallOptions = PrivateAttr()

    def __init__(self, purser: AsyncPurser, inner: BaseLlm | str, /, **options: Unpack[CallOptions]) -> None:
        """Makes a model.

        Args:
            purser: The client of the gateway, open as long as agents run.
            inner: The model that is called, or its name, without retries of its own.
            options: How calls are held, see `CallOptions`.
        """
        resolved = LLMRegistry.new_llm(inner) if isinstance(inner, str) else inner
        super().__init__(model=resolved.model)
        self._purser = purser
        self._inner = resolved
        self._options = options

    @property
    def capabilities(self) -> Any:
        return self._inner.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """See base class. Raises `NotAdmitted` before anything is sent.

        A whole response is handed on once the call is charged: an agent runs its tools before it asks for the next one.
        """
        whole: list[LlmResponse] = []
        async with self._call(llm_request) as call:
            responses = self._inner.generate_content_async(_capped(llm_request, await call.start()), stream)
            async with aclosing(responses):
                async for response in responses:
                    _note(call, response)
                    whole.append(response)
                    if response.partial:
                        for one in whole:
                            yield one
                        whole.clear()
            await call.charge()
        for one in whole:
            yield one

    def _call(self, request: LlmRequest) -> AsyncCall:
        return self._purser.call(
            **asked(self._options, limit_of(request, self._inner)),
            model=self.model,
            messages=list(messages_of(request)),
            tools=list(tools_of(request)),
        )


def _capped(request: LlmRequest, max_tokens: int) -> LlmRequest:
    config = request.config.model_copy(update={"max_output_tokens": max_tokens})
    return request.model_copy(update={"config": config})


def _note(call: AsyncCall, response: LlmResponse) -> None:
    """Takes the usage of a whole reply, or else what a part of it has written."""
    if response.partial:
        call.arrived(written_in(response))
    elif (usage := usage_of(response)) is not None:
        call.arrived({"usage": usage})
