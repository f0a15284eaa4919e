"""LiteLLM, imported once and told to keep quiet, to try once, and to open no connection of its own."""

import os
import warnings
from functools import cache
from importlib import import_module
from logging import CRITICAL, getLogger
from sys import maxsize
from threading import Lock
from typing import Any

import httpx

_ONE_IMPORTS = Lock()
_TALKATIVE = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")
"""Their debug lines repeat the request."""


class _Closed(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """Lets nothing out."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.UnsupportedProtocol("requests leave through the client of an attempt only", request=request)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.UnsupportedProtocol("requests leave through the client of an attempt only", request=request)


def is_imported() -> bool:
    """Whether `litellm_library` returns at once."""
    return _library.cache_info().currsize > 0


def litellm_library() -> Any:
    """LiteLLM without network look-ups, telemetry, callbacks or logs. The import takes seconds."""
    # Its modules import each other: a second thread that imports them meanwhile may get one that is half done.
    with _ONE_IMPORTS:
        return _library()


@cache
def _library() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    for name in _TALKATIVE:
        getLogger(name).setLevel(CRITICAL + 1)
    library: Any = import_module("litellm")
    # Imported by the first request otherwise.
    import_module("litellm.main")
    library.disable_hf_tokenizer_download = True
    library.telemetry = False
    library.suppress_debug_info = True
    library.disable_aiohttp_transport = True
    library.turn_off_message_logging = True
    # Of embeddings it takes `max_retries=0` for "not said": they would be asked, and charged, three times.
    library.DEFAULT_MAX_RETRIES = 0
    # It breaks off a reply that says the same again and again, which looks like one worth trying again: our bounds end
    # such a reply, and what its provider ends itself has been paid for.
    library.REPEATED_STREAMING_CHUNK_LIMIT = maxsize
    # Where it does not use the client of the request (look-ups of models, images of messages), it makes one of these.
    library.aclient_session = httpx.AsyncClient(transport=_Closed())
    library.client_session = httpx.Client(transport=_Closed())
    handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
    handlers.AsyncHTTPHandler.create_async_transport = staticmethod(lambda *_, **__: _Closed())
    handlers.HTTPHandler._create_sync_transport = lambda *_, **__: _Closed()
    return library


def quieten_warnings() -> None:
    """Keeps the warnings of LiteLLM from becoming errors, which would lose a reply that is paid for."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="litellm")
    warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")
