"""The certificate authorities that connections to other systems are checked against."""

import ssl
from functools import cache

import httpx


@cache
def trusted() -> ssl.SSLContext:
    """Returns the context of all connections of this process, because reading the authorities takes 25 ms."""
    return httpx.create_ssl_context()
