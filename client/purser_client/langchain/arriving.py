"""Listens to a model that streams: what has arrived is charged if the stream breaks off."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessageChunk
from langchain_core.tracers.context import register_configure_hook

from purser_client.calls.course import OpenCall
from purser_client.langchain.counted import written_in


class _Arriving(BaseCallbackHandler):
    """Tells a call what arrives, in the order in which it does."""

    run_inline = True

    def __init__(self, call: OpenCall) -> None:
        self._call = call

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **_: Any) -> None:
        message = getattr(chunk, "message", None)
        if text := written_in(message) if isinstance(message, AIMessageChunk) else str(token):
            self._call.arrived(text)


_listening: ContextVar[_Arriving | None] = ContextVar("purser_listening", default=None)
register_configure_hook(_listening, inheritable=False)


@contextmanager
def arriving(call: OpenCall) -> Iterator[None]:
    """Counts for this call what models stream in the block."""
    token = _listening.set(_Arriving(call))
    try:
        yield
    finally:
        _listening.reset(token)
