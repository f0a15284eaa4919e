"""`/openai` and `/anthropic`: clients of both with another `base_url` call any model under a budget."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.errors import LedgerUnavailable
from purser.gateway.access.auth import Spender
from purser.gateway.access.roles import Principal
from purser.gateway.http.bodies import run_off_loop
from purser.gateway.http.problems import from_validation, problem_of
from purser.gateway.http.routing import Route
from purser.gateway.metrics.requests import Metrics
from purser.gateway.proxy.answer import ChatAnswer, EmbeddingsAnswer
from purser.gateway.proxy.callers import CallTerms, terms_of
from purser.gateway.proxy.chat_call import ChatCall, prompt_tokens
from purser.gateway.proxy.embedding_call import EmbeddingCall
from purser.gateway.proxy.models import Catalogue, KnownModel, page_of, unknown
from purser.gateway.proxy.protocols import anthropic, openai
from purser.gateway.proxy.protocols.responses import ResponsesDialect
from purser.gateway.proxy.protocols.responses_input import read_responses
from purser.gateway.proxy.verdicts import Denial, Unsupported, denial_of, of_problem
from purser.gateway.services import Services, Use
from purser.wire.problems import Problem

ErrorOf: TypeAlias = Callable[[Denial], dict[str, Any]]
"""Makes the body of an error."""


class _ProxyRoute(Route):
    """Answers a malformed body in the words of a protocol; other errors go on to `ProxyErrors`."""

    error_of: ErrorOf

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle, error_of = super().get_route_handler(), type(self).error_of

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _denied(of_problem(from_validation(error)), error_of)

        return handler


class OpenAIRoute(_ProxyRoute):
    """Answers in the words of OpenAI."""

    error_of = staticmethod(openai.error_of)


class AnthropicRoute(_ProxyRoute):
    """Answers in the words of Anthropic."""

    error_of = staticmethod(anthropic.error_of)


B = TypeVar("B")
of_openai = APIRouter(route_class=OpenAIRoute, prefix="/openai/v1", tags=["proxy"])
of_anthropic = APIRouter(route_class=AnthropicRoute, prefix="/anthropic/v1", tags=["proxy"])


@dataclass(frozen=True, slots=True)
class _Protocol:
    """The protocol of a provider."""

    router: APIRouter
    error_of: ErrorOf

    def served(self) -> list[str]:
        """Methods and paths of its endpoints."""
        routes = [route for route in self.router.routes if isinstance(route, Route)]
        return [f"{method} {route.path_format}" for route in routes for method in route.methods or ()]


_PROTOCOLS = (_Protocol(of_openai, openai.error_of), _Protocol(of_anthropic, anthropic.error_of))


class ProxyErrors:
    """Middleware that answers errors of the proxy in the words of its protocol.

    It sees those before an endpoint too, such as an unknown key.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        protocol = _protocol_of(scope["path"]) if scope["type"] == "http" else None
        if protocol is None:
            await self._app(scope, receive, send)
            return
        begun = False

        async def watch(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except (Exception, asyncio.CancelledError) as error:
            if begun or (problem_of(error) is None and not isinstance(error, Unsupported)):
                raise
            if isinstance(error, LedgerUnavailable):
                self._metrics.calls.ledger_unavailable("http")
            await _denied(denial_of(error, ""), protocol.error_of)(scope, receive, send)


def in_words(problem: Problem, path: str) -> Response | None:
    """An error of the router in the words of the protocol below which the path is; `None` if it is below none."""
    protocol = _protocol_of(path)
    if protocol is None:
        return None
    remedy = f"There are {', '.join(protocol.served())}."
    return _denied(of_problem(problem.model_copy(update={"remedy": remedy})), protocol.error_of)


def _protocol_of(path: str) -> _Protocol | None:
    return next((one for one in _PROTOCOLS if path.startswith(one.router.prefix)), None)


def _denied(denial: Denial, error_of: ErrorOf) -> Response:
    return JSONResponse(error_of(denial), denial.status, denial.all_headers())


@of_openai.post("/chat/completions", include_in_schema=False)
async def chat(request: Request, caller: Spender, use: Use) -> Response:
    """Calls a model, streamed or not, as `chat.completions.create` of OpenAI's clients asks for it."""
    body, terms = await _read(request, caller, use, openai.read_chat)
    return ChatAnswer(ChatCall(use, caller, terms, body.asked()), openai.ChatDialect(body), openai.error_of, use)


@of_openai.post("/responses", include_in_schema=False)
async def responses(request: Request, caller: Spender, use: Use) -> Response:
    """Calls a model, streamed or not, as `responses.create` of OpenAI's clients asks for it."""
    body, terms = await _read(request, caller, use, read_responses)
    return ChatAnswer(ChatCall(use, caller, terms, body.asked()), ResponsesDialect(body), openai.error_of, use)


@of_openai.post("/embeddings", include_in_schema=False)
async def embeddings(request: Request, caller: Spender, use: Use) -> Response:
    """Returns vectors of texts, as `embeddings.create` of OpenAI's clients asks for them."""
    body, terms = await _read(request, caller, use, openai.read_embeddings)
    return EmbeddingsAnswer(EmbeddingCall(use, caller, terms, body.asked()), body.answer, openai.error_of, use)


@of_openai.get("/models", include_in_schema=False)
async def openai_models(_: Spender, use: Use) -> Response:
    """Lists models, as `models.list` of OpenAI's clients asks for them."""
    return JSONResponse({"object": "list", "data": [model.to_openai() for model in _catalogue(use).all()]})


@of_openai.get("/models/{name:path}", include_in_schema=False)
async def openai_model(name: str, _: Spender, use: Use) -> Response:
    """Shows a model, as `models.retrieve` of OpenAI's clients asks for it."""
    return _one_model(_catalogue(use).find(name), KnownModel.to_openai, openai.error_of, name)


@of_anthropic.get("/models", include_in_schema=False)
async def anthropic_models(
    _: Spender,
    use: Use,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
    after_id: str | None = None,
    before_id: str | None = None,
) -> Response:
    """Lists models, as `models.list` of Anthropic's clients asks for them."""
    return JSONResponse(page_of(_catalogue(use).all(), limit, after_id, before_id))


@of_anthropic.get("/models/{name:path}", include_in_schema=False)
async def anthropic_model(name: str, _: Spender, use: Use) -> Response:
    """Shows a model, as `models.retrieve` of Anthropic's clients asks for it."""
    return _one_model(_catalogue(use).find(name), KnownModel.to_anthropic, anthropic.error_of, name)


@of_anthropic.post("/messages", include_in_schema=False)
async def messages(request: Request, caller: Spender, use: Use) -> Response:
    """Calls a model, streamed or not, as `messages.create` of Anthropic's clients asks for it."""
    await use.provider.warm_up()
    asked, terms = await _read(request, caller, use, _messages)
    dialect = anthropic.MessagesDialect(asked)
    return ChatAnswer(ChatCall(use, caller, terms, asked.asked), dialect, anthropic.error_of, use)


@of_anthropic.post("/messages/count_tokens", include_in_schema=False)
async def count_tokens(request: Request, caller: Spender, use: Use) -> Response:
    """Counts the tokens of a request, as a hold for it would. Nothing is sent, and nothing is held."""
    await use.provider.warm_up()
    content = await request.body()
    # A large body keeps its place until it is counted, which takes longer than to send and read it.
    counted = await run_off_loop(len(content), _to_count, content)
    return JSONResponse({"input_tokens": await prompt_tokens(use, caller, counted.asked)})


def _catalogue(use: Services) -> Catalogue:
    return Catalogue(use.prices, use.provider.providers(), bool(use.allowed_api_bases))


def _one_model(
    found: KnownModel | None,
    shown: Callable[[KnownModel], dict[str, Any]],
    error_of: ErrorOf,
    name: str,
) -> Response:
    if found is not None:
        return JSONResponse(shown(found))
    return _denied(unknown(name), error_of)


def _messages(content: bytes) -> anthropic.MessagesRequest:
    return anthropic.MessagesRequest(anthropic.read_messages(content))


def _to_count(content: bytes) -> anthropic.MessagesRequest:
    return anthropic.MessagesRequest(anthropic.read_count(content))


async def _read(request: Request, caller: Principal, use: Services, read: Callable[[bytes], B]) -> tuple[B, CallTerms]:
    """Reads the body of a call, of which only what is asked stays in memory until the call has ended."""
    content = b"".join([part async for part in request.stream()])
    places: ExitStack = request.state.places
    # The call may take minutes: its place among large bodies goes to the next one, and its bytes count until it ends.
    with places.pop_all():
        places.enter_context(use.limits.model_call(caller, len(content)))
        body = await run_off_loop(len(content), read, content)
        digest = (await run_off_loop(len(content), hashlib.sha256, content)).digest()
    return body, terms_of(request.headers, caller, digest, use.allowed_api_bases)
