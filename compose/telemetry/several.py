"""Metrics of several processes of one gateway in one text.

Each series gets the label `process`. Sums would fall whenever a process is replaced, which rates take for a restart of
the whole gateway.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import httpx
import structlog

from purser.compose.processes.several import Place
from purser.gateway.metrics.requests import Source

TIMEOUT_S = 2.0
_FAMILY = re.compile(rb"^(?=# HELP )", re.MULTILINE)
_SERIES = re.compile(rb"^(\w+)(\{?)", re.MULTILINE)

_log = structlog.get_logger(__name__)


def of_all(own: Sequence[Source], place: Place) -> Source:
    """A source of the metrics of all processes, of which this one is the first.

    Args:
        own: sources of this process.
        place: where the others are.
    """

    async def text() -> bytes:
        here = asyncio.gather(*(source() for source in own))
        there = asyncio.gather(*(_text_of(place.socket(number)) for number in place.others))
        return merged([b"".join(await here), *await there])

    return text


def merged(texts: Sequence[bytes]) -> bytes:
    """One text with each family once, and the number of its process in each series."""
    families: dict[bytes, list[bytes]] = {}
    for number, text in enumerate(texts):
        for family in _FAMILY.split(text)[1:]:
            about, kind, series = family.split(b"\n", 2)
            labelled = _SERIES.sub(lambda found, number=number: _labelled(found, number), series)
            families.setdefault(about + b"\n" + kind + b"\n", []).append(labelled)
    return b"".join(part for about, series in families.items() for part in (about, *series))


def _labelled(found: re.Match[bytes], number: int) -> bytes:
    return b'%s{process="%d"%s' % (found[1], number, b"," if found[2] else b"}")


async def _text_of(socket: Path) -> bytes:
    """The metrics of another process; empty while it is being replaced."""
    try:
        transport = httpx.AsyncHTTPTransport(uds=str(socket))
        async with httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S) as client:
            return (await client.get("http://gateway/metrics")).content
    except httpx.HTTPError as error:
        _log.warning("metrics of a process of the gateway are missing", error=type(error).__name__)
        return b""
