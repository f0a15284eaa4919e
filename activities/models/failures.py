"""What a failed request to a provider means, from what was seen on the wire."""

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.egress import Departure
from purser.activities.models.litellm_library import litellm_library

_REJECTIONS = {401: "authentication", 402: "payment", 403: "permission", 404: "model_not_found"}
_AGAIN = (408, 409, 425)


def failure_of(error: Exception, departure: Departure) -> ProviderError:
    """What the failure of a request means; the text of an error is never looked at."""
    stopped, status = departure.failure, departure.status
    if isinstance(stopped, ProviderError):
        found = stopped
    elif status is None:
        # Nothing was sent: whatever cannot be built now cannot be built later either.
        found = ProviderRejected("request_not_built", cost=Cost.NOTHING)
    else:
        found = _answered(error, status, departure.retry_after_ms)
    found.status = status
    return found


def _answered(error: Exception, status: int, retry_after_ms: int | None) -> ProviderError:
    library = litellm_library().exceptions
    if status == 429 or isinstance(error, library.RateLimitError):
        return ProviderUnavailable("rate_limited", cost=Cost.NOTHING, retry_after_ms=retry_after_ms)
    if isinstance(error, library.ContextWindowExceededError):
        return ProviderRejected("context_window", cost=Cost.NOTHING)
    if 400 <= status < 500 and status not in _AGAIN:
        return ProviderRejected(_REJECTIONS.get(status, "bad_request"), cost=Cost.NOTHING)
    reason = "server_error" if status >= 400 else "unreadable_reply"
    return ProviderUnavailable(reason, cost=Cost.UNKNOWN, retry_after_ms=retry_after_ms)
