"""The limit on event streams that are being opened at the same time."""

import asyncio

from starlette.types import Message, Receive, Scope, Send

from purser.gateway.http.middleware import EVENTS, MAX_OPENING, StreamOpening


async def receive() -> Message:
    return {"type": "http.disconnect"}


async def send(message: Message) -> None:
    assert message["type"] == "http.response.start"


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_streams_open_a_few_at_a_time_and_what_is_no_stream_goes_past_them() -> None:
    entered, answer, end = 0, asyncio.Semaphore(0), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal entered
        entered += 1
        if scope["path"] == EVENTS:
            await answer.acquire()
            await send({"type": "http.response.start"})
            await end.wait()

    opening = StreamOpening(app)
    streams = [
        asyncio.create_task(opening({"type": "http", "path": EVENTS}, receive, send)) for _ in range(MAX_OPENING + 3)
    ]
    await turns()
    assert entered == MAX_OPENING
    await opening({"type": "http", "path": "/v1/tasks"}, receive, send)
    assert entered == MAX_OPENING + 1
    answer.release()
    await turns()
    assert entered == MAX_OPENING + 2, "one has opened, and stays open"
    for _ in streams:
        answer.release()
    await turns()
    assert entered == len(streams) + 1
    end.set()
    await asyncio.gather(*streams)


async def test_a_stream_that_fails_before_it_opens_makes_room() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError

    opening = StreamOpening(app)
    for _ in range(MAX_OPENING + 1):
        failed = await asyncio.gather(opening({"type": "http", "path": EVENTS}, receive, send), return_exceptions=True)
        assert isinstance(failed[0], LookupError)


async def test_a_client_that_reads_nothing_of_an_earlier_answer_keeps_no_stream_from_opening() -> None:
    begun, end = 0, asyncio.Event()

    async def stalled(message: Message) -> None:
        nonlocal begun
        begun += 1
        await end.wait()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start"})

    opening = StreamOpening(app)
    streams = [
        asyncio.create_task(opening({"type": "http", "path": EVENTS}, receive, stalled)) for _ in range(MAX_OPENING + 1)
    ]
    await turns()
    assert begun == len(streams)
    end.set()
    await asyncio.gather(*streams)
