"""HTTP clients of servers on this machine."""

import ssl
from typing import Any

import httpx

PATIENCE_S = 60.0
"""Longest wait for an answer of a real server. By default httpx waits 5 s, which a busy machine can take."""

_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no authority: reading those of this machine takes 25 ms for each client, which plain HTTP does not need."""


def plain_client(**options: Any) -> httpx.AsyncClient:
    """A patient client for addresses that begin with `http:`, with the options of httpx."""
    return httpx.AsyncClient(verify=_NOBODY, **{"timeout": PATIENCE_S, **options})
