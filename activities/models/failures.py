"""Classifies failed requests to providers by the HTTP status and the error type."""

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.egress.transport import ProviderTransport
from purser.activities.models.litellm_library import litellm_library

_REJECTIONS = {401: "authentication", 402: "payment", 403: "permission", 404: "model_not_found"}
_AGAIN = (408, 409, 425)


def failure_of(error: Exception, transport: ProviderTransport) -> ProviderError:
    """Returns the provider error for a failed request; the text of an error is never read."""
    stopped, status = transport.failure, transport.status
    if isinstance(stopped, ProviderError):
        found = stopped
    elif status is None:
        # Nothing was sent: a request that cannot be built now cannot be built later either.
        found = ProviderRejected("request_not_built", cost=Cost.NOTHING)
    else:
        found = _answered(error, status, transport.retry_after_ms)
    found.status = status
    return found


def _answered(error: Exception, status: int, retry_after_ms: int | None) -> ProviderError:
    if status < 400:
        # It has begun to reply. LiteLLM would tell the type of an error within a stream by its text.
        return ProviderUnavailable("unreadable_reply", cost=Cost.UNKNOWN, retry_after_ms=retry_after_ms)
    library = litellm_library().exceptions
    if status == 429 or isinstance(error, library.RateLimitError):
        return ProviderUnavailable("rate_limited", cost=Cost.NOTHING, retry_after_ms=retry_after_ms)
    if isinstance(error, library.ContextWindowExceededError):
        return ProviderRejected("context_window", cost=Cost.NOTHING)
    if status < 500 and status not in _AGAIN:
        return ProviderRejected(_REJECTIONS.get(status, "bad_request"), cost=Cost.NOTHING)
    return ProviderUnavailable("server_error", cost=Cost.UNKNOWN, retry_after_ms=retry_after_ms)
