"""Imports LiteLLM in the background: that takes seconds, and the first model call would wait for it."""

import gc
from threading import Thread

import structlog

log = structlog.get_logger(__name__)


def warm_up_models() -> None:
    """Starts a thread that imports what model calls and exact counts need; a call before its end waits for it."""
    # A daemon: a process that stops does not wait for the import.
    Thread(target=_import, name="model libraries", daemon=True).start()


def _import() -> None:
    from purser.activities.models.litellm_library import litellm_library
    from purser.context.tokens import warm_up

    try:
        litellm_library()
        warm_up(litellm=True).join()
    except Exception as error:
        log.warning("the model libraries were not imported; calls try again", error=type(error).__name__)
    else:
        # A full collection of LiteLLM's objects would stop every request for a fifth of a second: none runs here first.
        gc.freeze()
        log.debug("model libraries are imported")
