"""The provider's model endpoints: completions, responses, embeddings, the list of models, recorded tool results.

```
POST /v1/chat/completions                        answered by rules and defaults
POST /r/{recording}/v1/chat/completions          answered by a recording of one agent
POST /r/{recording}/{agent}/v1/chat/completions  answered by a recording, for one of its agents
POST …/v1/completions, …/v1/responses            the same answers in the other protocols for texts
POST …/v1/embeddings                             vectors computed without a model
GET  …/v1/models
GET  /r/{recording}/tools/{tool_call_id}         the recorded result of a tool call
```
"""

import hashlib
import json
import math
import time
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from purser.compose.demo.provider.answers import Answer, ChatAnswer, ResponsesAnswer, TextAnswer
from purser.compose.demo.provider.control import Control
from purser.compose.demo.provider.control_routes import control_routes
from purser.compose.demo.provider.delivery import Delivery, Exchange, HangUp
from purser.compose.demo.provider.embeddings import embedding_tokens
from purser.compose.demo.provider.errors import RecordingError, reason
from purser.compose.demo.provider.script import Fault, RequestInfo, Rule
from purser.compose.demo.provider.service_log import Arrival, End, Outcome
from purser.compose.demo.provider.tokens import Completion, complete, prompt_tokens
from purser.compose.demo.provider.wire import (
    ChatRequest,
    CompletionRequest,
    EmbeddingRequest,
    ModelRequest,
    ResponsesRequest,
    error_payload,
)

PREFIXES = ("", "/r/{recording}", "/r/{recording}/{agent}")
MODELS = ("gpt-4o", "gpt-4o-mini")
"""The models that are listed; requests for any other name are answered too."""

_PROTOCOLS: dict[str, tuple[Callable[[bytes], ModelRequest], type[Answer]]] = {
    "chat/completions": (ChatRequest.model_validate_json, ChatAnswer),
    "completions": (lambda body: CompletionRequest.model_validate_json(body).chat(), TextAnswer),
    "responses": (lambda body: ResponsesRequest.model_validate_json(body).chat(), ResponsesAnswer),
    "embeddings": (EmbeddingRequest.model_validate_json, ChatAnswer),
}
"""How requests are read and answered, by path."""
_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}


def build_app(control: Control, hang_up: HangUp) -> Starlette:
    """The provider as an ASGI application."""
    lookups = _Lookups(control)
    routes = [
        Route(f"{prefix}/v1/{path}", _ModelEndpoint(control, hang_up, read, answer), methods=["POST"])
        for prefix in PREFIXES
        for path, (read, answer) in _PROTOCOLS.items()
    ]
    routes += [Route(f"{prefix}/v1/models", lookups.models) for prefix in PREFIXES]
    routes += [Route("/r/{recording}/tools/{tool_call_id}", lookups.tool_result)]
    return Starlette(routes=routes + control_routes(control))


class _ModelEndpoint:
    """Logs each request, decides what happens to it, and sends the answer or a refusal."""

    def __init__(
        self, control: Control, hang_up: HangUp, read: Callable[[bytes], ModelRequest], answer: type[Answer]
    ) -> None:
        self._control = control
        self._hang_up = hang_up
        self._read = read
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = Request(scope, receive)
        try:
            body = await http.body()
        except ClientDisconnect:
            return  # an incomplete request gets no answer and no line in the log
        try:
            request = self._read(body)
        except ValidationError as error:
            arrival = _arrival(
                _request_info(http, None),
                messages=0,
                prompt_tokens=0,
                prompt_sha256=hashlib.sha256(body).hexdigest(),
                stream=False,
            )
            seq = self._control.log.arrived(arrival)
            answer: ASGIApp = self._refuse(seq, 400, f"Invalid request: {reason(error)}")
        else:
            answer = self._take(http, request)
        await answer(scope, receive, send)

    def _take(self, http: Request, request: ModelRequest) -> ASGIApp:
        info, prompt = _request_info(http, request), _prompt(request)
        seq = self._control.log.arrived(self._readable_arrival(info, request, len(prompt)))
        if not is_authorised(http, self._control.key):
            return self._refuse(seq, 401, "Incorrect API key provided.")
        fault = self._control.take_fault(info)
        if fault is not None and fault.status is not None:
            return self._refuse(seq, fault.status, "The provider is scripted to refuse this request.", fault)
        rule = self._control.rule_for(info)
        try:
            completion = self._completion(rule, info, request)
        except RecordingError as error:
            return self._refuse(seq, 404, str(error))
        written = self._answer(f"chatcmpl-{seq}", int(time.time()), request.model)
        exchange = Exchange(seq, info, request, prompt, completion, written, rule, fault)
        return Delivery(exchange, self._control, self._hang_up)

    def _completion(self, rule: Rule, info: RequestInfo, request: ModelRequest) -> Completion:
        if isinstance(request, EmbeddingRequest):
            return Completion((), 0, "")
        return complete(self._control.reply_for(rule, info, request), request)

    def _readable_arrival(self, info: RequestInfo, request: ModelRequest, prompt: int) -> Arrival:
        prompt_fields = request.model_dump(include={"messages", "tools", "input"})
        text = json.dumps(prompt_fields, sort_keys=True, ensure_ascii=False)
        return _arrival(
            info,
            messages=0 if isinstance(request, EmbeddingRequest) else len(request.messages),
            prompt_tokens=prompt,
            prompt_sha256=hashlib.sha256(text.encode()).hexdigest(),
            stream=request.stream,
            tool_choice=request.tool_choice if isinstance(request, ChatRequest) else None,
            text=text if self._control.log.keep_text else None,
        )

    def _refuse(self, seq: int, status: int, message: str, fault: Fault | None = None) -> JSONResponse:
        headers = {"x-request-id": f"req-{seq}"}
        if fault is not None and status == 429:
            seconds = math.ceil(fault.retry_after_ms / 1000)
            headers |= {"retry-after": str(seconds), "retry-after-ms": str(fault.retry_after_ms)}
        self._control.log.ended(seq, End(Outcome.REFUSED, status, fault=None if fault is None else fault.kind.value))
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return JSONResponse(error_payload(message, kind, _CODES.get(status)), status, headers)


class _Lookups:
    """The endpoints that only read: the list of models, and recorded tool results."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def models(self, http: Request) -> JSONResponse:
        if not is_authorised(http, self._control.key):
            return JSONResponse(error_payload("Incorrect API key provided.", "invalid_request_error", _CODES[401]), 401)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "purser"} for name in MODELS]
        return JSONResponse({"object": "list", "data": data})

    async def tool_result(self, http: Request) -> JSONResponse:
        name, call = http.path_params["recording"], http.path_params["tool_call_id"]
        recording = self._control.recordings.get(name)
        if recording is None or call not in recording.tools:
            message = f"recording {name!r} has no result of tool call {call!r}"
            return JSONResponse(error_payload(message, "invalid_request_error", _CODES[404]), 404)
        return JSONResponse(recording.tools[call].model_dump())


def is_authorised(http: Request, key: str | None) -> bool:
    """Whether a request carries the key, where one is configured."""
    return key is None or http.headers.get("authorization") == f"Bearer {key}"


def _prompt(request: ModelRequest) -> list[int]:
    return embedding_tokens(request) if isinstance(request, EmbeddingRequest) else prompt_tokens(request)


def _request_info(http: Request, request: ModelRequest | None) -> RequestInfo:
    return RequestInfo(
        model="" if request is None else request.model,
        recording=http.path_params.get("recording"),
        agent=http.path_params.get("agent"),
        request_id=http.headers.get("x-client-request-id"),
        text="" if request is None else request.text,
    )


def _arrival(info: RequestInfo, **more: Any) -> Arrival:
    return Arrival(info.model, info.recording, info.agent, info.request_id, **more)
