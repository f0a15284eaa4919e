"""The limit on requests at a time that read a conversation as a whole: each takes up to seconds of a processor."""

from collections.abc import AsyncIterator

from fastapi import Depends

from purser.gateway.access.auth import WorkReader
from purser.gateway.services import Use


async def _place(caller: WorkReader, use: Use) -> AsyncIterator[None]:
    async with use.limits.session_read(caller):
        yield


AT_A_TIME = Depends(_place, scope="function")
"""A dependency of such an endpoint. Its place is free before the answer is sent, which a client can delay."""
