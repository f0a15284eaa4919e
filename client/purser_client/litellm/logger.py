"""A callback of LiteLLM: every request that it sends is a call of its own."""

import logging
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import CallTypes

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.course import NOTHING
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.errors import PurserError
from purser_client.litellm.final import final
from purser_client.litellm.request import held, limit_of, messages_of, model_of, tools_of

_KEY = "purser_key"

log = logging.getLogger("purser_client")


class PurserLogger(CustomLogger):
    """Holds before `acompletion` and settles after it, also where a Router calls it. The last of `litellm.callbacks`.

    LiteLLM calls nobody when its caller is cancelled or leaves a stream. The lease ends such a call, and charges its
    estimate. It is not renewed, because nobody says when to stop: a call that outlasts it is charged its estimate until
    it reports.
    """

    _open: ClassVar[dict[str, AsyncCall]] = {}
    """By key. Of a class only the first callback that LiteLLM has seen gets events, also of calls that others hold."""

    def __init__(self, purser: AsyncPurser, /, **options: Unpack[CallOptions]) -> None:
        """Makes a callback.

        Args:
            purser: The client of the gateway, open as long as LiteLLM is called, in the same event loop.
            options: How calls are held, see `CallOptions`.
        """
        super().__init__()
        self._purser = purser
        self._options = options

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: CallTypes | None
    ) -> dict[str, Any] | None:
        """Holds. Raises `NotAdmitted`, or what else kept the gate from answering, before anything is sent."""
        if call_type is not CallTypes.acompletion:
            return None
        try:
            call = self._purser.call(
                **asked(self._options, limit_of(kwargs)),
                model=model_of(kwargs),
                messages=messages_of(kwargs),
                tools=tools_of(kwargs),
            )
            max_tokens = await _started(call)
        except PurserError as error:
            raise final(error) from None
        request = kwargs["litellm_logging_obj"]
        request.model_call_details[_KEY] = call.key
        self._open[call.key] = call
        weakref.finalize(request, self._open.pop, call.key, None).atexit = False
        return held(kwargs, max_tokens)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: CallTypes | None
    ) -> None:
        """Settles an answer, before the caller gets it."""
        if (call := self._ended(_details(request_data))) is not None:
            await _charge(call, response)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: CallTypes | None,
        fallback_depth: int | None = None,
    ) -> None:
        """Settles a request that failed, before LiteLLM tries again."""
        if (call := self._ended(_details(request_data))) is not None:
            await call.end(exception)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Settles a stream that has ended, and an answer from LiteLLM's cache, which costs nothing."""
        if (call := self._ended(kwargs)) is None:
            return
        if kwargs.get("cache_hit"):
            await call.settle(NOTHING)
        else:
            for choice in response_obj.choices:
                call.arrived({"choices": [{"delta": choice.message.model_dump()}]})
            await _charge(call, response_obj)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Settles a stream that broke off by what LiteLLM has counted of it."""
        if (call := self._ended(kwargs)) is None:
            return
        if (usage := kwargs.get("combined_usage_object")) is not None:
            await call.settle({"input": usage.prompt_tokens, "output": usage.completion_tokens, "estimated": True})
        else:
            await call.end(kwargs.get("exception"))

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: dict[str, Any]) -> None:
        """Says which requests pass the gate without being asked for."""
        if _KEY not in kwargs:
            log.warning("LiteLLM asks nobody before %s of %s: no hold covers it", kwargs.get("call_type"), model)

    def _ended(self, details: Mapping[str, Any]) -> AsyncCall | None:
        """The call of a request, the first time that LiteLLM says how it ended."""
        return self._open.pop(details.get(_KEY, ""), None)


def _details(request: Mapping[str, Any]) -> Mapping[str, Any]:
    details: Mapping[str, Any] = request["litellm_logging_obj"].model_call_details
    return details


async def _started(call: AsyncCall) -> int:
    await call.admit()
    try:
        return await call.start()
    except BaseException as error:
        await call.end(error)
        raise


async def _charge(call: AsyncCall, response: Any) -> None:
    """Settles by the usage of a reply; where it has none, by the estimate, or what has arrived of a stream."""
    usage = getattr(response, "usage", None)
    if usage is not None and usage.total_tokens:
        await call.settle(usage)
    else:
        await call.end()
