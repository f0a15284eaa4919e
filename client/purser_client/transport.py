"""Requests and answers as httpx knows them."""

from typing import Any, TypeVar

import httpx
from pydantic import BaseModel

from purser_client.errors import Problem, PurserError, TimedOut, Unanswered, Unreadable, invalid, problem_of
from purser_client.events import SILENCE_S, Reader
from purser_client.operations.arguments import unsendable
from purser_client.operations.operation import Operation
from purser_client.settings import Patience

M = TypeVar("M", bound=BaseModel)

_SLOW = frozenset({"sessions_compress", "policies_replay"})


def request_of(
    client: httpx.Client | httpx.AsyncClient, operation: Operation[Any], patience: Patience
) -> httpx.Request:
    """The request of an operation; raises `InvalidRequest` for what cannot be sent."""
    content = operation.content()
    query = {name: _text(value) for name, value in operation.query.items()}
    headers = dict(operation.headers) | ({} if content is None else {"Content-Type": "application/json"})
    timeout = patience.long_timeout_s if operation.name in _SLOW else patience.timeout_s
    try:
        return client.build_request(
            operation.method, operation.path, params=query or None, headers=headers, content=content, timeout=timeout
        )
    except UnicodeEncodeError as error:
        raise unsendable(query, str(error)) from None
    except httpx.InvalidURL as error:
        raise invalid(f"the address is not valid: {error}", "Use the ids that the gateway has returned.") from None


def stream_of(client: httpx.Client | httpx.AsyncClient, reader: Reader, patience: Patience) -> httpx.Request:
    """The request for the stream of events, from where its reader is."""
    timeout = httpx.Timeout(patience.timeout_s, read=SILENCE_S)
    return client.build_request("GET", "/v1/events", params=reader.query, headers=reader.headers, timeout=timeout)


def answer_of(operation: Operation[M], response: httpx.Response) -> M:
    """The answer of an operation; raises what the gateway reports."""
    if response.is_success:
        return operation.read(response.content)
    raise error_of(response)


def error_of(response: httpx.Response) -> PurserError:
    """The error for an answer that is no success."""
    return problem_of(response.status_code, response.content)


def check_stream(response: httpx.Response) -> None:
    """Raises `Unreadable` if what has been answered is no stream of events."""
    kind = response.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "text/event-stream":
        raise Unreadable(f"{kind or 'nothing'!r} instead of events: check that the address is that of a Purser gateway")


def check_outage(error: httpx.RequestError | PurserError, url: str) -> None:
    """Raises an error of a stream of events, unless the stream can be taken up anew."""
    match error:
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | httpx.DecodingError():
            raise unanswered(error, url) from error
        case Unreadable():
            raise error
        case Problem() if not error.problem.retryable:
            raise error


def unanswered(error: httpx.RequestError, url: str) -> Unanswered | Unreadable:
    """The error for a request that got no answer, or one that cannot be decoded."""
    if isinstance(error, httpx.DecodingError):
        return Unreadable(f"{url} answers what cannot be decoded ({error}): check what is between it and this client")
    if isinstance(error, httpx.TimeoutException):
        return TimedOut(f"{url} did not answer in time: check that the gateway runs, or raise Patience.timeout_s")
    return Unanswered(f"{url} cannot be reached ({type(error).__name__}): check the address and that the gateway runs")


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
