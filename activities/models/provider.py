"""Requests to model providers: LiteLLM builds the request and parses the answer, `egress` transports both."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeVar

import httpx
from prometheus_client import CollectorRegistry

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.chunks import choices_of
from purser.activities.models.egress.connections import pooled_connections
from purser.activities.models.egress.routes import Route, open_providers, route_to
from purser.activities.models.egress.transport import Bounds, OnSend, ProviderTransport, SendPermit, SmallerCap
from purser.activities.models.embedding_requests import EmbeddingRequest, Embeddings
from purser.activities.models.failures import failure_of
from purser.activities.models.library_warnings import quieten_warnings
from purser.activities.models.litellm_clients import client_of
from purser.activities.models.litellm_library import is_imported, litellm_library
from purser.activities.models.metrics import CallMetrics, Requested
from purser.activities.models.partial_replies import PartialReply
from purser.activities.pacing.pacer import Pacer
from purser.activities.runtime.authorities import trusted

T = TypeVar("T")
Covers = Callable[[PartialReply], Awaitable[bool]]
"""Whether a reply may grow beyond what has arrived."""
OnChunk = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Called with each choice of a streamed reply, in the format of the OpenAI API."""
_BYTES_PER_VECTOR = 128 * 1024
"""Most bytes of the vector of a text: 4,096 numbers as JSON take 80 to 90 KiB."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model."""

    model: str
    """Name of the model in LiteLLM."""
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    max_tokens: int
    """Output cap."""
    request_id: str
    """`{hold_id}-{attempt}`, for the provider's log and Purser's."""
    api_base: str | None = None
    temperature: float | None = None
    """`None`: the provider's default. Omitted for models that accept none."""
    text_only: bool = False
    """Whether the model must not call the tools. They are listed all the same: a provider may refuse messages that call
    tools which are not listed, and would miss its prompt cache."""
    tokens: int = 0
    """Tokens that it may use, for the pace of its provider."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters in the format of the OpenAI API, such as `temperature` or `response_format`."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds after which a request has failed."""

    connect_s: float = 10
    silence_s: float = 120
    """Longest pause between two chunks and before the first."""
    total_s: float = 900


AnyRequest = ModelRequest | EmbeddingRequest


@dataclass(frozen=True, slots=True)
class _Follow:
    """What is called with each chunk of a reply."""

    covers: Covers
    on_chunk: OnChunk


class ModelProvider:
    """Sends requests to models."""

    def __init__(
        self,
        keys: Mapping[str, str],
        timeouts: Timeouts | None = None,
        metrics: CallMetrics | None = None,
        *,
        allowed: Collection[str] | None = None,
        bounds: Bounds | None = None,
        proxy: str | None = None,
        pacer: Pacer | None = None,
    ) -> None:
        """Args:
        keys: provider key by host, with the port if it is not the default.
        timeouts: timeouts of every request.
        metrics: counts requests.
        allowed: providers that may be asked at their own address; `None`: those that have a key.
        bounds: bounds of every answer.
        proxy: address of a proxy for all requests.
        pacer: keeps the pace of requests; `None`: no model is limited.
        """
        self._pacer = pacer
        self._metrics = metrics or CallMetrics(CollectorRegistry())
        self._keys = keys
        self._timeouts = timeouts or Timeouts()
        self._allowed = allowed
        self._bounds = bounds or Bounds()
        self._proxy = proxy
        self._connections: tuple[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport] | None = None

    async def warm_up(self) -> None:
        """Imports LiteLLM off the event loop, since that takes seconds."""
        if not is_imported():
            await asyncio.to_thread(litellm_library)
        quieten_warnings()

    async def reaches(self, model: str, api_base: str | None) -> bool:
        """Whether requests to a model have a way: its provider is allowed and has a key, or it is at an `api_base`."""
        await self.warm_up()
        try:
            route_to(model, api_base, self._keys, self._allowed)
        except ProviderRejected:
            return False
        return True

    def providers(self) -> frozenset[str]:
        """Names of the providers to whose own address requests go."""
        return open_providers(self._keys, self._allowed)

    async def pace(self, request: ModelRequest, tenant: str, key: str) -> None:
        """Returns if the pace of its provider allows the request of a call now; otherwise raises `Paced`."""
        if self._pacer is not None:
            await self._pacer.of_call(tenant, key, request.model, request.api_base, request.tokens)

    async def keep_pace(self, request: AnyRequest) -> None:
        """Returns once the pace of its provider allows the request."""
        if self._pacer is not None:
            await self._pacer.of_side_call(request.model, request.api_base, request.tokens)

    async def complete(
        self,
        request: ModelRequest,
        partial: PartialReply,
        on_send: OnSend | None = None,
        covers: Covers | None = None,
        on_chunk: OnChunk | None = None,
    ) -> None:
        """Fills `partial` with the model's reply, chunk by chunk.

        Args:
            request: the request.
            partial: receives the reply.
            on_send: called when the request is ready; if it raises, nothing is sent. By default it keeps the pace.
            covers: called after each chunk; where it returns False, the reply is cut and the request cancelled.
            on_chunk: called with each chunk that is not empty, once it is part of `partial`.

        Raises:
            ProviderUnavailable: a retry may succeed.
            ProviderRejected: a retry will not succeed.
        """
        on_send = on_send or self._permit(request, request.max_tokens)
        follow = _Follow(covers or _always, on_chunk or _ignore)
        route, requested = await self._routed("chat", request)
        try:
            await self._counted(requested, request, lambda: self._complete(request, partial, on_send, follow, route))
        finally:
            self._metrics.used(requested, partial.usage)

    async def embed(self, request: EmbeddingRequest, on_send: OnSend | None = None) -> Embeddings:
        """Returns the vectors of some texts.

        Args:
            request: the request.
            on_send: as in `complete`.

        Raises:
            ProviderUnavailable: a retry may succeed.
            ProviderRejected: a retry will not succeed.
        """
        on_send = on_send or self._permit(request, 0)
        route, requested = await self._routed("embedding", request)
        answer = await self._counted(requested, request, lambda: self._embed(request, on_send, route))
        self._metrics.used(requested, answer.usage)
        return answer

    async def _routed(self, kind: str, request: AnyRequest) -> tuple[Route, Requested]:
        """Finds the way to a model. A request that has none is counted as failed."""
        await self.warm_up()
        vectors = isinstance(request, EmbeddingRequest)
        try:
            route = route_to(request.model, request.api_base, self._keys, self._allowed, vectors=vectors)
        except ProviderRejected as failure:
            self._metrics.failed(Requested(kind), failure.reason, None)
            raise
        return route, Requested(kind, route.label, request.model)

    async def _counted(self, requested: Requested, request: AnyRequest, work: Callable[[], Awaitable[T]]) -> T:
        """Runs a request and counts it."""
        began = perf_counter()
        try:
            answer = await work()
        except ProviderError as failure:
            self._metrics.failed(requested, failure.reason, failure.status)
            if self._pacer is not None and isinstance(failure, ProviderUnavailable):
                await self._pacer.limited(request.model, request.api_base, failure)
            raise
        self._metrics.answered(requested, perf_counter() - began)
        return answer

    async def _complete(
        self, request: ModelRequest, partial: PartialReply, on_send: OnSend, follow: _Follow, route: Route
    ) -> None:
        try:
            await self._stream(request, partial, on_send, follow, route)
        except SmallerCap as smaller:
            await self._stream(replace(request, max_tokens=smaller.cap), partial, on_send, follow, route)

    async def _stream(
        self, request: ModelRequest, partial: PartialReply, on_send: OnSend, follow: _Follow, route: Route
    ) -> None:
        transport = self._provider_transport(
            route,
            on_send,
            cap=request.max_tokens,
            most_bytes=self._bounds.reply_bytes(request.max_tokens),
            streams=True,
        )
        partial.most_characters = 16 * request.max_tokens + 64 * 1024
        try:
            await self._classified(transport, lambda: self._read(request, partial, follow, route, transport))
        finally:
            partial.sent, partial.streamed = transport.sent, transport.streamed
            partial.provider_request_id = transport.provider_request_id
            await transport.close_answer()

    async def _read(
        self, request: ModelRequest, partial: PartialReply, follow: _Follow, route: Route, transport: ProviderTransport
    ) -> None:
        stream = await litellm_library().acompletion(
            **self._connection_arguments(route, transport),
            **_chat_arguments(request),
            stream=True,
            stream_options={"include_usage": True},
            # With tools it would import its proxy, whose dependencies are not installed.
            _skip_mcp_handler=True,
            # Nor are those of OpenAI's Responses API.
            _skip_responses_api_bridge=True,
        )
        choices = choices_of(stream, route.provider, lambda usage: self._report(partial, usage))
        try:
            async with aclosing(choices):
                async for choice in choices:
                    delta, ended = choice["delta"], choice.get("finish_reason")
                    thought = delta.get("reasoning_content") or delta.get("reasoning")
                    # A refusal comes in place of the text, and is charged as such.
                    text = delta.get("content") or delta.get("refusal")
                    partial.add(text, delta.get("tool_calls") or (), ended, thought)
                    if ended or any(delta.values()):
                        await follow.on_chunk(choice)
                    if partial.finish_reason is None and not await follow.covers(partial):
                        partial.cut()
                        break
        finally:
            with suppress(Exception):
                await stream.aclose()
        if partial.finish_reason is None:
            raise ProviderUnavailable("incomplete_reply", cost=Cost.UNKNOWN)

    async def _embed(self, request: EmbeddingRequest, on_send: OnSend, route: Route) -> Embeddings:
        most_bytes = _BYTES_PER_VECTOR * (len(request.texts) + 1)
        transport = self._provider_transport(route, on_send, cap=0, most_bytes=most_bytes, streams=False)
        return await self._classified(transport, lambda: self._vectors(request, route, transport))

    async def _vectors(self, request: EmbeddingRequest, route: Route, transport: ProviderTransport) -> Embeddings:
        answer = await litellm_library().aembedding(
            **self._connection_arguments(route, transport),
            input=list(request.texts),
            # LiteLLM's default is base64, which not every provider supports.
            encoding_format="float",
            **({"dimensions": request.dimensions} if request.dimensions else {}),
            drop_params=True,
        )
        payload = answer.model_dump()
        partial = PartialReply()
        if payload.get("usage"):
            self._report(partial, payload["usage"])
        in_order = sorted(payload["data"], key=lambda item: item["index"])
        return Embeddings(tuple(tuple(item["embedding"]) for item in in_order), partial.usage)

    async def _classified(self, transport: ProviderTransport, work: Callable[[], Awaitable[T]]) -> T:
        """Runs a request; converts any error of LiteLLM into a `ProviderError`."""
        try:
            async with asyncio.timeout(self._timeouts.total_s):
                return await work()
        except TimeoutError:
            cost = Cost.UNKNOWN if transport.sent else Cost.NOTHING
            raise ProviderUnavailable("timeout", cost=cost) from None
        except ProviderError as known:
            known.status = transport.status
            raise
        except Exception as error:
            failure: Exception = failure_of(error, transport)
            if transport.failure is not None and not isinstance(transport.failure, ProviderError):
                # Raised by `on_send`.
                failure = transport.failure
        # Outside the handler: LiteLLM's error, which would become the context, quotes the prompt.
        raise failure

    def _provider_transport(
        self, route: Route, on_send: OnSend, *, cap: int, most_bytes: int, streams: bool
    ) -> ProviderTransport:
        limits = self._timeouts
        timeout = httpx.Timeout(limits.silence_s, connect=limits.connect_s).as_dict()
        return ProviderTransport(
            self._connection_pool(), route, self._bounds, on_send,
            cap=cap, most_bytes=most_bytes, streams=streams, timeout=timeout,
            on_usage_refused=self._metrics.usage_refused,
        )  # fmt: skip

    def _connection_pool(self) -> httpx.AsyncBaseTransport:
        """Returns the pool of connections of the running event loop."""
        loop = asyncio.get_running_loop()
        if self._connections is None or self._connections[0] is not loop:
            proxy = None if self._proxy is None else httpx.Proxy(self._proxy)
            self._connections = loop, pooled_connections(trusted(), proxy)
        return self._connections[1]

    def _connection_arguments(self, route: Route, transport: ProviderTransport) -> dict[str, Any]:
        """LiteLLM's arguments for address, key and client of a request."""
        arguments: dict[str, Any] = {
            "model": route.model,
            "custom_llm_provider": route.provider,
            "api_key": route.key,
            "client": client_of(route, transport),
            "timeout": self._timeouts.silence_s,
            "max_retries": 0,
        }
        return arguments | ({"api_base": route.base} if route.own or route.sdk else {})

    def _permit(self, request: AnyRequest, cap: int) -> OnSend:
        """Permits a request whose attempt has already started, once the pace of its provider allows it."""

        async def on_send() -> SendPermit:
            await self.keep_pace(request)
            return SendPermit(request.request_id, cap)

        return on_send

    def _report(self, partial: PartialReply, payload: Mapping[str, Any]) -> None:
        if not partial.report(payload):
            self._metrics.usage_refused("unknown_words")


def _chat_arguments(request: ModelRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = {"messages": list(request.messages), "max_tokens": request.max_tokens}
    if request.tools:
        arguments["tools"] = list(request.tools)
        if request.text_only:
            arguments |= {"tool_choice": "none", "drop_params": True}
    if request.temperature is not None:
        arguments |= {"temperature": request.temperature, "drop_params": True}
    return arguments | dict(request.options)


async def _ignore(choice: Mapping[str, Any]) -> None:
    """Ignores a chunk."""


async def _always(partial: PartialReply) -> bool:
    return True
