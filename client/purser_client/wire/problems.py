"""Problems: the answers to requests that fail."""

from pydantic import ConfigDict

from .base import View


class Problem(View):
    """An error response. Fields that are `None` do not apply and are left out."""

    # RFC 9457 describes the fields; the document names them only.
    model_config = ConfigDict(use_attribute_docstrings=False)

    type: str
    """Stable identifier of the kind of problem, for programs."""
    title: str
    status: int
    detail: str
    """What is wrong with this request."""
    retryable: bool = False
    """Whether the same request can succeed later."""
    retry_after_ms: int | None = None
    remedy: str | None = None
    field: str | None = None
    """The part of the request that is not valid."""
    state: str | None = None
    """State of the hold that has ended."""
    reason: str | None = None
    """The approval rule that does not allow a decision."""
    scope: str | None = None
    limit: int | None = None
    spent: int | None = None
    held: int | None = None
    requested: int | None = None
