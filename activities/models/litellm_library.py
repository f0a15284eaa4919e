"""LiteLLM, imported once and configured to log nothing, to retry nothing and to open no connections itself."""

import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from logging import CRITICAL, getLogger
from sys import maxsize
from typing import Any

import httpx

from purser.context.tokens.exact import IMPORTING_LITELLM, LITELLM_ENVIRONMENT

_VERBOSE_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")
"""Loggers whose debug lines repeat the request."""
_LAZY = ("openai.resources.chat", "litellm.litellm_core_utils.default_encoding", "litellm.proxy._types")
"""Modules that the first request would import on the event loop, which takes half a second of processor time."""


class _NoNetwork(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """A transport that sends nothing."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.UnsupportedProtocol("requests are sent only through the client of an attempt", request=request)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.UnsupportedProtocol("requests are sent only through the client of an attempt", request=request)


def is_imported() -> bool:
    """Whether `litellm_library` returns at once."""
    return _library.cache_info().currsize > 0


def litellm_library() -> Any:
    """Returns LiteLLM without network look-ups, telemetry, callbacks or logs. The import takes seconds."""
    with IMPORTING_LITELLM:
        return _library()


@cache
def _library() -> Any:
    os.environ.update(LITELLM_ENVIRONMENT)
    for name in _VERBOSE_LOGGERS:
        getLogger(name).setLevel(CRITICAL + 1)
    library: Any = import_module("litellm")
    import_module("litellm.main")
    for name in _LAZY:
        with suppress(ImportError):  # another release may name them otherwise
            import_module(name)
    library.disable_hf_tokenizer_download = True
    library.telemetry = False
    library.suppress_debug_info = True
    library.disable_aiohttp_transport = True
    library.turn_off_message_logging = True
    # For embeddings it reads `max_retries=0` as "not set" and would send, and charge, them three times.
    library.DEFAULT_MAX_RETRIES = 0
    # It aborts a reply that repeats itself with a retryable error. The bounds of the answer end such a reply instead,
    # and one that the provider ends itself has been paid for.
    library.REPEATED_STREAMING_CHUNK_LIMIT = maxsize
    # It uses these where it does not use the client of the request: look-ups of models, images in messages.
    library.aclient_session = httpx.AsyncClient(transport=_NoNetwork())
    library.client_session = httpx.Client(transport=_NoNetwork())
    handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
    handlers.AsyncHTTPHandler.create_async_transport = staticmethod(lambda *_, **__: _NoNetwork())
    handlers.HTTPHandler._create_sync_transport = lambda *_, **__: _NoNetwork()
    return library


def skip_summary(stream: Any) -> None:
    """Ends a stream without a summary of it: LiteLLM assembles two in threads, for its log and its prices."""
    finalize = stream._finalize_completed_stream

    async def finalized(*arguments: Any, **named: Any) -> Any:
        if stream.sent_last_chunk:
            raise StopAsyncIteration
        return await finalize(*arguments, **named)

    stream._finalize_completed_stream = finalized
