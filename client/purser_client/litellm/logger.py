"""A callback of LiteLLM: every request that it sends is a call of its own."""

import logging
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Unpack

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import CallTypes

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.course import NOTHING
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.errors import CannotHold, PurserError
from purser_client.litellm.final import UnheldCall, final
from purser_client.litellm.request import HELD, held, limit_of, messages_of, model_of, tools_of
from purser_client.usage import plain

_KEY = "purser_key"
_UNHELD = "LiteLLM asks nobody before %s of %s: no hold covers it"

log = logging.getLogger("purser_client")


class PurserLogger(CustomLogger):
    """Holds before a call that is awaited, and settles after it, also where a Router makes it.

    Held are `acompletion`, `atext_completion`, `aresponses` and `aembedding`.

    Calls of other kinds are refused. Put it last in `litellm.callbacks`.

    LiteLLM calls nobody when its caller is cancelled or leaves a stream. The lease ends such a call, and charges its
    estimate. It is not renewed, because nobody says when to stop: a call that outlasts it is charged its estimate until
    it reports.
    """

    _open: ClassVar[dict[str, AsyncCall]] = {}
    """By key. Of a class only the first callback that LiteLLM has seen gets events, also of calls that others hold."""

    def __init__(
        self, purser: AsyncPurser, /, *, unheld: Literal["refuse", "pass"] = "refuse", **options: Unpack[CallOptions]
    ) -> None:
        """Makes a callback.

        Args:
            purser: The client of the gateway, open as long as LiteLLM is called, in the same event loop.
            unheld: What becomes of calls that cannot be held; those that pass are in the log.
            options: How calls are held, see `CallOptions`.
        """
        super().__init__()
        self._purser = purser
        self._refuses = unheld == "refuse"
        self._options = options

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: CallTypes | None
    ) -> dict[str, Any] | None:
        """Holds. Raises `NotAdmitted`, or what else kept the gate from answering, before anything is sent."""
        outer = self._open.get(_details(kwargs).get(_KEY, ""))
        if call_type not in HELD:
            # Of calls that are not awaited it asks before this one only, in an event loop that is not the client's.
            awaited = call_type is not CallTypes.responses
            if self._refuses and outer is None and awaited:
                raise final(_cannot_hold(getattr(call_type, "value", call_type), model_of(kwargs)))
            return None
        if outer is not None:
            # LiteLLM answers some calls by one of another kind, which sends the same request.
            return held(kwargs, call_type, outer.max_tokens)
        try:
            call = self._purser.call(
                **asked(self._options, limit_of(kwargs, call_type)),
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
        return held(kwargs, call_type, max_tokens)

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
            await _charge(call, response_obj)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Settles a stream that broke off by what LiteLLM has counted of it, or by what has arrived."""
        if (call := self._ended(kwargs)) is None:
            return
        if (usage := kwargs.get("combined_usage_object")) is not None:
            await call.charge({"input": usage.prompt_tokens, "output": usage.completion_tokens, "estimated": True})
        else:
            await call.end(kwargs.get("exception"))

    async def async_post_call_streaming_deployment_hook(
        self, request_data: Mapping[str, Any], response_chunk: Any, call_type: CallTypes | None
    ) -> None:
        """Notes what arrives of a stream of `aresponses`. Of others LiteLLM shows only the end, and counts them."""
        if (call := self._open.get(_details(request_data).get(_KEY, ""))) is not None:
            call.arrived(response_chunk)

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: dict[str, Any]) -> None:
        """Stops a request that is not held, or says that it passes.

        Raises:
            UnheldCall: nothing is sent.
        """
        if kwargs.get(_KEY) in self._open:
            return
        kind = kwargs.get("call_type")
        if any(isinstance(one, PurserLogger) and one._refuses for one in litellm.callbacks):
            raise UnheldCall(str(_cannot_hold(kind, model)))
        log.warning(_UNHELD, kind, model)

    def _ended(self, details: Mapping[str, Any]) -> AsyncCall | None:
        """The call of a request, the first time that LiteLLM says how it ended."""
        return self._open.pop(details.get(_KEY, ""), None)


def _cannot_hold(kind: Any, model: Any) -> CannotHold:
    remedy = "await a call that is held, such as acompletion, call the proxy, or let it pass with unheld='pass'"
    return CannotHold(f"{_UNHELD % (kind, model)}; {remedy}")


def _details(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """What LiteLLM notes of a request, of which some hooks get only its parameters, and some the notes themselves."""
    logging = request.get("litellm_logging_obj") or request.get("litellm_params", {}).get("litellm_logging_obj")
    details: Mapping[str, Any] = request if logging is None else logging.model_call_details
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
    reply = getattr(response, "response", response)  # that of the event which ends a stream of Responses
    usage = plain(getattr(reply, "usage", None))
    await call.charge(usage if usage and usage["total_tokens"] else None)
