"""The provider's doors for models: chat completions, embeddings, the list of models, recorded tool results.

```
POST /v1/chat/completions                        answered by rules and defaults
POST /r/{recording}/v1/chat/completions          answered by a recording of one agent
POST /r/{recording}/{agent}/v1/chat/completions  answered by a recording, for one of its agents
POST …/v1/embeddings                             vectors, made without a model
GET  …/v1/models
GET  /r/{recording}/tools/{tool_call_id}         the recorded result of a tool call
```
"""

import hashlib
import json
import math

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from purser.compose.demo.provider.control import control_routes
from purser.compose.demo.provider.delivery import Delivery, Exchange, HangUp
from purser.compose.demo.provider.desk import Desk
from purser.compose.demo.provider.embeddings import embedding_tokens
from purser.compose.demo.provider.errors import RecordingError, reason
from purser.compose.demo.provider.script import Asked, Fault, Rule
from purser.compose.demo.provider.service_log import Arrival, End, Outcome
from purser.compose.demo.provider.tokens import Completion, complete, prompt_tokens
from purser.compose.demo.provider.wire import Asking, ChatRequest, EmbeddingRequest, error_payload

PREFIXES = ("", "/r/{recording}", "/r/{recording}/{agent}")
MODELS = ("gpt-4o", "gpt-4o-mini")
"""What the list of models names; every other name is answered as well."""

_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}


def build_app(desk: Desk, hang_up: HangUp) -> Starlette:
    """The provider as an ASGI application."""
    chat, vectors, listing = _Door(desk, hang_up, ChatRequest), _Door(desk, hang_up, EmbeddingRequest), _Listing(desk)
    routes = [Route(f"{prefix}/v1/chat/completions", chat, methods=["POST"]) for prefix in PREFIXES]
    routes += [Route(f"{prefix}/v1/embeddings", vectors, methods=["POST"]) for prefix in PREFIXES]
    routes += [Route(f"{prefix}/v1/models", listing.models) for prefix in PREFIXES]
    routes += [Route("/r/{recording}/tools/{tool_call_id}", listing.tool_result)]
    return Starlette(routes=routes + control_routes(desk))


class _Door:
    """Takes a request, notes it, decides what happens to it, and sends the answer or a refusal."""

    def __init__(self, desk: Desk, hang_up: HangUp, asking: type[Asking]) -> None:
        self._desk = desk
        self._hang_up = hang_up
        self._asking = asking

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = Request(scope, receive)
        try:
            body = await http.body()
        except ClientDisconnect:
            return  # half a request asks for nothing
        try:
            request = self._asking.model_validate_json(body)
        except ValidationError as error:
            asked, digest = _asked(http, None), hashlib.sha256(body).hexdigest()
            seq = self._desk.log.arrived(_arrival(asked, digest))
            answer: ASGIApp = self._refuse(seq, 400, f"Invalid request: {reason(error)}")
        else:
            answer = self._take(http, request)
        await answer(scope, receive, send)

    def _take(self, http: Request, request: Asking) -> ASGIApp:
        asked, prompt = _asked(http, request), _prompt(request)
        seq = self._desk.log.arrived(self._readable_arrival(asked, request, len(prompt)))
        if not is_authorised(http, self._desk.key):
            return self._refuse(seq, 401, "Incorrect API key provided.")
        fault = self._desk.take_fault(asked)
        if fault is not None and fault.status is not None:
            return self._refuse(seq, fault.status, "The provider was told to refuse this request.", fault)
        rule = self._desk.rule_for(asked)
        try:
            completion = self._completion(rule, asked, request)
        except RecordingError as error:
            return self._refuse(seq, 404, str(error))
        exchange = Exchange(seq, asked, request, prompt, completion, rule, fault)
        return Delivery(exchange, self._desk, self._hang_up)

    def _completion(self, rule: Rule, asked: Asked, request: Asking) -> Completion:
        if isinstance(request, EmbeddingRequest):
            return Completion((), 0, "")
        return complete(self._desk.reply_for(rule, asked, request), request)

    def _readable_arrival(self, asked: Asked, request: Asking, prompt: int) -> Arrival:
        told = request.model_dump(include={"messages", "tools", "input"})
        text = json.dumps(told, sort_keys=True, ensure_ascii=False)
        return _arrival(
            asked,
            hashlib.sha256(text.encode()).hexdigest(),
            messages=0 if isinstance(request, EmbeddingRequest) else len(request.messages),
            prompt_tokens=prompt,
            stream=request.stream,
            text=text if self._desk.log.keep_text else None,
        )

    def _refuse(self, seq: int, status: int, message: str, fault: Fault | None = None) -> JSONResponse:
        headers = {"x-request-id": f"req-{seq}"}
        if fault is not None and status == 429:
            seconds = math.ceil(fault.retry_after_ms / 1000)
            headers |= {"retry-after": str(seconds), "retry-after-ms": str(fault.retry_after_ms)}
        self._desk.log.ended(seq, End(Outcome.REFUSED, status, fault=None if fault is None else fault.kind.value))
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return JSONResponse(error_payload(message, kind, _CODES.get(status)), status, headers)


class _Listing:
    """What can be looked up."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def models(self, http: Request) -> JSONResponse:
        if not is_authorised(http, self._desk.key):
            return JSONResponse(error_payload("Incorrect API key provided.", "invalid_request_error", _CODES[401]), 401)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "purser"} for name in MODELS]
        return JSONResponse({"object": "list", "data": data})

    async def tool_result(self, http: Request) -> JSONResponse:
        name, call = http.path_params["recording"], http.path_params["tool_call_id"]
        recording = self._desk.recordings.get(name)
        if recording is None or call not in recording.tools:
            message = f"recording {name!r} has no result of tool call {call!r}"
            return JSONResponse(error_payload(message, "invalid_request_error", _CODES[404]), 404)
        return JSONResponse(recording.tools[call].model_dump())


def is_authorised(http: Request, key: str | None) -> bool:
    """Whether a request carries the key, if one is asked for."""
    return key is None or http.headers.get("authorization") == f"Bearer {key}"


def _prompt(request: Asking) -> list[int]:
    return embedding_tokens(request) if isinstance(request, EmbeddingRequest) else prompt_tokens(request)


def _asked(http: Request, request: Asking | None) -> Asked:
    return Asked(
        model="" if request is None else request.model,
        recording=http.path_params.get("recording"),
        agent=http.path_params.get("agent"),
        request_id=http.headers.get("x-client-request-id"),
        text="" if request is None else request.text,
    )


def _arrival(
    asked: Asked,
    digest: str,
    *,
    messages: int = 0,
    prompt_tokens: int = 0,
    stream: bool = False,
    text: str | None = None,
) -> Arrival:
    return Arrival(
        asked.model,
        asked.recording,
        asked.agent,
        asked.request_id,
        messages,
        prompt_tokens,
        digest,
        stream,
        text,
    )
