"""The way to model providers: LiteLLM, told to keep quiet, to try once, and to send keys to their own hosts only."""

import asyncio
import os
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from logging import CRITICAL, getLogger
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from prometheus_client import CollectorRegistry

from activities.call_metrics import CallMetrics
from activities.drafts import Draft
from activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from budget.usage import Usage

T = TypeVar("T")
_HOMES = {
    "openai": "api.openai.com",
    "anthropic": "api.anthropic.com",
    "gemini": "generativelanguage.googleapis.com",
}
"""Hosts of providers whose address LiteLLM does not tell."""
NO_KEY = "none"
"""Sent where no key is configured: LiteLLM would take one from the environment, whoever the host is."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model."""

    model: str
    """As LiteLLM names it."""
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    max_tokens: int
    """Output cap."""
    request_id: str
    """`{hold_id}-{attempt}`, for the provider's log and ours."""
    api_base: str | None = None
    temperature: float | None = None
    """`None`: the provider's own. Left out for models that take none."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds until a request counts as failed."""

    connect_s: float = 10
    silence_s: float = 120
    """Between two chunks, and before the first."""
    total_s: float = 900


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """One request for vectors."""

    model: str
    """As LiteLLM names it."""
    texts: Sequence[str]
    request_id: str
    """`{hold_id}-{attempt}`, for the provider's log and ours."""
    api_base: str | None = None
    dimensions: int | None = None
    """Length of the vectors; `None`: the model's own. Left out for models that have one length only."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The answer to a request for vectors."""

    vectors: tuple[tuple[float, ...], ...]
    """As many as texts, in their order, all of one length."""
    usage: Usage | None
    """As the provider reported it; `None` if it did not."""


class ModelProvider:
    """Model calls. Belongs to one event loop."""

    def __init__(
        self, keys: Mapping[str, str], timeouts: Timeouts | None = None, metrics: CallMetrics | None = None
    ) -> None:
        """Args:
        keys: provider key by host, with its port if it has one of its own.
        timeouts: of every request.
        metrics: where requests are counted.
        """
        self._metrics = metrics or CallMetrics(CollectorRegistry())
        self._keys = keys
        self._timeouts = timeouts or Timeouts()

    async def warm_up(self) -> None:
        """Imports LiteLLM off the event loop: it takes seconds."""
        if _litellm.cache_info().currsize == 0:
            await asyncio.to_thread(_litellm)

    async def complete(self, request: ModelRequest, draft: Draft) -> None:
        """Fills `draft` with the model's reply, chunk by chunk.

        Raises:
            ProviderUnavailable: trying again may help.
            ProviderRejected: it will not.
        """
        try:
            await self._within_limits("chat", lambda: self._stream(request, draft))
        finally:
            self._metrics.used("chat", draft.usage)

    async def embed(self, request: EmbeddingRequest) -> Embeddings:
        """The vectors of some texts.

        Raises:
            ProviderUnavailable: trying again may help.
            ProviderRejected: it will not.
        """
        answer = await self._within_limits("embedding", lambda: self._embed(request))
        self._metrics.used("embedding", answer.usage)
        return answer

    async def _within_limits(self, kind: str, work: Callable[[], Awaitable[T]]) -> T:
        """What LiteLLM answers in time, counted; whatever it raises becomes one of our errors."""
        await self.warm_up()
        began = perf_counter()
        try:
            answer = await self._classified(work)
        except ProviderError as failure:
            self._metrics.failed(kind, failure.reason, failure.status)
            raise
        self._metrics.answered(kind, perf_counter() - began)
        return answer

    async def _classified(self, work: Callable[[], Awaitable[T]]) -> T:
        # It reads deprecated attributes, and its types displease pydantic: where warnings are errors, a reply that is
        # paid for would be lost.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="litellm")
        warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")
        try:
            async with asyncio.timeout(self._timeouts.total_s):
                return await work()
        except TimeoutError:
            raise ProviderUnavailable("timeout", cost=Cost.UNKNOWN) from None
        except ProviderError:
            raise
        except Exception as error:
            failure = classify(error)
            failure.status = _answered(error, failure.reason)
        # Outside the handler: what LiteLLM raised quotes the prompt.
        raise failure

    async def _stream(self, request: ModelRequest, draft: Draft) -> None:
        litellm, limits = _litellm(), self._timeouts
        arguments = self._arguments(request)
        draft.sent = True
        stream = await litellm.acompletion(
            **arguments,
            stream=True,
            stream_options={"include_usage": True},
            timeout=httpx.Timeout(limits.silence_s, connect=limits.connect_s),
            max_retries=0,
            # Tools would otherwise import the proxy, whose dependencies are not installed.
            _skip_mcp_handler=True,
        )
        try:
            async for chunk in stream:
                for choice in chunk.choices[:1]:
                    draft.add(choice.delta.content, choice.delta.tool_calls or (), choice.finish_reason)
        finally:
            # Where the provider reports nothing LiteLLM counts by itself: only what came over the wire is a report.
            for chunk in stream.chunks:
                if getattr(chunk, "usage", None) is not None:
                    draft.report(chunk.usage.model_dump())
            with suppress(Exception):
                await stream.aclose()

    async def _embed(self, request: EmbeddingRequest) -> Embeddings:
        limits = self._timeouts
        answer = await _litellm().aembedding(
            **self._access(request),
            input=list(request.texts),
            # Its own default is base64, which not every provider knows.
            encoding_format="float",
            **({"dimensions": request.dimensions} if request.dimensions else {}),
            drop_params=True,
            timeout=httpx.Timeout(limits.silence_s, connect=limits.connect_s),
            max_retries=0,
        )
        told = answer.model_dump()
        draft = Draft()
        draft.report(told.get("usage") or {})
        in_order = sorted(told["data"], key=lambda item: item["index"])
        return Embeddings(tuple(tuple(item["embedding"]) for item in in_order), draft.usage)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments = self._access(request)
        arguments |= {"messages": list(request.messages), "max_tokens": request.max_tokens}
        if request.tools:
            arguments["tools"] = list(request.tools)
        if request.temperature is not None:
            arguments |= {"temperature": request.temperature, "drop_params": True}
        return arguments

    def _access(self, request: ModelRequest | EmbeddingRequest) -> dict[str, Any]:
        """Where a request goes, and with which key."""
        provider, home = _resolve(request.model, request.api_base)
        arguments: dict[str, Any] = {
            "model": request.model,
            "custom_llm_provider": provider,
            "extra_headers": {"X-Client-Request-Id": request.request_id},
        }
        key = self._key_for(request.api_base or home)
        if request.api_base is not None:
            arguments |= {"api_base": request.api_base, "api_key": key or NO_KEY}
        elif key is not None:
            arguments["api_key"] = key
        elif _lacks_key(request.model):
            # LiteLLM would report it as an error of the server, which is worth trying again.
            raise ProviderRejected("authentication", cost=Cost.NOTHING)
        return arguments

    def _key_for(self, address: str | None) -> str | None:
        parts = urlsplit(address if address and "//" in address else f"//{address or ''}")
        return self._keys.get(parts.netloc) or self._keys.get(parts.hostname or "")


def classify(error: BaseException) -> ProviderError:
    """What a failure means, from its type and status; its text is never looked at."""
    litellm = _litellm().exceptions
    status, cause = getattr(error, "status_code", None), _deepest_http(error)
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return ProviderUnavailable("unreachable", cost=Cost.NOTHING)
    if isinstance(error, litellm.RateLimitError):
        return ProviderUnavailable("rate_limited", cost=Cost.NOTHING, retry_after_ms=_retry_after_ms(error))
    if isinstance(error, litellm.Timeout) or isinstance(cause, httpx.TimeoutException):
        return ProviderUnavailable("timeout", cost=Cost.UNKNOWN)
    if isinstance(error, litellm.ContextWindowExceededError):
        return ProviderRejected("context_window", cost=Cost.NOTHING)
    if isinstance(status, int) and 400 <= status < 500 and status not in (408, 409, 425):
        return ProviderRejected(_REJECTIONS.get(status, "bad_request"), cost=Cost.NOTHING)
    retry_after = _retry_after_ms(error)
    if cause is not None and not isinstance(cause, httpx.HTTPStatusError):
        return ProviderUnavailable("connection_broken", cost=Cost.UNKNOWN, retry_after_ms=retry_after)
    return ProviderUnavailable("server_error", cost=Cost.UNKNOWN, retry_after_ms=retry_after)


_REJECTIONS = {401: "authentication", 402: "payment", 403: "permission", 404: "model_not_found"}


def _answered(error: BaseException, reason: str) -> int | None:
    """The status of the provider's answer. LiteLLM makes one up where there was no answer."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and reason not in _UNANSWERED else None


_UNANSWERED = ("unreachable", "timeout", "connection_broken")


def _deepest_http(error: BaseException) -> httpx.HTTPError | None:
    """The client's own error among the causes."""
    found, seen = None, 0
    cause: BaseException | None = error
    while cause is not None and seen < 16:
        found = cause if isinstance(cause, httpx.HTTPError) else found
        cause, seen = cause.__cause__ or cause.__context__, seen + 1
    return found


def _retry_after_ms(error: BaseException) -> int | None:
    """The provider's own delay; dates are rare enough to be left to our backoff."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    for name, factor in (("retry-after-ms", 1), ("retry-after", 1_000)):
        with suppress(ValueError, OverflowError):
            if (delay := int(float(str(headers.get(name))) * factor)) >= 0:
                return delay
    return None


_TALKATIVE = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")
"""Their debug lines repeat the request."""


@cache
def _litellm() -> Any:
    """LiteLLM without network look-ups, telemetry, callbacks or logs."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    for name in _TALKATIVE:
        getLogger(name).setLevel(CRITICAL + 1)
    litellm: Any = import_module("litellm")
    litellm.disable_hf_tokenizer_download = True
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True
    litellm.turn_off_message_logging = True
    # Of embeddings it takes `max_retries=0` for "not said": they would be asked, and charged, three times.
    litellm.DEFAULT_MAX_RETRIES = 0
    return litellm


def _lacks_key(model: str) -> bool:
    """Whether the provider of a model wants a key and the environment has none."""
    missing: list[str] = _litellm().validate_environment(model=model)["missing_keys"]
    return any(name.endswith("_API_KEY") for name in missing)


def _resolve(model: str, api_base: str | None) -> tuple[str | None, str | None]:
    """LiteLLM's provider for a model, and the address of that provider."""
    litellm = _litellm()
    try:
        _, provider, _, address = litellm.get_llm_provider(model=model)
    except litellm.exceptions.BadRequestError:
        # An address of one's own most often speaks OpenAI's protocol; without one the call fails by itself.
        return ("openai" if api_base else None), None
    return None, address or _HOMES.get(provider)
