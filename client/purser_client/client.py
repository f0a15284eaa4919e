"""The clients: `Purser`, and `AsyncPurser` to be awaited."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.call import Call
from purser_client.calls.terms import Terms
from purser_client.counting import Count, cautious
from purser_client.errors import PurserError
from purser_client.events import Event, Reader
from purser_client.operations.approvals import Approvals, AsyncApprovals
from purser_client.operations.budgets import AsyncBudgets, Budgets
from purser_client.operations.holds import AsyncHolds, Holds
from purser_client.operations.operation import Operation
from purser_client.operations.reports import AsyncReports, Reports
from purser_client.operations.sessions import AsyncSessions, Sessions
from purser_client.operations.tasks import AsyncTasks, Tasks
from purser_client.settings import Patience, address_of, headers_of
from purser_client.transport import answer_of, check_outage, check_stream, error_of, request_of, stream_of, unanswered

M = TypeVar("M", bound=BaseModel)

_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=30)


class _Common(ABC):
    """What both clients are made from."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        patience: Patience | None = None,
        count: Count = cautious,
    ) -> None:
        """Makes a client. It keeps its connections: make one for a process, and close it at the end.

        Args:
            url: Address of the gateway; `PURSER_URL` if left out.
            api_key: A key of role `agent` or `admin`; `PURSER_API_KEY` if left out.
            patience: Time-outs and repetitions.
            count: Tokens of a text, for calls that do not state their input. The default is cautious: a byte pair is
                one token. Pass that of your model's tokenizer to hold less.
        """
        self.url = address_of(url)
        self.patience = patience or Patience()
        self._headers = dict(headers_of(api_key))
        self._count = count
        # Certificates of authorities take long to read, and plain HTTP, which is never redirected, needs none.
        self._verify = not self.url.lower().startswith("http:")
        self._open()

    @abstractmethod
    def _open(self) -> None:
        """Makes what belongs to one of the clients."""


class Purser(_Common):
    """A client whose methods wait for the answer. Threads may share it."""

    def _open(self) -> None:
        self._http = httpx.Client(base_url=self.url, headers=self._headers, limits=_LIMITS, verify=self._verify)
        self.holds = Holds(self)
        self.budgets = Budgets(self)
        self.tasks = Tasks(self)
        self.sessions = Sessions(self)
        self.approvals = Approvals(self)
        self.reports = Reports(self)

    def call(
        self,
        path: Sequence[str],
        *,
        model: str | None = None,
        messages: Sequence[Any] | str = (),
        tools: Sequence[Any] = (),
        max_output_tokens: int = 4_096,
        min_output_tokens: int | None = None,
        input_tokens: int | None = None,
        nano_usd: int | None = None,
        key: str | None = None,
        tags: Mapping[str, str] | None = None,
        attempt: int | None = None,
        tries: int = 1,
        lease_s: float = 60.0,
        wait_s: float = 30.0,
        approval_s: float = 0.0,
    ) -> Call:
        """Holds for one model call, in a `with` block.

        Args:
            path: Scopes, outermost first, for example `["user:ana", "session:s1"]`.
            model: Whose price the money follows.
            messages: What is sent, to count the input.
            tools: Tools that are offered with it, to count them.
            max_output_tokens: The most that the reply may have.
            min_output_tokens: What the reply may shrink to if only a part fits; all or nothing if left out.
            input_tokens: Tokens of the input, if they are known better than by counting `messages`.
            nano_usd: The most that the call may cost, instead of a price.
            key: Identifies the call, to join its hold after a crash; a new one if left out.
            tags: Labels of the call.
            attempt: Number of its first request to the provider, for callers that count their attempts durably; if left
                out, the next of its hold, which another process may have left open.
            tries: How often the work was tried, this time included: if the call of `key` has ended, `key/2` takes its
                place, and so on to `key/{tries}`.
            lease_s: How long the hold outlives this process.
            wait_s: How long to wait for open calls of others.
            approval_s: How long to wait for a person; 0: `ApprovalNeeded` is raised at once.
        """
        return Call(self, _terms(locals()), self._count)

    def send(self, operation: Operation[M], /) -> M:
        """Sends an operation, again if it got no answer; returns the answer.

        Raises:
            Problem, Unanswered, Unreadable
        """
        repeated = 0
        while True:
            try:
                return self._once(operation)
            except PurserError as error:
                pause = self.patience.pause(error, repeated)
                if pause is None:
                    raise
                repeated += 1
                time.sleep(pause)

    def events(
        self, *, kinds: Sequence[str] = (), scopes: Sequence[str] = (), after: str | None = None
    ) -> Iterator[Event]:
        """Follows the events, for ever: a stream that breaks off is resumed where it was.

        Args:
            kinds: Only of these kinds.
            scopes: Only of these scopes.
            after: The `id` of the last event that was handled; `"0"`: from the oldest on; only new ones if left out.
        """
        reader = Reader(kinds, scopes, after)
        while True:
            request = stream_of(self._http, reader, self.patience)
            try:
                with closing(self._http.send(request, stream=True)) as response:
                    if not response.is_success:
                        response.read()
                        raise error_of(response)
                    check_stream(response)
                    reader.begin(response.headers)
                    for line in response.iter_lines():
                        yield from reader.read(line)
            except (httpx.RequestError, PurserError) as error:
                check_outage(error, self.url)
            time.sleep(reader.retry_s)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _once(self, operation: Operation[M]) -> M:
        try:
            response = self._http.send(request_of(self._http, operation, self.patience))
        except httpx.RequestError as error:
            raise unanswered(error, self.url) from error
        return answer_of(operation, response)


class AsyncPurser(_Common):
    """A client whose methods are awaited. It has connections for each event loop that uses it."""

    def _open(self) -> None:
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self.holds = AsyncHolds(self)
        self.budgets = AsyncBudgets(self)
        self.tasks = AsyncTasks(self)
        self.sessions = AsyncSessions(self)
        self.approvals = AsyncApprovals(self)
        self.reports = AsyncReports(self)

    def call(
        self,
        path: Sequence[str],
        *,
        model: str | None = None,
        messages: Sequence[Any] | str = (),
        tools: Sequence[Any] = (),
        max_output_tokens: int = 4_096,
        min_output_tokens: int | None = None,
        input_tokens: int | None = None,
        nano_usd: int | None = None,
        key: str | None = None,
        tags: Mapping[str, str] | None = None,
        attempt: int | None = None,
        tries: int = 1,
        lease_s: float = 60.0,
        wait_s: float = 30.0,
        approval_s: float = 0.0,
    ) -> AsyncCall:
        """Holds for one model call, in an `async with` block. Arguments are those of `Purser.call`."""
        return AsyncCall(self, _terms(locals()), self._count)

    async def send(self, operation: Operation[M], /) -> M:
        """Sends an operation, again if it got no answer; returns the answer.

        Raises:
            Problem, Unanswered, Unreadable
        """
        repeated = 0
        while True:
            try:
                return await self._once(operation)
            except PurserError as error:
                pause = self.patience.pause(error, repeated)
                if pause is None:
                    raise
                repeated += 1
                await asyncio.sleep(pause)

    async def events(
        self, *, kinds: Sequence[str] = (), scopes: Sequence[str] = (), after: str | None = None
    ) -> AsyncIterator[Event]:
        """Follows the events, for ever: a stream that breaks off is resumed where it was. See `Purser.events`."""
        reader = Reader(kinds, scopes, after)
        while True:
            request = stream_of(self._http, reader, self.patience)
            try:
                async with aclosing(await self._http.send(request, stream=True)) as response:
                    if not response.is_success:
                        await response.aread()
                        raise error_of(response)
                    check_stream(response)
                    reader.begin(response.headers)
                    async for line in response.aiter_lines():
                        for event in reader.read(line):
                            yield event
            except (httpx.RequestError, PurserError) as error:
                check_outage(error, self.url)
            await asyncio.sleep(reader.retry_s)

    async def close(self) -> None:
        """Closes the connections of the running event loop; those of one that has ended are closed already."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def _http(self) -> httpx.AsyncClient:
        """The connections of the running event loop, which no other one can use."""
        running = asyncio.get_running_loop()
        if (found := self._clients.get(running)) is None:
            for loop in list(self._clients):  # each thread may have a loop
                if loop.is_closed():
                    self._clients.pop(loop, None)
            found = self._clients[running] = httpx.AsyncClient(
                base_url=self.url, headers=self._headers, limits=_LIMITS, verify=self._verify
            )
        return found

    async def _once(self, operation: Operation[M]) -> M:
        try:
            response = await self._http.send(request_of(self._http, operation, self.patience))
        except httpx.RequestError as error:
            raise unanswered(error, self.url) from error
        return answer_of(operation, response)


def _terms(arguments: dict[str, Any]) -> Terms:
    return Terms(**{name: value for name, value in arguments.items() if name != "self"})
