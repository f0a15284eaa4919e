"""HTTP client of the gateway, for commands."""

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from purser.budget.errors import InvalidRequest
from purser.compose.cli.output import MOST_ROWS
from purser.compose.errors import NoGateway, RequestFailed, Unreachable
from purser.compose.processes.up_file import FILE, Running, command_settings, is_private
from purser.compose.settings import Settings
from purser.wire.reports import COMPLETE_AFTER

TIMEOUT_S = 30.0
RESTART_S, LOOK_AGAIN_S = 60.0, 0.1
"""How long the start of an `up` may take, and the pause between two looks whether it is up."""


_NO_KEY = "the gateway needs a key, and none came with the request"
_NOT_LIVE = "the key that came with the request is not live: it is mistyped, revoked, or of another gateway"
_CHECK_KEY = "Check PURSER_API_KEY: an admin sees with `purser keys list` which keys are live."


class _Key(httpx.Auth):
    """A key of the HTTP API."""

    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


class _LocalKey(_Key):
    """The key of a local `up`. Each start makes a new one, which is read again when the gateway refuses the old one."""

    def __init__(self, data_dir: Path, running: Running) -> None:
        super().__init__(running.admin_key)
        self._data_dir = data_dir
        self._running = running

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._key}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED and self._started_again():
            yield from super().auth_flow(request)

    def _started_again(self) -> bool:
        """Waits for an `up` that is starting; returns whether it has another key."""
        deadline = time.monotonic() + RESTART_S
        while (found := Running.read(self._data_dir)) is None and time.monotonic() < deadline:
            time.sleep(LOOK_AGAIN_S)
        if found is None or found == self._running or found.gateway != self._running.gateway:
            return False
        self._running, self._key = found, found.admin_key
        return True


class Gateway:
    """Client of the HTTP API of a running gateway."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    @property
    def url(self) -> str:
        """Address of the gateway, without a final slash."""
        return str(self._client.base_url).rstrip("/")

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """Send a GET request; parameters that are None are left out."""
        return self.request("GET", path, params=_given(params))

    def page(self, path: str, **params: Any) -> dict[str, Any]:
        """Get one page of a list; with `complete_after` if retention has deleted entries of its range."""
        response = self._answer("GET", path, params=_given(params))
        page = self._body(response)
        if (after := response.headers.get(COMPLETE_AFTER)) is not None:
            page["complete_after"] = after
        return page

    def pages(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Get all pages of a list, at least one, each as large as the API makes them."""
        cursor = None
        while True:
            page = self.page(path, **{**params, "limit": MOST_ROWS, "cursor": cursor})
            yield page
            if (cursor := page["cursor"]) is None:
                return

    def post(self, path: str, body: object = None, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
        """Send a POST request with a JSON body."""
        return self.request("POST", path, json=body, timeout=timeout_s)

    def put(self, path: str, body: object) -> dict[str, Any]:
        """Send a PUT request with a JSON body."""
        return self.request("PUT", path, json=body)

    def delete(self, path: str) -> dict[str, Any]:
        """Send a DELETE request."""
        return self.request("DELETE", path)

    @contextmanager
    def stream(self, path: str, params: Mapping[str, Any], patience_s: float) -> Iterator[httpx.Response]:
        """Open a stream of events.

        Args:
            path: path of the endpoint.
            params: query parameters; those that are None are left out.
            patience_s: seconds without a byte of the open stream after which reading raises `httpx.ReadTimeout`.

        Raises:
            RequestFailed: the gateway answered with a problem.
            Unreachable: the gateway did not answer, or broke off, or something else answered.
        """
        opened = False
        try:
            with self._client.stream("GET", path, params=_given(params), timeout=TIMEOUT_S) as response:
                self._check(response)
                kind = response.headers.get("content-type", "")
                if not kind.startswith("text/event-stream"):
                    raise no_gateway(self.url, f"it answers {kind!r} instead of events")
                # Looked up again when the body is read; until here a timeout means that the gateway hangs.
                response.request.extensions["timeout"]["read"] = patience_s
                opened = True
                yield response
        except httpx.HTTPError as error:
            if opened and isinstance(error, httpx.ReadTimeout):
                raise
            raise self._unreachable(error) from error

    def request(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Send one request and return the decoded body.

        Raises:
            InvalidRequest: it holds what no JSON can, such as NaN, or text that is not UTF-8.
            RequestFailed: the gateway answered with a problem.
            Unreachable: the gateway did not answer, or something else did.
        """
        return self._body(self._answer(method, path, **arguments))

    def _answer(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            request = self._client.build_request(method, path, **arguments)
        except ValueError as error:
            raise InvalidRequest(f"the request is not JSON in UTF-8: {error}") from None
        try:
            response = self._client.send(request)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        self._check(response)
        return response

    def _body(self, response: httpx.Response) -> dict[str, Any]:
        body = _json(response)
        if not isinstance(body, dict) or not body:  # the answers of a gateway are objects with fields
            raise no_gateway(self.url, f"it answers {response.text[:40]!r}")
        return body

    def _check(self, response: httpx.Response) -> None:
        if response.is_redirect:
            raise no_gateway(self.url, f"it redirects to {response.headers.get('location', '')!r}")
        if response.is_error:
            response.read()
            raise RequestFailed(_problem(response))

    def _unreachable(self, error: httpx.HTTPError) -> Unreachable:
        return Unreachable(
            f"the gateway at {str(self._client.base_url)!r} does not answer: {type(error).__name__}",
            remedy="Start it with `purser up`, or correct PURSER_URL.",
        )


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def no_gateway(url: str, why: str) -> Unreachable:
    """The error for an address at which something else answers."""
    return Unreachable(
        f"{url!r} is not the address of a gateway: {why}",
        remedy="Correct PURSER_URL: the scheme, host and port of the gateway, without a path.",
    )


@contextmanager
def gateway(data: Path | None = None) -> Iterator[Gateway]:
    """Open a client of the configured gateway (PURSER_URL, PURSER_API_KEY), else of the running `up` on `data`.

    Raises:
        NoGateway: there is neither, or a key is configured without the address of its gateway.
    """
    settings = command_settings(data)
    if settings.url is None:
        raise _unknown(settings)
    # Certificates of authorities take long to read, and plain HTTP, which is never redirected, needs none.
    verify = not settings.url.lower().startswith("http:")
    with httpx.Client(base_url=settings.url, auth=_auth(settings), timeout=TIMEOUT_S, verify=verify) as client:
        yield Gateway(client)


def _auth(settings: Settings) -> httpx.Auth | None:
    key, running = settings.api_key and settings.api_key.get_secret_value(), Running.read(settings.data_dir)
    if running is not None and running.admin_key == key:
        return _LocalKey(settings.data_dir, running)
    return _Key(key) if key else None


def _unknown(settings: Settings) -> NoGateway:
    directory = str(settings.data_dir)
    if settings.api_key is not None:
        return NoGateway(
            "PURSER_API_KEY is set and PURSER_URL is not",
            remedy="Set PURSER_URL to the gateway of this key, or unset PURSER_API_KEY to use the key of `purser up`.",
        )
    if (settings.data_dir / FILE).exists() and not is_private(settings.data_dir):
        return NoGateway(
            f"{directory!r} or its {FILE} belongs to another user, or others may write it: it is not trusted",
            remedy="Name a directory of yours with --data DIR, or set PURSER_URL and PURSER_API_KEY.",
        )
    return NoGateway(
        f"nothing runs on {directory!r}",
        remedy="Start `purser up`, name its directory with --data DIR, or set PURSER_URL and PURSER_API_KEY.",
    )


def _json(response: httpx.Response) -> Any:
    """The decoded body; `None` if it is no JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _problem(response: httpx.Response) -> dict[str, Any]:
    problem = _json(response)
    if isinstance(problem, dict) and "title" in problem:
        if response.status_code == httpx.codes.UNAUTHORIZED:  # a person at the command line sends no headers
            detail = _NOT_LIVE if "authorization" in response.request.headers else _NO_KEY
            return problem | {"detail": detail, "remedy": _CHECK_KEY}
        return problem
    detail = f"{response.request.method} {response.request.url.path} was answered with {response.status_code}"
    return {"type": "about:blank", "title": response.reason_phrase, "status": response.status_code, "detail": detail}
