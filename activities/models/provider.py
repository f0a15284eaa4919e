"""The way to model providers: LiteLLM writes the request and reads the answer, `egress` lets both through."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeVar

import httpx
from prometheus_client import CollectorRegistry

from purser.activities.errors import Cost, ProviderError, ProviderUnavailable
from purser.activities.models.egress import Bounds, Departure, Leave, SmallerCap, Ticket
from purser.activities.models.failures import failure_of
from purser.activities.models.litellm_clients import client_of
from purser.activities.models.litellm_library import is_imported, litellm_library, quieten_warnings
from purser.activities.models.metrics import CallMetrics
from purser.activities.models.partial_replies import Draft
from purser.activities.models.routes import Route, route
from purser.budget.usage import Usage

T = TypeVar("T")
_BYTES_PER_VECTOR = 1024 * 1024


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
    """Model calls."""

    def __init__(
        self,
        keys: Mapping[str, str],
        timeouts: Timeouts | None = None,
        metrics: CallMetrics | None = None,
        *,
        allowed: Collection[str] | None = None,
        bounds: Bounds | None = None,
        proxy: str | None = None,
    ) -> None:
        """Args:
        keys: provider key by host, with its port if it has one of its own.
        timeouts: of every request.
        metrics: where requests are counted.
        allowed: providers that may be asked at their own address; `None`: those that have a key.
        bounds: of every answer.
        proxy: address of a proxy that all requests go through.
        """
        self._metrics = metrics or CallMetrics(CollectorRegistry())
        self._keys = keys
        self._timeouts = timeouts or Timeouts()
        self._allowed = allowed
        self._bounds = bounds or Bounds()
        self._proxy = proxy
        self._way: tuple[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport] | None = None

    async def warm_up(self) -> None:
        """Imports LiteLLM off the event loop: it takes seconds."""
        if not is_imported():
            await asyncio.to_thread(litellm_library)
        quieten_warnings()

    async def complete(self, request: ModelRequest, draft: Draft, leave: Leave | None = None) -> None:
        """Fills `draft` with the model's reply, chunk by chunk.

        Args:
            request: what to ask.
            draft: takes the reply.
            leave: asked once the request is ready to be sent. What it raises is raised here, and nothing was sent.

        Raises:
            ProviderUnavailable: trying again may help.
            ProviderRejected: it will not.
        """
        asked = leave or _at_once(request.request_id, request.max_tokens)
        try:
            await self._within_limits("chat", lambda: self._complete(request, draft, asked))
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
        """What a provider answers in time, counted."""
        await self.warm_up()
        began = perf_counter()
        try:
            answer = await work()
        except ProviderError as failure:
            self._metrics.failed(kind, failure.reason, failure.status)
            raise
        self._metrics.answered(kind, perf_counter() - began)
        return answer

    async def _complete(self, request: ModelRequest, draft: Draft, leave: Leave) -> None:
        way = self._route(request)
        try:
            await self._stream(request, draft, leave, way)
        except SmallerCap as smaller:
            await self._stream(replace(request, max_tokens=smaller.cap), draft, leave, way)

    async def _stream(self, request: ModelRequest, draft: Draft, leave: Leave, way: Route) -> None:
        departure = self._departure(
            way, leave, cap=request.max_tokens, most_bytes=self._bounds.reply_bytes(request.max_tokens), streams=True
        )
        draft.most_characters = 16 * request.max_tokens + 64 * 1024
        try:
            await self._classified(departure, lambda: self._read(request, draft, way, departure))
        finally:
            draft.sent = departure.sent

    async def _read(self, request: ModelRequest, draft: Draft, way: Route, departure: Departure) -> None:
        stream = await litellm_library().acompletion(
            **self._access(way, departure),
            **_asked(request),
            stream=True,
            stream_options={"include_usage": True},
            # Tools would otherwise import the proxy, whose dependencies are not installed.
            _skip_mcp_handler=True,
            # Nor is what it needs for the other protocol of OpenAI.
            _skip_responses_api_bridge=True,
        )
        try:
            async for chunk in stream:
                # Where the provider does not say how its reply ended LiteLLM makes up a `stop`.
                finish = stream.received_finish_reason or stream.intermittent_finish_reason
                for choice in chunk.choices[:1]:
                    ended = choice.finish_reason if finish else None
                    draft.add(choice.delta.content, choice.delta.tool_calls or (), ended)
        finally:
            # Where the provider reports nothing LiteLLM counts by itself: only what came over the wire is a report.
            for chunk in stream.chunks:
                if getattr(chunk, "usage", None) is not None:
                    self._report(draft, chunk.usage.model_dump())
            with suppress(Exception):
                await stream.aclose()
        if draft.finish_reason is None:
            raise ProviderUnavailable("incomplete_reply", cost=Cost.UNKNOWN)

    async def _embed(self, request: EmbeddingRequest) -> Embeddings:
        way = self._route(request)
        leave = _at_once(request.request_id, 0)
        most_bytes = _BYTES_PER_VECTOR * (len(request.texts) + 1)
        departure = self._departure(way, leave, cap=0, most_bytes=most_bytes, streams=False)
        return await self._classified(departure, lambda: self._vectors(request, way, departure))

    async def _vectors(self, request: EmbeddingRequest, way: Route, departure: Departure) -> Embeddings:
        answer = await litellm_library().aembedding(
            **self._access(way, departure),
            input=list(request.texts),
            # Its own default is base64, which not every provider knows.
            encoding_format="float",
            **({"dimensions": request.dimensions} if request.dimensions else {}),
            drop_params=True,
        )
        told = answer.model_dump()
        draft = Draft()
        if told.get("usage"):
            self._report(draft, told["usage"])
        in_order = sorted(told["data"], key=lambda item: item["index"])
        return Embeddings(tuple(tuple(item["embedding"]) for item in in_order), draft.usage)

    async def _classified(self, departure: Departure, work: Callable[[], Awaitable[T]]) -> T:
        """What comes of a request; whatever LiteLLM raises becomes one of our errors."""
        try:
            async with asyncio.timeout(self._timeouts.total_s):
                return await work()
        except TimeoutError:
            cost = Cost.UNKNOWN if departure.sent else Cost.NOTHING
            raise ProviderUnavailable("timeout", cost=cost) from None
        except ProviderError as known:
            known.status = departure.status
            raise
        except Exception as error:
            failure: Exception = failure_of(error, departure)
            if departure.failure is not None and not isinstance(departure.failure, ProviderError):
                # Raised by whoever was asked for leave.
                failure = departure.failure
        # Outside the handler: what LiteLLM raised quotes the prompt.
        raise failure

    def _route(self, request: ModelRequest | EmbeddingRequest) -> Route:
        vectors = isinstance(request, EmbeddingRequest)
        return route(request.model, request.api_base, self._keys, self._allowed, vectors=vectors)

    def _departure(self, way: Route, leave: Leave, *, cap: int, most_bytes: int, streams: bool) -> Departure:
        limits = self._timeouts
        timeout = httpx.Timeout(limits.silence_s, connect=limits.connect_s).as_dict()
        return Departure(
            self._transport(), way, self._bounds, leave,
            cap=cap, most_bytes=most_bytes, streams=streams, timeout=timeout, notice=self._metrics.usage_refused,
        )  # fmt: skip

    def _transport(self) -> httpx.AsyncBaseTransport:
        """What connects; connections belong to an event loop."""
        loop = asyncio.get_running_loop()
        if self._way is None or self._way[0] is not loop:
            proxy = None if self._proxy is None else httpx.Proxy(self._proxy)
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
            self._way = loop, httpx.AsyncHTTPTransport(proxy=proxy, limits=limits, retries=0)
        return self._way[1]

    def _access(self, way: Route, departure: Departure) -> dict[str, Any]:
        """Where a request goes, with which key, and through which client."""
        arguments: dict[str, Any] = {
            "model": way.model,
            "custom_llm_provider": way.provider,
            "api_key": way.key,
            "client": client_of(way, departure),
            "timeout": self._timeouts.silence_s,
            "max_retries": 0,
        }
        return arguments | ({"api_base": way.base} if way.own or way.sdk else {})

    def _report(self, draft: Draft, payload: Mapping[str, Any]) -> None:
        if not draft.report(payload):
            self._metrics.usage_refused("unknown_words")


def _asked(request: ModelRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = {"messages": list(request.messages), "max_tokens": request.max_tokens}
    if request.tools:
        arguments["tools"] = list(request.tools)
    if request.temperature is not None:
        arguments |= {"temperature": request.temperature, "drop_params": True}
    return arguments


def _at_once(request_id: str, cap: int) -> Leave:
    """Leave for a request whose attempt has started."""

    async def leave() -> Ticket:
        return Ticket(request_id, cap)

    return leave
