"""Requests for pages reach the process that keeps the pages as they were sent."""

from pathlib import Path

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from purser.compose.http.forwarding import PagesElsewhere
from purser.compose.http.serving import listen, listen_locally, port_of, serve
from purser.compose.stack.ports import LOOPBACK
from tests.support.servers.clients import plain_client
from tests.support.threads import in_task

TARGETS = ("/tasks?q=1", "/%00?", "/%0A%1B%7F?next=%00", "/a%2Fb%3Fc%23d%5C%25?x=%26", "//x?", "/%FF?%FF")


async def pages(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the target of the request."""
    assert scope["type"] == "http"
    await PlainTextResponse(scope["raw_path"] + b"?" + scope["query_string"])(scope, receive, send)


async def test_a_page_is_asked_for_by_the_address_as_it_came(tmp_path: Path) -> None:
    path, listener = tmp_path / "pages", listen(LOOPBACK, 0)
    address = f"http://{LOOPBACK}:{port_of(listener)}"
    async with (
        in_task(lambda stop, ready: serve(pages, listen_locally(path), stop, ready)),
        in_task(lambda stop, ready: serve(PagesElsewhere(pages, path), listener, stop, ready)),
        plain_client() as client,
    ):
        answers = [await client.get(address, extensions={"target": target.encode()}) for target in TARGETS]
    assert [answer.text for answer in answers] == [*TARGETS]
